#include "models/glm_moe_dsa/model.h"

#include <algorithm>

#include "models/glm_moe_dsa/weights.h"

namespace octet::glm_moe_dsa {
namespace {

// The published implementation builds the norms of the low-rank projections with its default, not with rms_norm_eps;
// the goldens were made so.
constexpr float kLowRankNormEps = 1e-6f;
constexpr float kIndexNormEps = 1e-6f;

constexpr int32_t kLatentGroup = 0;
constexpr int32_t kIndexGroup = 1;

RopeTable::Pairing pairing(bool interleaved) {
  return interleaved ? RopeTable::Pairing::interleaved : RopeTable::Pairing::half_split;
}

/// Absorbed form: kv_b once, every cached row once; two products a head with each visible key's latent.
LineCost attention_cost(const LatentAttention& a, std::span<const AttentionSpan> spans) {
  LineCost cost{.bytes = stored_bytes(a.kv_b) + cache_bytes(spans)};
  for (const AttentionSpan& span : spans) {
    const int64_t pairs = span.query_len * span.position + span.query_len * (span.query_len + 1) / 2;
    cost.flops += 2 * a.num_heads * pairs * (2 * a.latent + a.rope);
    cost.flops += 2 * a.num_heads * span.query_len * (a.nope + a.value) * a.latent;
  }
  return cost;
}

class GlmMoeDsa final : public Model {
 public:
  GlmMoeDsa(Config config, Weights weights, const ModelOptions& options)
      : config_(std::move(config)), weights_(std::move(weights)), numerics_(options.numerics) {
    info_ = {.family = "glm_moe_dsa",
             .vocab = config_.vocab,
             .hidden = config_.hidden,
             .num_layers = config_.num_layers,
             .max_positions = config_.max_positions};
    for (const Layer& layer : weights_.layers) {
      if (layer.moe && info_.moe.shape.num_experts == 0)
        info_.moe = moe_problem(*layer.moe, moe_shape(config_), options);
    }
  }

  const ModelInfo& info() const override { return info_; }

  KvLayout kv_layout() const override {
    KvGroup latent{.name = "latent", .row_width = config_.latent + config_.rope_width};
    KvGroup index{.name = "index_keys", .row_width = config_.index_dim};
    for (int32_t layer = 0; layer < config_.num_layers; ++layer) {
      latent.layers.push_back(layer);
      if (config_.full_indexer[static_cast<size_t>(layer)]) index.layers.push_back(layer);
    }
    return {.groups = {latent, index}, .writer = numerics_};
  }

  int64_t activation_bytes(int64_t num_tokens) const override;
  std::vector<const MoeBlock*> moe_blocks() const override;

  std::vector<RowFault> forward(Runtime& rt, const StepPlan& plan, KvCache& cache, View2<float> logits,
                                StepObserver* observer) override;

 private:
  void add_attention(Runtime& rt, const StepPlan& plan, const KvCache& cache, int32_t index, const RopeTable& table,
                     View2<float> h, StepObserver* observer);
  void select_keys(Runtime& rt, const StepPlan& plan, const KvCache& cache, int32_t index, const RopeTable& table,
                   View2<const float> x, View2<const float> qr, StepObserver* observer);

  Config config_;
  Weights weights_;
  NumericsClass numerics_;
  ModelInfo info_;
  KeySelection selection_;  // of the last full layer; shared layers read it
};

std::vector<RowFault> GlmMoeDsa::forward(Runtime& rt, const StepPlan& plan, KvCache& cache, View2<float> logits,
                                         StepObserver* observer) {
  const ArenaScope scope(rt.arena);
  std::vector<RowFault> faults;
  const RopeTable table = make_rope_table(config_.rope, plan.positions, rt.arena);  // [T, rope / 2]
  const View2<float> h = embed(rt, plan, weights_.embedding);                       // [T, H]
  for (int32_t index = 0; index < config_.num_layers; ++index) {
    const ArenaScope layer_scope(rt.arena);
    const Layer& layer = weights_.layers[static_cast<size_t>(index)];
    add_attention(rt, plan, cache, index, table, h, observer);                  // [T, H]
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

/// h += o_proj( MLA(rms_norm(h)) ), restricted to the keys that the indexer chose.
void GlmMoeDsa::add_attention(Runtime& rt, const StepPlan& plan, const KvCache& cache, int32_t index,
                              const RopeTable& table, View2<float> h, StepObserver* observer) {
  const ArenaScope scope(rt.arena);
  const Layer& layer = weights_.layers[static_cast<size_t>(index)];
  const LineId projections = rt.lines.attention_projections;
  const RopeTable::Pairing pairs = pairing(config_.interleaved);

  const View2<float> x = rms_norm(rt, h, layer.input_norm, config_.norm_eps);  // [T, H]
  const View2<float> q_a = linear(rt, projections, x, layer.q_a);              // [T, q_rank]
  const View2<float> qr = rms_norm(rt, q_a, layer.q_a_norm, kLowRankNormEps);  // [T, q_rank]
  const View2<float> q = linear(rt, projections, qr, layer.q_b);               // [T, Hq * (nope + rope)]
  const View2<float> kv = linear(rt, projections, x, layer.kv_a);              // [T, latent + rope]
  const View2<float> c = kv.columns(0, config_.latent);                        // [T, latent]
  rt.ops.rms_norm(c, layer.kv_a_norm, kLowRankNormEps, c);
  rope(rt, q, config_.num_heads, config_.nope, table, pairs);  // the last elements of each head
  rope(rt, kv, 1, config_.latent, table, pairs);               // one key for all heads
  const std::vector<AttentionSpan> spans = attention_spans(plan, cache, kLatentGroup, index);
  write_cache(spans, kv);

  if (layer.indexer) select_keys(rt, plan, cache, index, table, x, qr, observer);

  const View2<float> out = rt.arena.matrix(h.rows, config_.num_heads * config_.value);
  {
    const ScopedLine timed(rt.account, rt.lines.attention, attention_cost(layer.attention, spans));
    rt.attention.latent(layer.attention, q, spans, selection_, out);  // [T, Hq * value]
  }
  const View2<float> y = linear(rt, projections, out, layer.o);  // [T, H]
  reduce(rt, y);
  add(rt, y, h);
}

/// The DSA indexer: stores this step's index keys and chooses the keys of every row.
void GlmMoeDsa::select_keys(Runtime& rt, const StepPlan& plan, const KvCache& cache, int32_t index,
                            const RopeTable& table, View2<const float> x, View2<const float> qr,
                            StepObserver* observer) {
  const ArenaScope scope(rt.arena);
  const Indexer& indexer = *weights_.layers[static_cast<size_t>(index)].indexer;
  const RopeTable::Pairing pairs = pairing(config_.index_interleaved);

  const View2<float> q = linear(rt, rt.lines.indexer, qr, indexer.wq_b);  // [T, Hi * Di]
  const View2<float> k = linear(rt, rt.lines.indexer, x, indexer.wk);     // [T, Di]
  rt.ops.layer_norm(k, indexer.k_norm, indexer.k_bias, kIndexNormEps, k);
  rope(rt, q, config_.index_heads, 0, table, pairs);  // the first elements of each head
  rope(rt, k, 1, 0, table, pairs);
  const View2<float> w = linear(rt, rt.lines.indexer, x, indexer.weights_proj);  // [T, Hi]
  const std::vector<AttentionSpan> spans = attention_spans(plan, cache, kIndexGroup, index);
  write_cache(spans, k);

  const KeyIndexer shape{.num_heads = config_.index_heads, .head_dim = config_.index_dim, .top_k = config_.index_top_k};
  const ScopedLine timed(rt.account, rt.lines.indexer, {.bytes = cache_bytes(spans)});
  rt.attention.select_keys(shape, q, w, spans, selection_, nullptr);
  if (observer) observer->selection(index, shape, q, w, spans, selection_);
}

int64_t GlmMoeDsa::activation_bytes(int64_t num_tokens) const {
  const Config& c = config_;
  const int64_t t = num_tokens;
  const int64_t frame = 2 * arena_floats(t, c.rope_width / 2) + 2 * arena_floats(t, c.hidden);
  const int64_t attention = 2 * arena_floats(t, c.hidden) + 2 * arena_floats(t, c.q_rank) +
                            arena_floats(t, c.num_heads * (c.nope + c.rope_width)) +
                            arena_floats(t, c.latent + c.rope_width) + arena_floats(t, c.num_heads * c.value) +
                            arena_floats(t, c.index_heads * (c.index_dim + 1)) + arena_floats(t, c.index_dim) + 64;
  int64_t largest = std::max(attention, 2 * arena_floats(t, c.hidden));  // the end of a step: two matrices [T, H]
  for (const Layer& layer : weights_.layers) {
    largest =
        std::max(largest, layer.moe ? moe_activation_bytes(*layer.moe, t) : mlp_activation_bytes(*layer.dense, t));
  }
  return frame + largest;
}

std::vector<const MoeBlock*> GlmMoeDsa::moe_blocks() const {
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
  return std::make_unique<GlmMoeDsa>(std::move(config), std::move(weights), options);
}

}  // namespace octet::glm_moe_dsa
