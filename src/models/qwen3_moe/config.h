// models/qwen3_moe/config.h — Qwen3MoeForCausalLM: what config.json says, checked.
#pragma once

#include <cstdint>
#include <vector>

#include "models/config_reader.h"
#include "models/rope.h"

namespace octet::qwen3_moe {

struct Config {
  int64_t vocab = 0;   // V
  int64_t hidden = 0;  // H
  int32_t num_layers = 0;
  int64_t max_positions = 0;
  float norm_eps = 0;
  bool tied_embeddings = false;

  int32_t num_q_heads = 0;      // Hq
  int32_t num_kv_heads = 0;     // Hkv
  int64_t head_dim = 0;         // D
  bool attention_bias = false;  // on q, k, v and o projections
  int64_t window = 0;           // sliding window in tokens; 0: none
  Rope rope;

  std::vector<bool> sparse;  // [L] false: a dense feed-forward layer
  int64_t dense_width = 0;   // intermediate_size
  int64_t expert_width = 0;  // I  moe_intermediate_size
  int32_t num_experts = 0;   // E
  int32_t top_k = 0;         // A
  bool normalize = false;    // norm_topk_prob
};

/// Throws Error(bad_config) or Error(unsupported), naming the key.
Config read_config(const ConfigReader& c);

}  // namespace octet::qwen3_moe
