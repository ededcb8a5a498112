#include "models/qwen3_moe/model.h"

#include <algorithm>
#include <cmath>

#include "models/qwen3_moe/weights.h"

namespace octet::qwen3_moe {
namespace {

class Qwen3Moe final : public Model {
 public:
  Qwen3Moe(Config config, Weights weights, const ModelOptions& options)
      : config_(std::move(config)), weights_(std::move(weights)), numerics_(options.numerics) {
    info_ = {.family = "qwen3_moe",
             .vocab = config_.vocab,
             .hidden = config_.hidden,
             .num_layers = config_.num_layers,
             .max_positions = config_.max_positions};
    for (const Layer& layer : weights_.layers) {
      if (layer.moe && info_.moe.shape.num_experts == 0)
        info_.moe = moe_problem(*layer.moe, moe_shape(config_), options);
    }
    attention_ = {.num_q_heads = config_.num_q_heads,
                  .num_kv_heads = config_.num_kv_heads,
                  .head_dim = config_.head_dim,
                  .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config_.head_dim))),
                  .window = config_.window};
  }

  const ModelInfo& info() const override { return info_; }

  KvLayout kv_layout() const override {
    KvGroup kv{.name = "kv", .row_width = 2 * config_.num_kv_heads * config_.head_dim, .window = config_.window};
    for (int32_t layer = 0; layer < config_.num_layers; ++layer) kv.layers.push_back(layer);
    return {.groups = {kv}, .writer = numerics_};
  }

  int64_t activation_bytes(int64_t num_tokens) const override;
  std::vector<const MoeBlock*> moe_blocks() const override;

  std::vector<RowFault> forward(Runtime& rt, const StepPlan& plan, KvCache& cache, View2<float> logits,
                                StepObserver* observer) override;

 private:
  void add_attention(Runtime& rt, const StepPlan& plan, const KvCache& cache, int32_t index, const RopeTable& table,
                     View2<float> h);

  Config config_;
  Weights weights_;
  NumericsClass numerics_;
  ModelInfo info_;
  GroupedAttention attention_;
};

std::vector<RowFault> Qwen3Moe::forward(Runtime& rt, const StepPlan& plan, KvCache& cache, View2<float> logits,
                                        StepObserver* observer) {
  const ArenaScope scope(rt.arena);
  std::vector<RowFault> faults;
  const RopeTable table = make_rope_table(config_.rope, plan.positions, rt.arena);  // [T, D / 2]
  const View2<float> h = embed(rt, plan, weights_.embedding);                       // [T, H]
  for (int32_t index = 0; index < config_.num_layers; ++index) {
    const ArenaScope layer_scope(rt.arena);
    const Layer& layer = weights_.layers[static_cast<size_t>(index)];
    add_attention(rt, plan, cache, index, table, h);                            // [T, H]
    const View2<float> x = rms_norm(rt, h, layer.post_norm, config_.norm_eps);  // [T, H]
    if (layer.moe) {
      add_moe(rt, *layer.moe, plan, x, h, observer, faults);  // [T, H]
    } else {
      add_mlp(rt, rt.lines.dense_mlp, *layer.dense, x, h);  // [T, H]
    }
    if (observer) observer->hidden(index, h);
  }
  write_logits(rt, plan, h, weights_.norm, config_.norm_eps, weights_.lm_head, logits);  // [rows, V]
  return faults;
}

/// h += o_proj( GQA(rms_norm(h)) ), queries and keys normalized head by head before the rotation.
void Qwen3Moe::add_attention(Runtime& rt, const StepPlan& plan, const KvCache& cache, int32_t index,
                             const RopeTable& table, View2<float> h) {
  const ArenaScope scope(rt.arena);
  const Layer& layer = weights_.layers[static_cast<size_t>(index)];
  const LineId projections = rt.lines.attention_projections;
  const int64_t kv_width = config_.num_kv_heads * config_.head_dim;

  const View2<float> x = rms_norm(rt, h, layer.input_norm, config_.norm_eps);  // [T, H]
  const View2<float> q = linear(rt, projections, x, layer.q);                  // [T, Hq * D]
  const View2<float> kv = rt.arena.matrix(h.rows, 2 * kv_width);               // [T, keys | values]
  const View2<float> k = kv.columns(0, kv_width);                              // [T, Hkv * D]
  linear(rt, projections, x, layer.k, k);
  linear(rt, projections, x, layer.v, kv.columns(kv_width, kv_width));
  norm_heads(rt, q, layer.q_norm, config_.norm_eps);
  norm_heads(rt, k, layer.k_norm, config_.norm_eps);
  rope(rt, q, config_.num_q_heads, 0, table, RopeTable::Pairing::half_split);
  rope(rt, k, config_.num_kv_heads, 0, table, RopeTable::Pairing::half_split);
  const std::vector<AttentionSpan> spans = attention_spans(plan, cache, 0, index);
  write_cache(spans, kv);

  const View2<float> out = rt.arena.matrix(h.rows, q.cols);
  {
    const ScopedLine timed(rt.account, rt.lines.attention, {.bytes = cache_bytes(spans)});
    rt.attention.grouped(attention_, q, spans, out);  // [T, Hq * D]
  }
  const View2<float> y = linear(rt, projections, out, layer.o);  // [T, H]
  reduce(rt, y);
  add(rt, y, h);
}

int64_t Qwen3Moe::activation_bytes(int64_t num_tokens) const {
  const Config& c = config_;
  const int64_t t = num_tokens;
  const int64_t frame = 2 * arena_floats(t, c.head_dim / 2) + 2 * arena_floats(t, c.hidden);
  const int64_t attention = 2 * arena_floats(t, c.hidden) + 2 * arena_floats(t, c.num_q_heads * c.head_dim) +
                            arena_floats(t, 2 * c.num_kv_heads * c.head_dim);
  int64_t largest = std::max(attention, 2 * arena_floats(t, c.hidden));  // the end of a step: two matrices [T, H]
  for (const Layer& layer : weights_.layers) {
    largest =
        std::max(largest, layer.moe ? moe_activation_bytes(*layer.moe, t) : mlp_activation_bytes(*layer.dense, t));
  }
  return frame + largest;
}

std::vector<const MoeBlock*> Qwen3Moe::moe_blocks() const {
  std::vector<const MoeBlock*> blocks;
  for (const Layer& layer : weights_.layers) {
    if (layer.moe) blocks.push_back(&*layer.moe);
  }
  return blocks;
}

}  // namespace

std::unique_ptr<Model> load(const Checkpoint& checkpoint, const ModelOptions& options, ThreadPool& threads,
                            LoadNotes* notes) {
  Config config = read_config(ConfigReader(checkpoint.config(), checkpoint.folder() + "/config.json"));
  WeightTable table(checkpoint, options.ranks.rank, options.ranks.num_ranks);
  Weights weights = load_weights(table, config, options, threads);
  if (notes) *notes = {.inventory = table.inventory(), .warnings = table.warnings()};
  return std::make_unique<Qwen3Moe>(std::move(config), std::move(weights), options);
}

}  // namespace octet::qwen3_moe
