#include "models/qwen3_moe/weights.h"

namespace octet::qwen3_moe {
namespace {

Layer load_layer(WeightTable& table, const Config& c, int32_t index) {
  const std::string prefix = "model.layers." + std::to_string(index) + ".";
  const std::string attention = prefix + "self_attn.";
  const Bias bias = c.attention_bias ? Bias::required : Bias::none;
  const int64_t q_width = c.num_q_heads * c.head_dim, kv_width = c.num_kv_heads * c.head_dim;
  Layer layer;
  layer.input_norm = table.vector(prefix + "input_layernorm.weight", c.hidden);
  layer.q = table.linear(attention + "q_proj", q_width, c.hidden,
                         {.module_class = "attention", .split = Split::column_split, .bias = bias});
  layer.k = table.linear(attention + "k_proj", kv_width, c.hidden,
                         {.module_class = "attention", .split = Split::column_split, .bias = bias});
  layer.v = table.linear(attention + "v_proj", kv_width, c.hidden,
                         {.module_class = "attention", .split = Split::column_split, .bias = bias});
  layer.q_norm = table.vector(attention + "q_norm.weight", c.head_dim);
  layer.k_norm = table.vector(attention + "k_norm.weight", c.head_dim);
  layer.o = table.linear(attention + "o_proj", c.hidden, q_width,
                         {.module_class = "attention", .split = Split::row_split, .bias = bias});
  layer.post_norm = table.vector(prefix + "post_attention_layernorm.weight", c.hidden);
  if (c.sparse[static_cast<size_t>(index)]) {
    const RouterOptions router{.scoring = RouterOptions::Scoring::softmax,
                               .num_experts = c.num_experts,
                               .top_k = c.top_k,
                               .normalize = c.normalize};
    layer.moe = load_moe(table, index, {.prefix = prefix + "mlp."}, router, moe_shape(c));
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

}  // namespace octet::qwen3_moe
