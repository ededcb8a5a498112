#include "models/glm_moe_dsa/config.h"

#include <algorithm>

namespace octet::glm_moe_dsa {
namespace {

constexpr int64_t kMaxWidth = int64_t{1} << 24;  // far above any published dimension; keeps products inside int64

/// index_topk_pattern: a string of F and S, or a list of words of which the first letter counts.
std::string read_pattern(const ConfigReader& c) {
  if (!c.is_list("index_topk_pattern")) return c.text("index_topk_pattern", "");
  std::string pattern;
  for (const std::string& word : c.texts("index_topk_pattern")) {
    pattern += word.empty() ? '?' : static_cast<char>(word[0] & ~0x20);  // to upper case
  }
  return pattern;
}

/// Which layers own an indexer: the list of names, a pattern of F and S, or every freq-th layer
std::vector<bool> read_full_indexers(const ConfigReader& c, int32_t num_layers) {
  std::vector<bool> full(static_cast<size_t>(num_layers), true);
  const std::vector<std::string> types = c.texts("indexer_types");
  const std::string pattern = read_pattern(c);
  const int64_t freq = c.integer("index_topk_freq", 1, kMaxWidth, 1);
  const int64_t offset = c.integer("index_skip_topk_offset", -kMaxWidth, kMaxWidth, 2);
  const auto layers = static_cast<size_t>(num_layers);
  // Lists may go on for the multi-token prediction layers that follow.
  if (!types.empty() && types.size() < layers) c.refuse("indexer_types", "expected an entry for each layer");
  if (!pattern.empty() && pattern.size() < layers) c.refuse("index_topk_pattern", "expected a letter for each layer");
  for (size_t layer = 0; layer < layers; ++layer) {
    if (!types.empty()) {
      if (types[layer] != "full" && types[layer] != "shared") {
        c.refuse("indexer_types", "expected \"full\" or \"shared\", got \"" + types[layer] + "\"");
      }
      full[layer] = types[layer] == "full";
    } else if (!pattern.empty()) {
      if (pattern[layer] != 'F' && pattern[layer] != 'S') c.refuse("index_topk_pattern", "expected letters F and S");
      full[layer] = pattern[layer] == 'F';
    } else {
      full[layer] = std::max<int64_t>(static_cast<int64_t>(layer) - offset + 1, 0) % freq == 0;
    }
  }
  if (!full.front()) c.refuse("indexer_types", "the first layer must have an indexer of its own (\"full\")");
  return full;
}

/// Which layers have routed experts: the list of names, or the rule of first_k_dense_replace and moe_layer_freq.
std::vector<bool> read_sparse_layers(const ConfigReader& c, int32_t num_layers) {
  std::vector<bool> sparse;
  const std::vector<std::string> types = c.texts("mlp_layer_types");
  if (!types.empty() && types.size() < static_cast<size_t>(num_layers)) {
    c.refuse("mlp_layer_types", "expected an entry for each layer");
  }
  const int64_t first = c.integer("first_k_dense_replace", 0, kMaxWidth, 3);
  const int64_t freq = c.integer("moe_layer_freq", 1, kMaxWidth, 1);
  for (int32_t layer = 0; layer < num_layers; ++layer) {
    if (types.empty()) {
      sparse.push_back(layer >= first && layer % freq == 0);
      continue;
    }
    const std::string& type = types[static_cast<size_t>(layer)];
    if (type != "dense" && type != "sparse") {
      c.refuse("mlp_layer_types", "expected \"dense\" or \"sparse\", got \"" + type + "\"");
    }
    sparse.push_back(type == "sparse");
  }
  return sparse;
}

void read_router(const ConfigReader& c, Config& config) {
  const std::string key = c.has("num_experts") ? "num_experts" : "n_routed_experts";  // two spellings of one key
  config.num_experts = static_cast<int32_t>(c.integer(key, 1, 1 << 16));
  config.top_k = static_cast<int32_t>(c.integer("num_experts_per_tok", 1, config.num_experts));
  config.shared_experts = static_cast<int32_t>(c.integer("n_shared_experts", 0, 1 << 10, 1));
  config.num_groups = static_cast<int32_t>(c.integer("n_group", 1, config.num_experts, 1));
  config.top_groups = static_cast<int32_t>(c.integer("topk_group", 1, config.num_groups, 1));
  config.normalize = c.boolean("norm_topk_prob", true);
  config.routed_scale = static_cast<float>(c.positive("routed_scaling_factor", 2.5));
  if (config.num_experts % config.num_groups != 0) {
    c.refuse("n_group", "expected a divisor of " + std::to_string(config.num_experts) + " experts, got " +
                            std::to_string(config.num_groups));
  }
  if (config.top_k > config.num_experts / config.num_groups * config.top_groups) {
    c.refuse("topk_group", "the kept groups hold fewer experts than num_experts_per_tok");
  }
  for (const auto& [setting, expected] : {std::pair{"scoring_func", "sigmoid"}, std::pair{"topk_method", "noaux_tc"}}) {
    const std::string found = c.text(setting, expected);
    if (found != expected) {
      fail(ErrorCode::unsupported, c.where(), ": ", setting, ": octet reads \"", expected, "\", got \"", found, "\"");
    }
  }
}

void read_attention(const ConfigReader& c, Config& config) {
  config.num_heads = static_cast<int32_t>(c.integer("num_attention_heads", 1, 1 << 16));
  config.q_rank = c.integer("q_lora_rank", 1, kMaxWidth, 0);
  config.latent = c.integer("kv_lora_rank", 1, kMaxWidth);
  config.nope = c.integer("qk_nope_head_dim", 1, kMaxWidth);
  config.rope_width = c.integer("qk_rope_head_dim", 2, kMaxWidth);
  config.value = c.integer("v_head_dim", 1, kMaxWidth);
  config.attention_bias = c.boolean("attention_bias", false);
  config.interleaved = c.boolean("rope_interleave", true);
  config.index_heads = static_cast<int32_t>(c.integer("index_n_heads", 1, 1 << 16));
  config.index_dim = c.integer("index_head_dim", 2, kMaxWidth);
  config.index_top_k = c.integer("index_topk", 1, kMaxWidth);
  // Missing: interleaved, as transformers computes it; some engines take half-split.
  config.index_interleaved = c.boolean("indexer_rope_interleave", true);
  if (config.rope_width % 2 != 0)
    c.refuse("qk_rope_head_dim", "expected an even number, got " + std::to_string(config.rope_width));
  if (config.rope_width > config.index_dim) c.refuse("index_head_dim", "expected at least qk_rope_head_dim");
  if (config.q_rank == 0) {
    fail(ErrorCode::unsupported, c.where(), ": q_lora_rank: octet needs a query rank: the indexer reads the low-rank ",
         "query, so a model without one has no such input");
  }
  config.rope = read_rope(c, config.rope_width, 1e4, config.max_positions);
}

}  // namespace

Config read_config(const ConfigReader& c) {
  Config config;
  config.vocab = c.integer("vocab_size", 1, kMaxWidth);
  config.hidden = c.integer("hidden_size", 1, kMaxWidth);
  config.num_layers = static_cast<int32_t>(c.integer("num_hidden_layers", 1, 1 << 16));
  config.max_positions = c.integer("max_position_embeddings", 1, int64_t{1} << 31);
  config.norm_eps = static_cast<float>(c.positive("rms_norm_eps", 1e-5));
  config.tied_embeddings = c.boolean("tie_word_embeddings", false);
  const std::string activation = c.text("hidden_act", "silu");
  if (activation != "silu") {
    fail(ErrorCode::unsupported, c.where(), ": hidden_act: octet computes silu, got \"", activation, "\"");
  }
  read_attention(c, config);
  config.full_indexer = read_full_indexers(c, config.num_layers);
  config.sparse = read_sparse_layers(c, config.num_layers);
  config.dense_width = c.integer("intermediate_size", 1, kMaxWidth);
  config.expert_width = c.integer("moe_intermediate_size", 1, kMaxWidth);
  read_router(c, config);
  return config;
}

}  // namespace octet::glm_moe_dsa
