// models/glm_moe_dsa/config.h — GlmMoeDsaForCausalLM (GLM-5, 5.1, 5.2): what config.json says, checked.
#pragma once

#include <cstdint>
#include <vector>

#include "models/config_reader.h"
#include "models/rope.h"

namespace octet::glm_moe_dsa {

struct Config {
  int64_t vocab = 0;   // V
  int64_t hidden = 0;  // H
  int32_t num_layers = 0;
  int64_t max_positions = 0;
  float norm_eps = 0;
  bool tied_embeddings = false;

  int32_t num_heads = 0;        // Hq
  int64_t q_rank = 0;           // q_lora_rank; 0: one query projection and no low-rank step
  int64_t latent = 0;           // kv_lora_rank
  int64_t nope = 0;             // qk_nope_head_dim
  int64_t rope_width = 0;       // qk_rope_head_dim
  int64_t value = 0;            // v_head_dim
  bool attention_bias = false;  // on q_a_proj, kv_a_proj_with_mqa and o_proj
  bool interleaved = true;      // rope_interleave
  Rope rope;

  int32_t index_heads = 0;  // Hi
  int64_t index_dim = 0;    // Di
  int64_t index_top_k = 0;
  bool index_interleaved = false;  // indexer_rope_interleave
  std::vector<bool> full_indexer;  // [L] false: the layer uses the keys chosen by the last full layer before it

  std::vector<bool> sparse;    // [L] false: a dense feed-forward layer
  int64_t dense_width = 0;     // intermediate_size
  int64_t expert_width = 0;    // I  moe_intermediate_size
  int32_t num_experts = 0;     // E
  int32_t top_k = 0;           // A
  int32_t shared_experts = 0;  // n_shared_experts
  int32_t num_groups = 1;      // n_group
  int32_t top_groups = 1;      // topk_group
  bool normalize = true;       // norm_topk_prob
  float routed_scale = 1;      // routed_scaling_factor
};

/// Throws Error(bad_config) or Error(unsupported), naming the key.
Config read_config(const ConfigReader& c);

}  // namespace octet::glm_moe_dsa
