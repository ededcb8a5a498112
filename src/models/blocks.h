// models/blocks.h — the parts of a decoder that families share: linear under an account line, SwiGLU, the MoE block,
// and the walk from a plan to cache rows.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"

namespace octet {

/// Rows of the step with their account line, bytes and FLOPs:  y [T, N] = x [T, K] wᵀ.
View2<float> linear(Runtime& rt, LineId line, View2<const float> x, const WeightView& w);
void linear(Runtime& rt, LineId line, View2<const float> x, const WeightView& w, View2<float> y);

/// y [T, H] = rms_norm(x).
View2<float> rms_norm(Runtime& rt, View2<const float> x, std::span<const float> weight, float eps);

/// Normalizes every head of x [T, num_heads * D] in place; weight [D].
void norm_heads(Runtime& rt, View2<float> x, std::span<const float> weight, float eps);

/// x [T, W] += nothing, on one rank; with several, the sum of all ranks' parts. After every row-split product.
void reduce(Runtime& rt, View2<float> x);

/// Rotates x in place as Ops::rope does.
void rope(Runtime& rt, View2<float> x, int64_t num_heads, int64_t first, const RopeTable& table,
          RopeTable::Pairing pairing);

/// h += x.
void add(Runtime& rt, View2<const float> x, View2<float> h);

/// A dense SwiGLU feed-forward:  down( silu(gate x) * (up x) ).
struct Mlp {
  WeightView gate;  // [I, H]
  WeightView up;    // [I, H]
  WeightView down;  // [H, I]
};

Mlp load_mlp(WeightTable& table, std::string_view module_class, const std::string& prefix, int64_t hidden,
             int64_t width);

/// h [T, H] += mlp(x).
void add_mlp(Runtime& rt, LineId line, const Mlp& mlp, View2<const float> x, View2<float> h);

/// The backend that serves a layer's experts in steps of up to most_tokens tokens. Neighbours may share a layer.
struct BoundExperts {
  int64_t most_tokens = 0;
  std::string_view backend;  // its name
  std::shared_ptr<const ExpertLayer> layer;
};

/// Router, routed experts and shared expert of one layer.
struct MoeBlock {
  int32_t layer = 0;
  WeightView gate;                // [E, H]
  std::vector<float> correction;  // [E] or empty
  RouterOptions router;           // its `correction` points to the vector above
  ExpertWeights weights;
  std::vector<BoundExperts> experts;  // by token count, ascending; the last one takes all beyond it
  int64_t packed_bytes = 0;           // that all of them keep beside the checkpoint
  std::optional<Mlp> shared;

  /// The backend for a step of num_tokens tokens.
  const BoundExperts& experts_for(int64_t num_tokens) const;
};

/// Dimensions and names of a family's MoE block.
struct MoeNames {
  std::string prefix;            // "model.layers.3.mlp."
  bool correction_bias = false;  // read gate.e_score_correction_bias
  int64_t shared_width = 0;      // 0: no shared expert
};

/// Reads a block's weights. Until bind_experts() it has no backend.
MoeBlock load_moe(WeightTable& table, int32_t layer, const MoeNames& names, const RouterOptions& router,
                  const MoeShape& shape);

/// Chooses a backend for the block's experts at each token count and binds them to it. After WeightTable::finish(), so
/// that all weights exist. Throws Error(unsupported) with every backend's reason, or if experts of one layer are stored
/// in different formats.
void bind_experts(MoeBlock& block, const MoeShape& shape, const ModelOptions& options);

/// What selection may know of a block.
MoeProblem moe_problem(const MoeBlock& block, const MoeShape& shape, const ModelOptions& options);

/// h [T, H] += routed experts(x) + shared expert(x). Appends to faults.
void add_moe(Runtime& rt, const MoeBlock& block, const StepPlan& plan, View2<const float> x, View2<float> h,
             StepObserver* observer, std::vector<RowFault>& faults);

/// The second half of a layer: dense, or routed experts.
struct FeedForward {
  std::optional<Mlp> dense;  // one of the two
  std::optional<MoeBlock> moe;
};

/// h [T, H] += feed_forward(x). Appends to faults.
void add_feed_forward(Runtime& rt, const FeedForward& feed_forward, const StepPlan& plan, View2<const float> x,
                      View2<float> h, StepObserver* observer, std::vector<RowFault>& faults);

/// Arena bytes of add_feed_forward for T tokens.
int64_t activation_bytes(const FeedForward& feed_forward, int64_t num_tokens);

/// The sparse blocks of a model's layers, each with a member `feed_forward`.
template <class Layer>
std::vector<const MoeBlock*> moe_blocks_of(const std::vector<Layer>& layers) {
  std::vector<const MoeBlock*> blocks;
  for (const Layer& layer : layers) {
    if (layer.feed_forward.moe) blocks.push_back(&*layer.feed_forward.moe);
  }
  return blocks;
}

/// Cache bytes that the rows of a step must read at least once: every sequence's positions so far.
int64_t cache_bytes(std::span<const AttentionSpan> spans);

/// The plan's sequences with their cache rows in one layer of one group.
std::vector<AttentionSpan> attention_spans(const StepPlan& plan, const KvCache& cache, int32_t group, int32_t layer);

/// Copies rows [T, width] of the step into the cache.
void write_cache(std::span<const AttentionSpan> spans, View2<const float> rows);

/// The LM head [V, H]: `lm_head.weight`, or the embedding where the two are tied.
WeightView load_lm_head(WeightTable& table, const WeightView& embedding, bool tied);

/// Leaves out the layers of multi-token prediction behind the model's own.
void ignore_prediction_layers(WeightTable& table, int32_t num_layers);

/// Embedding [T, H], and the end: logits [rows, V] = lm_head(rms_norm(h[logit_rows])).
View2<float> embed(Runtime& rt, const StepPlan& plan, const WeightView& table);
void write_logits(Runtime& rt, const StepPlan& plan, View2<const float> h, std::span<const float> norm, float eps,
                  const WeightView& lm_head, View2<float> logits);

/// Bytes of `rows` x `cols` floats in the arena, alignment included.
constexpr int64_t arena_floats(int64_t rows, int64_t cols) { return rows * cols * 4 + 64; }

}  // namespace octet
