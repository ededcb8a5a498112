#include "models/glm_moe_dsa/weights.h"

#include <cmath>

namespace octet::glm_moe_dsa {
namespace {

Indexer load_indexer(WeightTable& table, const Config& c, const std::string& prefix) {
  return {.wq_b = table.linear(prefix + "wq_b", c.index_heads * c.index_dim, c.q_rank, {.module_class = "indexer"}),
          .wk = table.linear(prefix + "wk", c.index_dim, c.hidden, {.module_class = "indexer"}),
          .k_norm = table.vector(prefix + "k_norm.weight", c.index_dim, "indexer"),
          .k_bias = table.vector(prefix + "k_norm.bias", c.index_dim, "indexer"),
          .weights_proj = table.linear(prefix + "weights_proj", c.index_heads, c.hidden, {.module_class = "indexer"})};
}

void load_attention(WeightTable& table, const Config& c, const std::string& prefix, bool full_indexer, Layer& layer) {
  const Bias bias = c.attention_bias ? Bias::required : Bias::none;
  layer.q_a = table.linear(prefix + "q_a_proj", c.q_rank, c.hidden, {.module_class = "attention", .bias = bias});
  layer.q_a_norm = table.vector(prefix + "q_a_layernorm.weight", c.q_rank);
  layer.q_b = table.linear(prefix + "q_b_proj", c.num_heads * (c.nope + c.rope_width), c.q_rank,
                           {.module_class = "attention", .split = Split::column_split});
  layer.kv_a = table.linear(prefix + "kv_a_proj_with_mqa", c.latent + c.rope_width, c.hidden,
                            {.module_class = "attention", .bias = bias});
  layer.kv_a_norm = table.vector(prefix + "kv_a_layernorm.weight", c.latent);
  const double width = static_cast<double>(c.nope + c.rope_width);
  layer.attention = {.num_heads = c.num_heads,
                     .nope = c.nope,
                     .rope = c.rope_width,
                     .value = c.value,
                     .latent = c.latent,
                     .scale = static_cast<float>(c.rope.softmax_factor / std::sqrt(width)),
                     .kv_b = table.linear(prefix + "kv_b_proj", c.num_heads * (c.nope + c.value), c.latent,
                                          {.module_class = "attention", .split = Split::column_split})};
  layer.o = table.linear(prefix + "o_proj", c.hidden, c.num_heads * c.value,
                         {.module_class = "attention", .split = Split::row_split, .bias = bias});
  if (full_indexer) {
    layer.indexer = load_indexer(table, c, prefix + "indexer.");
  } else {
    table.ignore(prefix + "indexer.*");  // some checkpoints ship indexers that shared layers never use
  }
}

RouterOptions router_options(const Config& c) {
  return {.scoring = RouterOptions::Scoring::sigmoid,
          .num_experts = c.num_experts,
          .top_k = c.top_k,
          .num_groups = c.num_groups,
          .top_groups = c.top_groups,
          .normalize = c.normalize,
          .scale = c.routed_scale};
}

Layer load_layer(WeightTable& table, const Config& c, int32_t index) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const bool sparse = c.sparse[static_cast<size_t>(index)];
  Layer layer;
  layer.input_norm = table.vector(prefix + "input_layernorm.weight", c.hidden);
  load_attention(table, c, prefix + "self_attn.", c.full_indexer[static_cast<size_t>(index)], layer);
  layer.post_norm = table.vector(prefix + "post_attention_layernorm.weight", c.hidden);
  if (sparse) {
    layer.moe = load_moe(
        table, index,
        {.prefix = prefix + "mlp.", .correction_bias = true, .shared_width = c.expert_width * c.shared_experts},
        router_options(c), moe_shape(c));
  } else {
    layer.dense = load_mlp(table, "dense mlp", prefix + "mlp.", c.hidden, c.dense_width);
  }
  return layer;
}

}  // namespace

MoeShape moe_shape(const Config& c) {
  return {.num_tokens = 1,
          .hidden = c.hidden,
          .expert_width = c.expert_width,
          .num_experts = c.num_experts,
          .top_k = c.top_k};
}

Weights load_weights(WeightTable& table, const Config& c, const ModelOptions& options, ThreadPool& threads) {
  Weights w;
  w.embedding = table.linear("model.embed_tokens", c.vocab, c.hidden, {.module_class = "embedding"});
  for (int32_t layer = 0; layer < c.num_layers; ++layer) w.layers.push_back(load_layer(table, c, layer));
  w.norm = table.vector("model.norm.weight", c.hidden);
  w.lm_head = load_lm_head(table, w.embedding, c.tied_embeddings);
  ignore_prediction_layers(table, c.num_layers);
  table.finish();
  if (options.check_scales) table.check_scales(threads);
  for (Layer& layer : w.layers) {
    if (layer.moe) bind_experts(*layer.moe, moe_shape(c), options);
  }
  return w;
}

}  // namespace octet::glm_moe_dsa
