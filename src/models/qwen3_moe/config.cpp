#include "models/qwen3_moe/config.h"

#include <algorithm>

namespace octet::qwen3_moe {
namespace {

constexpr int64_t kMaxWidth = int64_t{1} << 24;  // far above any published dimension; keeps products inside int64

void read_attention(const ConfigReader& c, Config& config) {
  config.num_q_heads = static_cast<int32_t>(c.integer("num_attention_heads", 1, 1 << 16));
  config.num_kv_heads =
      static_cast<int32_t>(c.integer("num_key_value_heads", 1, config.num_q_heads, config.num_q_heads));
  if (config.num_q_heads % config.num_kv_heads != 0) {
    c.refuse("num_key_value_heads", "expected a divisor of num_attention_heads, " + std::to_string(config.num_q_heads));
  }
  config.head_dim = c.integer("head_dim", 2, kMaxWidth, config.hidden / config.num_q_heads);
  if (config.head_dim % 2 != 0 || config.head_dim == 0) {
    c.refuse("head_dim", "expected an even number, got " + std::to_string(config.head_dim));
  }
  config.attention_bias = c.boolean("attention_bias", false);
  if (c.boolean("use_sliding_window", false)) config.window = c.integer("sliding_window", 1, kMaxWidth, 4096);
  config.rope = read_rope(c, config.head_dim, 1e4, config.max_positions);
}

void read_experts(const ConfigReader& c, Config& config) {
  // Two spellings of one key.
  const std::string key = c.has("num_experts") ? "num_experts" : "num_local_experts";
  config.num_experts = static_cast<int32_t>(c.integer(key, 0, 1 << 16));
  std::vector<bool> listed(static_cast<size_t>(config.num_layers), false);
  for (const int64_t layer : c.integers("mlp_only_layers")) {
    if (layer >= 0 && layer < config.num_layers) listed[static_cast<size_t>(layer)] = true;
  }
  const int64_t step = c.integer("decoder_sparse_step", 1, kMaxWidth, 1);
  bool any = false;
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    config.sparse.push_back(!listed[static_cast<size_t>(layer)] && config.num_experts > 0 && (layer + 1) % step == 0);
    any = any || config.sparse.back();
  }
  config.dense_width = c.integer("intermediate_size", 1, kMaxWidth, 0);
  if (config.dense_width == 0 && std::count(config.sparse.begin(), config.sparse.end(), false) > 0) {
    c.refuse("intermediate_size", "expected the width of the dense layers, but the key is missing");
  }
  if (!any) return;
  config.expert_width = c.integer("moe_intermediate_size", 1, kMaxWidth);
  config.top_k = static_cast<int32_t>(c.integer("num_experts_per_tok", 1, config.num_experts));
  config.normalize = c.boolean("norm_topk_prob", false);
}

}  // namespace

Config read_config(const ConfigReader& c) {
  Config config;
  config.vocab = c.integer("vocab_size", 1, kMaxWidth);
  config.hidden = c.integer("hidden_size", 1, kMaxWidth);
  config.num_layers = static_cast<int32_t>(c.integer("num_hidden_layers", 1, 1 << 16));
  config.max_positions = c.integer("max_position_embeddings", 1, int64_t{1} << 31, 32768);
  config.norm_eps = static_cast<float>(c.positive("rms_norm_eps", 1e-6));
  config.tied_embeddings = c.boolean("tie_word_embeddings", false);
  const std::string activation = c.text("hidden_act", "silu");
  if (activation != "silu") {
    fail(ErrorCode::unsupported, c.where(), ": hidden_act: octet computes silu, got \"", activation, "\"");
  }
  read_attention(c, config);
  read_experts(c, config);
  return config;
}

}  // namespace octet::qwen3_moe
