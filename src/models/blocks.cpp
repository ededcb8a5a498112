#include "models/blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "moe/experts/names.h"
#include "moe/experts/selection.h"

namespace octet {

StepLines::StepLines(Account& account)
    : embedding(account.line("embedding")),
      norms(account.line("norms and rope")),
      attention_projections(account.line("attention projections")),
      indexer(account.line("indexer")),
      attention(account.line("attention")),
      router(account.line("router")),
      experts(account.line("experts")),
      shared_experts(account.line("shared experts")),
      dense_mlp(account.line("dense mlp")),
      lm_head(account.line("lm head")) {}

void linear(Runtime& rt, LineId line, View2<const float> x, const WeightView& w, View2<float> y) {
  const ScopedLine timed(rt.account, line, {.bytes = stored_bytes(w), .flops = 2 * x.rows * w.n * w.k});
  rt.ops.linear(x, w, y);
}

View2<float> linear(Runtime& rt, LineId line, View2<const float> x, const WeightView& w) {
  const View2<float> y = rt.arena.matrix(x.rows, w.n);
  linear(rt, line, x, w, y);
  return y;
}

namespace {

/// An operation that reads and writes every element once.
LineCost elementwise(View2<const float> x) { return {.bytes = 2 * x.rows * x.cols * 4, .flops = 4 * x.rows * x.cols}; }

}  // namespace

View2<float> rms_norm(Runtime& rt, View2<const float> x, std::span<const float> weight, float eps) {
  const View2<float> y = rt.arena.matrix(x.rows, x.cols);
  const ScopedLine timed(rt.account, rt.lines.norms, elementwise(x));
  rt.ops.rms_norm(x, weight, eps, y);
  return y;
}

void norm_heads(Runtime& rt, View2<float> x, std::span<const float> weight, float eps) {
  const auto head_dim = static_cast<int64_t>(weight.size());
  const ScopedLine timed(rt.account, rt.lines.norms, elementwise(x));
  for (int64_t head = 0; head < x.cols / head_dim; ++head) {
    const View2<float> part = x.columns(head * head_dim, head_dim);
    rt.ops.rms_norm(part, weight, eps, part);
  }
}

void reduce(Runtime& rt, View2<float> x) {
  OCTET_CHECK(x.stride == x.cols);
  rt.comm.all_reduce_sum({x.data, static_cast<size_t>(x.rows * x.cols)});
}

void rope(Runtime& rt, View2<float> x, int64_t num_heads, int64_t first, const RopeTable& table,
          RopeTable::Pairing pairing) {
  const ScopedLine timed(rt.account, rt.lines.norms, elementwise(x.columns(0, num_heads * 2 * table.cos.cols)));
  rt.ops.rope(x, num_heads, first, table, pairing);
}

void add(Runtime& rt, View2<const float> x, View2<float> h) {
  const ScopedLine timed(rt.account, rt.lines.norms, elementwise(x));
  rt.ops.add(x, h);
}

Mlp load_mlp(WeightTable& table, std::string_view module_class, const std::string& prefix, int64_t hidden,
             int64_t width) {
  const LinearOptions columns{.module_class = module_class, .split = Split::column_split};
  const LinearOptions rows{.module_class = module_class, .split = Split::row_split};
  return {.gate = table.linear(prefix + "gate_proj", width, hidden, columns),
          .up = table.linear(prefix + "up_proj", width, hidden, columns),
          .down = table.linear(prefix + "down_proj", hidden, width, rows)};
}

void add_mlp(Runtime& rt, LineId line, const Mlp& mlp, View2<const float> x, View2<float> h) {
  const ArenaScope scope(rt.arena);
  const View2<float> gate = linear(rt, line, x, mlp.gate);  // [T, I]
  const View2<float> up = linear(rt, line, x, mlp.up);      // [T, I]
  rt.ops.silu_mul(gate, up, gate);                          // [T, I]
  const View2<float> y = linear(rt, line, gate, mlp.down);  // [T, H]
  reduce(rt, y);
  add(rt, y, h);
}

namespace {

/// Weights of one routed expert; empty with n = 0 if another rank holds it.
void load_expert(WeightTable& table, const std::string& prefix, int32_t expert, const MoeShape& shape,
                 ExpertWeights& weights) {
  const std::string name = prefix + "experts." + std::to_string(expert) + ".";
  const std::string gate_up = prefix + "experts.gate_up_proj", down_all = prefix + "experts.down_proj";
  const int64_t width = shape.expert_width;
  const LinearOptions options{.module_class = "routed experts", .split = Split::expert_split};
  const auto matrix = [&](const char* part, const std::string& fused, int64_t first_row, int64_t rows) {
    return ExpertMatrix{.name = name + part,
                        .expert = expert,
                        .num_experts = shape.num_experts,
                        .fused_name = fused,
                        .fused_first_row = first_row,
                        .fused_rows = rows};
  };
  const WeightView gate = table.expert_linear(matrix("gate_proj", gate_up, 0, 2 * width), width, shape.hidden, options);
  const WeightView up = table.expert_linear(matrix("up_proj", gate_up, width, 2 * width), width, shape.hidden, options);
  const WeightView down =
      table.expert_linear(matrix("down_proj", down_all, 0, shape.hidden), shape.hidden, width, options);
  // Another rank's, or missing: finish() will say so.
  if (gate.empty() || up.empty() || down.empty()) return;
  weights.ids.push_back(ExpertId{expert});
  weights.gate.push_back(gate);
  weights.up.push_back(up);
  weights.down.push_back(down);
}

}  // namespace

MoeBlock load_moe(WeightTable& table, int32_t layer, const MoeNames& names, const RouterOptions& router,
                  const MoeShape& shape) {
  MoeBlock block;
  block.layer = layer;
  block.router = router;
  block.gate = table.linear(names.prefix + "gate", shape.num_experts, shape.hidden, {.module_class = "router"});
  if (names.correction_bias) {
    block.correction = table.vector(names.prefix + "gate.e_score_correction_bias", shape.num_experts, "router");
    block.router.correction = block.correction;
  }
  for (int32_t expert = 0; expert < shape.num_experts; ++expert) {
    load_expert(table, names.prefix, expert, shape, block.weights);
  }
  if (names.shared_width > 0) {
    block.shared =
        load_mlp(table, "shared experts", names.prefix + "shared_experts.", shape.hidden, names.shared_width);
  }
  return block;
}

MoeProblem moe_problem(const MoeBlock& block, const MoeShape& shape, const ModelOptions& options) {
  return {.shape = shape,
          .gate_up = block.weights.gate.front().format,
          .down = block.weights.down.front().format,
          .activation = Activation::silu,
          .numerics = options.numerics,
          .ranks = options.ranks};
}

void bind_experts(MoeBlock& block, const MoeShape& shape, const ModelOptions& options) {
  const MoeProblem problem = moe_problem(block, shape, options);
  for (size_t i = 0; i < block.weights.ids.size(); ++i) {
    if (block.weights.gate[i].format != problem.gate_up || block.weights.up[i].format != problem.gate_up ||
        block.weights.down[i].format != problem.down) {
      fail(ErrorCode::unsupported, "layer ", block.layer, ": expert ", block.weights.ids[i].value,
           " is stored in another format than expert ", block.weights.ids.front().value, " (",
           describe(block.weights.gate[i].format), " and ", describe(block.weights.down[i].format), " against ",
           describe(problem.gate_up), " and ", describe(problem.down), "); octet needs one format a layer");
    }
  }
  // A reference run is the definition throughout, so it takes no other experts unless one is forced.
  const bool reference = options.numerics == NumericsClass::reference && options.expert_backend.empty();
  const SelectionRequest request{.problem = problem,
                                 .buckets = {1, 8, kMostDecodeTokens, 512, 4096},
                                 .forced = reference ? "reference" : options.expert_backend};
  const std::vector<SelectionRow> rows = select_expert_backends(request, options.device);
  check_every_bucket_served(rows, request.forced);
  std::map<std::string_view, std::shared_ptr<const ExpertLayer>> layers;  // by backend
  std::map<std::string, int64_t> packed;                                  // shared copies count once
  for (const int64_t most_tokens : request.buckets) {
    const ExpertBackendEntry& entry = *chosen_row(rows, most_tokens)->backend;
    std::shared_ptr<const ExpertLayer>& layer = layers[entry.name];
    if (layer == nullptr) layer = entry.make(problem, options.device, block.weights);
    const PackedWeights copy = entry.packed(problem);
    packed[copy.name] = copy.bytes;
    block.experts.push_back({.most_tokens = most_tokens, .backend = entry.name, .layer = layer});
  }
  for (const auto& [name, bytes] : packed) block.packed_bytes += bytes;
}

const BoundExperts& MoeBlock::experts_for(int64_t num_tokens) const {
  for (const BoundExperts& bound : experts) {
    if (num_tokens <= bound.most_tokens) return bound;
  }
  return experts.back();
}

namespace {

/// Chooses experts for the rows of a step, lets an observer look or replace, and reports rows with bad logits.
RoutingTable route_rows(Runtime& rt, const MoeBlock& block, const StepPlan& plan, View2<const float> logits,
                        StepObserver* observer, std::vector<RowFault>& faults) {
  const ScopedLine timed(rt.account, rt.lines.router);
  RoutingTable table;
  for (const int64_t row : route(block.router, logits, plan.is_padding, table)) {
    faults.push_back({row, "layer " + std::to_string(block.layer) +
                               ": the router's logits hold NaN or infinity (computed by " + std::string(rt.ops.name()) +
                               ")"});
  }
  if (observer && observer->routing(block.layer, logits, table)) weigh(block.router, logits, table);
  return table;
}

void run_experts(Runtime& rt, const MoeBlock& block, const RoutingTable& table, View2<const float> x, View2<float> h) {
  const WeightView& gate = block.weights.gate.front();
  const WeightView& down = block.weights.down.front();
  const int64_t distinct = distinct_experts(table, block.router.num_experts);
  const ScopedLine timed(rt.account, rt.lines.experts,
                         {.bytes = distinct * (2 * stored_bytes(gate) + stored_bytes(down)),
                          .flops = 6 * x.rows * table.top_k * gate.n * gate.k,
                          .distinct_experts = distinct});
  const ExpertLayer& layer = *block.experts_for(x.rows).layer;
  const std::span<std::byte> workspace = rt.arena.take<std::byte>(layer.workspace_bytes(x.rows));
  layer.run(table, x, h, workspace, rt.threads);
}

/// Reports the rows of the experts' output that hold NaN or infinity.
void report_bad_rows(const MoeBlock& block, const StepPlan& plan, View2<const float> y, std::vector<RowFault>& faults) {
  for (int64_t t = 0; t < y.rows; ++t) {
    if (plan.is_padding[static_cast<size_t>(t)]) continue;
    if (!std::all_of(y.row(t), y.row(t) + y.cols, [](float v) { return std::isfinite(v); })) {
      faults.push_back({t, "layer " + std::to_string(block.layer) + ": the output of expert backend " +
                               std::string(block.experts_for(y.rows).backend) + " holds NaN or infinity"});
    }
  }
}

}  // namespace

void add_moe(Runtime& rt, const MoeBlock& block, const StepPlan& plan, View2<const float> x, View2<float> h,
             StepObserver* observer, std::vector<RowFault>& faults) {
  const ArenaScope scope(rt.arena);
  const View2<float> logits = linear(rt, rt.lines.router, x, block.gate);            // [T, E]
  const RoutingTable table = route_rows(rt, block, plan, logits, observer, faults);  // [T, A]
  const View2<float> y = rt.arena.matrix(h.rows, h.cols);                            // [T, H]
  std::fill_n(y.data, y.rows * y.cols, 0.0f);
  run_experts(rt, block, table, x, y);
  reduce(rt, y);
  report_bad_rows(block, plan, y, faults);
  add(rt, y, h);
  if (block.shared) add_mlp(rt, rt.lines.shared_experts, *block.shared, x, h);
}

void add_feed_forward(Runtime& rt, const FeedForward& feed_forward, const StepPlan& plan, View2<const float> x,
                      View2<float> h, StepObserver* observer, std::vector<RowFault>& faults) {
  if (feed_forward.moe) {
    add_moe(rt, *feed_forward.moe, plan, x, h, observer, faults);
  } else {
    add_mlp(rt, rt.lines.dense_mlp, *feed_forward.dense, x, h);
  }
}

namespace {

int64_t mlp_activation_bytes(const Mlp& mlp, int64_t num_tokens) {
  return 2 * arena_floats(num_tokens, mlp.gate.n) + arena_floats(num_tokens, mlp.down.n);
}

int64_t moe_activation_bytes(const MoeBlock& block, int64_t num_tokens) {
  int64_t workspace = 0;  // of the most demanding step
  for (const BoundExperts& bound : block.experts) {
    workspace = std::max(workspace, bound.layer->workspace_bytes(std::min(num_tokens, bound.most_tokens)));
  }
  workspace = std::max(workspace, block.experts_for(num_tokens).layer->workspace_bytes(num_tokens));
  return arena_floats(num_tokens, block.gate.n) + arena_floats(num_tokens, block.gate.k) + workspace + 64 +
         (block.shared ? mlp_activation_bytes(*block.shared, num_tokens) : 0);
}

}  // namespace

int64_t activation_bytes(const FeedForward& feed_forward, int64_t num_tokens) {
  return feed_forward.moe ? moe_activation_bytes(*feed_forward.moe, num_tokens)
                          : mlp_activation_bytes(*feed_forward.dense, num_tokens);
}

int64_t cache_bytes(std::span<const AttentionSpan> spans) {
  int64_t bytes = 0;
  for (const AttentionSpan& span : spans) bytes += (span.position + span.query_len) * span.cache.row_width * 4;
  return bytes;
}

std::vector<AttentionSpan> attention_spans(const StepPlan& plan, const KvCache& cache, int32_t group, int32_t layer) {
  std::vector<AttentionSpan> spans;
  for (const SequenceRows& rows : plan.sequences) {
    spans.push_back({.first_row = rows.first_row,
                     .query_len = rows.query_len,
                     .position = rows.position,
                     .cache = cache.rows(group, layer, rows.pages)});
  }
  return spans;
}

void write_cache(std::span<const AttentionSpan> spans, View2<const float> rows) {
  for (const AttentionSpan& span : spans) {
    for (int64_t i = 0; i < span.query_len; ++i) {
      std::memcpy(span.cache.row(span.position + i), rows.row(span.first_row + i), static_cast<size_t>(rows.cols) * 4);
    }
  }
}

WeightView load_lm_head(WeightTable& table, const WeightView& embedding, bool tied) {
  // A head that is stored counts, also where the settings call the two tied: transformers 5 reads it so.
  if (tied && !table.has("lm_head.weight")) return embedding;
  return table.linear("lm_head", embedding.n, embedding.k, {.module_class = "lm head"});
}

void ignore_prediction_layers(WeightTable& table, int32_t num_layers) {
  // Only a layer that has their own tensors is one; any other layer beyond num_hidden_layers is surplus.
  for (int32_t layer = num_layers;; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    if (!table.has(prefix + "eh_proj.weight")) return;
    table.ignore(prefix + "*");
  }
}

View2<float> embed(Runtime& rt, const StepPlan& plan, const WeightView& table) {
  const View2<float> h = rt.arena.matrix(plan.num_tokens(), table.k);
  const ScopedLine timed(rt.account, rt.lines.embedding, {.bytes = h.rows * code_bits(table.format.code) * h.cols / 8});
  rt.ops.embed(plan.tokens, table, h);
  return h;
}

void write_logits(Runtime& rt, const StepPlan& plan, View2<const float> h, std::span<const float> norm, float eps,
                  const WeightView& lm_head, View2<float> logits) {
  const ArenaScope scope(rt.arena);
  const auto rows = static_cast<int64_t>(plan.logit_rows.size());
  if (rows == 0) return;
  const View2<float> last = rt.arena.matrix(rows, h.cols);
  for (int64_t i = 0; i < rows; ++i) {
    std::memcpy(last.row(i), h.row(plan.logit_rows[static_cast<size_t>(i)]), static_cast<size_t>(h.cols) * 4);
  }
  linear(rt, rt.lines.lm_head, rms_norm(rt, last, norm, eps), lm_head, logits);  // [rows, V]
}

}  // namespace octet
