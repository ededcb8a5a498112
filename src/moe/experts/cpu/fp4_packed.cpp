#include "moe/experts/cpu/fp4_packed.h"

#include <algorithm>

#include "kernels/cpu/fp4_pack.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "moe/experts/bound.h"
#include "moe/experts/cpu/groups.h"
#include "tensor/buffer.h"

namespace octet::cpu_fp4_packed {
namespace {

using cpu::ceil_div;
using cpu::Fp4Format;
using cpu::kPanelRows;
using cpu::num_panels;
using cpu::panel_bytes;
using cpu::PanelFinish;
using cpu::PanelKernels;
using cpu::PanelsArgs;

constexpr int64_t kTokenBlock = 64;                  // tokens of one expert that share an expansion of its weights
constexpr int64_t kInnerPanels = 4;                  // panels of gate, and as many of up, of an item
constexpr int64_t kOutputPanels = 4;                 // panels of output rows of an item
static_assert(kPanelRows == cpu::kActivationGroup);  // a panel of inner rows is a group of the next product
constexpr int64_t kTokensPerItem = 8;                // whose activations one item prepares

/// Where the panels of an expert lie.
struct ExpertLayout {
  ExpertLayout(const MoeProblem& problem)
      : gate_up(*cpu::panel_format(problem.gate_up)),
        down(*cpu::panel_format(problem.down)),
        inner_panels(num_panels(problem.shape.expert_width)),
        output_panels(num_panels(problem.shape.hidden)),
        inner_panel_bytes(panel_bytes(gate_up, problem.shape.hidden)),
        output_panel_bytes(panel_bytes(down, problem.shape.expert_width)),
        down_begin(2 * inner_panels * inner_panel_bytes),
        // Whole cache lines, so that an expert's first block begins with one.
        bytes(cpu::round_up(down_begin + output_panels * output_panel_bytes, 64)) {}

  Fp4Format gate_up, down;
  int64_t inner_panels;   // of gate; as many of up
  int64_t output_panels;  // of down
  int64_t inner_panel_bytes, output_panel_bytes;
  int64_t down_begin;  // bytes before the panels of down
  int64_t bytes;       // of an expert
};

struct ExpertFinish {
  PanelFinish gate, up, down;
};

/// Offsets of the parts of the workspace, in bytes.
struct WorkspaceLayout {
  int64_t x, inner, scratch, total;
};

class Layer final : public ExpertLayer {
 public:
  Layer(const MoeProblem& problem, const DeviceInfo& device, const ExpertWeights& weights)
      : kernels_(cpu::kernels_for(cpu::best_isa(device.cpu))),
        panels_(*cpu::panel_kernels_for(device.cpu)),
        layout_(problem),
        hidden_(problem.shape.hidden),
        expert_width_(problem.shape.expert_width),
        top_k_(problem.shape.top_k),
        max_threads_(std::max(device.num_threads, 1)),
        experts_(problem.shape.num_experts, weights.ids),
        finish_(weights.ids.size()),
        packed_(experts_.count() * layout_.bytes) {
    ThreadPool threads(max_threads_);
    threads.for_chunks(experts_.count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t local = begin; local < end; ++local) pack(weights, local);
    });
  }

  int64_t workspace_bytes(int64_t num_tokens) const override { return workspace(num_tokens).total; }
  double activation_error() const override { return cpu::kActivationError; }

  void run(const RoutingTable& table, View2<const float> x, View2<float> y, std::span<std::byte> workspace_span,
           ThreadPool& threads) const override {
    OCTET_CHECK(table.num_tokens() == x.rows && x.rows == y.rows && x.cols == hidden_ && y.cols == hidden_);
    const WorkspaceLayout at = workspace(x.rows);
    OCTET_CHECK(static_cast<int64_t>(workspace_span.size()) >= at.total);
    std::byte* memory = workspace_span.data();
    const ExpertGroups groups = experts_.group(table, memory);
    if (groups.active.empty()) return;
    Step step{.groups = groups,
              .x = reinterpret_cast<uint8_t*>(memory + at.x),
              .inner = reinterpret_cast<uint8_t*>(memory + at.inner),
              .scratch = reinterpret_cast<uint8_t*>(memory + at.scratch)};
    prepare(x, step.x, threads);
    run_inner(step, threads);
    run_output(step, y, threads);
  }

 private:
  struct Step {
    ExpertGroups groups;
    uint8_t* x;        // [T] prepared rows of H
    uint8_t* inner;    // [rows] prepared rows of I
    uint8_t* scratch;  // one a thread
  };

  int64_t x_row_bytes() const { return cpu::prepared_bytes(hidden_); }
  int64_t inner_row_bytes() const { return cpu::prepared_bytes(expert_width_); }
  int64_t scratch_bytes() const { return cpu::scratch_bytes(std::max(hidden_, expert_width_)); }
  const uint8_t* expert(int64_t local) const { return packed_.as<uint8_t>() + local * layout_.bytes; }

  WorkspaceLayout workspace(int64_t num_tokens) const {
    WorkspaceLayout at{};
    at.x = experts_.group_bytes(num_tokens * top_k_);
    at.inner = at.x + num_tokens * x_row_bytes();
    at.scratch = cpu::round_up(at.inner + num_tokens * top_k_ * inner_row_bytes(), 64);
    at.total = at.scratch + max_threads_ * scratch_bytes();
    return at;
  }

  void pack(const ExpertWeights& weights, int64_t local) {
    const auto i = static_cast<size_t>(local);
    const WeightView &gate = weights.gate[i], &up = weights.up[i], &down = weights.down[i];
    OCTET_CHECK(gate.n == expert_width_ && gate.k == hidden_ && up.n == expert_width_ && up.k == hidden_);
    OCTET_CHECK(down.n == hidden_ && down.k == expert_width_);
    uint8_t* out = packed_.as<uint8_t>() + local * layout_.bytes;
    cpu::pack_panels(gate, out, 2 * layout_.inner_panel_bytes);
    cpu::pack_panels(up, out + layout_.inner_panel_bytes, 2 * layout_.inner_panel_bytes);
    cpu::pack_panels(down, out + layout_.down_begin, layout_.output_panel_bytes);
    finish_[i] = {cpu::panel_finish(gate), cpu::panel_finish(up), cpu::panel_finish(down)};
  }

  double work_ns(const ExpertGroups& groups, int64_t expert_bytes, int64_t matrices) const {
    return cpu::estimated_ns(static_cast<int64_t>(groups.active.size()) * expert_bytes,
                             2 * matrices * groups.num_rows() * hidden_ * expert_width_);
  }

  void prepare(View2<const float> x, uint8_t* out, ThreadPool& threads) const {
    cpu::for_items(threads, ceil_div(x.rows, kTokensPerItem), cpu::estimated_ns(6 * x.rows * x.cols, 0), max_threads_,
                   [&](int, int64_t item) {
                     const int64_t end = std::min(x.rows, (item + 1) * kTokensPerItem);
                     for (int64_t t = item * kTokensPerItem; t < end; ++t) {
                       panels_.prepare(x.row(t), hidden_, out + t * x_row_bytes());
                     }
                   });
  }

  /// inner[row] = silu(W_gate x) * (W_up x), prepared for the next product.
  void run_inner(const Step& step, ThreadPool& threads) const {
    const ExpertGroups& groups = step.groups;
    const int64_t ranges = ceil_div(layout_.inner_panels, kInnerPanels);
    const int64_t items = static_cast<int64_t>(groups.active.size()) * ranges;
    const auto panels_of = [&](int64_t item) {
      const int64_t local = groups.active[static_cast<size_t>(item / ranges)];
      return expert(local) + item % ranges * kInnerPanels * 2 * layout_.inner_panel_bytes;
    };
    cpu::for_items_ahead(
        threads, items, work_ns(groups, layout_.down_begin, 2), max_threads_,
        [&](int thread, int64_t item, int64_t following) {
          const auto local = static_cast<size_t>(groups.active[static_cast<size_t>(item / ranges)]);
          const int64_t begin = item % ranges * kInnerPanels;
          const int64_t count = std::min(kInnerPanels, layout_.inner_panels - begin);
          float sums[kTokenBlock * kInnerPanels * 2 * kPanelRows];
          for (int64_t row = groups.begins[local]; row < groups.begins[local + 1]; row += kTokenBlock) {
            PanelsArgs args{.format = layout_.gate_up,
                            .panels = panels_of(item),
                            .num_panels = 2 * count,
                            .k = hidden_,
                            .x = step.x,
                            .x_row_bytes = x_row_bytes(),
                            .rows = groups.tokens.data() + row,
                            .num_tokens = std::min<int64_t>(kTokenBlock, groups.begins[local + 1] - row),
                            .y = sums,
                            .y_stride = kInnerPanels * 2 * kPanelRows,
                            .scratch = step.scratch + thread * scratch_bytes(),
                            .next = following < items ? panels_of(following) : nullptr};
            panels_.panels(args);
            for (int64_t i = 0; i < args.num_tokens; ++i) {
              activate(finish_[local], begin, count, sums + i * args.y_stride,
                       step.inner + (row + i) * inner_row_bytes());
            }
          }
        });
  }

  /// Panels [begin, begin + count) of one row of `inner` from sums [count, gate and up, 16].
  void activate(const ExpertFinish& finish, int64_t begin, int64_t count, float* sums, uint8_t* inner) const {
    for (int64_t p = 0; p < count; ++p) {
      const int64_t row = (begin + p) * kPanelRows;
      const int64_t rows = std::min(kPanelRows, expert_width_ - row);
      float* gate = sums + p * 2 * kPanelRows;
      float* up = gate + kPanelRows;
      cpu::finish_rows(finish.gate, row, rows, gate);
      cpu::finish_rows(finish.up, row, rows, up);
      float values[kPanelRows] = {};
      kernels_.silu_mul(gate, up, values, rows);
      panels_.prepare_group(values, row, expert_width_, inner);
    }
    if (begin + count < layout_.inner_panels) return;
    // The product reads whole blocks.
    constexpr float kZeros[kPanelRows] = {};
    for (int64_t row = layout_.inner_panels * kPanelRows; row % cpu::kPanelBlock != 0; row += kPanelRows) {
      panels_.prepare_group(kZeros, row, expert_width_, inner);
    }
  }

  /// y[token] += weight * W_down inner[row], experts ascending.
  void run_output(const Step& step, View2<float> y, ThreadPool& threads) const {
    const ExpertGroups& groups = step.groups;
    const int64_t items = ceil_div(layout_.output_panels, kOutputPanels);
    const auto panels_of = [&](size_t active, int64_t item) {
      return expert(groups.active[active]) + layout_.down_begin + item * kOutputPanels * layout_.output_panel_bytes;
    };
    cpu::for_items_ahead(
        threads, items, work_ns(groups, layout_.bytes - layout_.down_begin, 1), max_threads_,
        [&](int thread, int64_t item, int64_t following) {
          const int64_t begin = item * kOutputPanels;
          const int64_t count = std::min(kOutputPanels, layout_.output_panels - begin);
          float sums[kTokenBlock * kOutputPanels * kPanelRows];
          for (size_t active = 0; active < groups.active.size(); ++active) {
            const auto local = static_cast<size_t>(groups.active[active]);
            const uint8_t* next = following < items ? panels_of(0, following) : nullptr;
            if (active + 1 < groups.active.size()) next = panels_of(active + 1, item);
            for (int64_t row = groups.begins[local]; row < groups.begins[local + 1]; row += kTokenBlock) {
              PanelsArgs args{.format = layout_.down,
                              .panels = panels_of(active, item),
                              .num_panels = count,
                              .k = expert_width_,
                              .x = step.inner + row * inner_row_bytes(),
                              .x_row_bytes = inner_row_bytes(),
                              .num_tokens = std::min<int64_t>(kTokenBlock, groups.begins[local + 1] - row),
                              .y = sums,
                              .y_stride = kOutputPanels * kPanelRows,
                              .scratch = step.scratch + thread * scratch_bytes(),
                              .next = next};
              panels_.panels(args);
              add_output(finish_[local].down, groups, row, begin * kPanelRows, args, y);
            }
          }
        });
  }

  /// Output rows from `begin` on of the tokens of rows [row, row + num_tokens).
  void add_output(const PanelFinish& finish, const ExpertGroups& groups, int64_t row, int64_t begin,
                  const PanelsArgs& args, View2<float> y) const {
    const int64_t count = std::min(args.num_panels * kPanelRows, hidden_ - begin);
    for (int64_t i = 0; i < args.num_tokens; ++i) {
      const auto r = static_cast<size_t>(row + i);
      float* part = args.y + i * args.y_stride;
      cpu::finish_rows(finish, begin, count, part);
      const float weight = groups.weights[r];
      float* to = y.row(groups.tokens[r]) + begin;
      for (int64_t n = 0; n < count; ++n) to[n] += weight * part[n];
    }
  }

  const cpu::CpuKernels& kernels_;
  const PanelKernels& panels_;
  ExpertLayout layout_;
  int64_t hidden_;
  int64_t expert_width_;
  int64_t top_k_;
  int max_threads_;  // that the workspace has scratch for
  LocalExperts experts_;
  std::vector<ExpertFinish> finish_;  // of each local expert
  Buffer packed_;
};

}  // namespace

std::optional<Refusal> refuse(const MoeProblem& problem, const DeviceInfo& device) {
  if (device.kind != DeviceKind::cpu) {
    return Refusal{Refusal::Code::instruction_set, "runs on the CPU, the device is " + device.name};
  }
  if (cpu::panel_kernels_for(device.cpu) == nullptr) {
    return Refusal{Refusal::Code::instruction_set, "needs AVX2 with FMA and F16C"};
  }
  if (problem.numerics == NumericsClass::int8) {
    return Refusal{Refusal::Code::numerics_class,
                   "multiplies activations wider than 8 bits, the engine's class is int8"};
  }
  if (problem.activation != Activation::silu) {
    return Refusal{Refusal::Code::activation, "computes silu, not " + std::string(to_string(problem.activation))};
  }
  for (const WeightFormat& format : {problem.gate_up, problem.down}) {
    if (!cpu::panel_format(format)) {
      return Refusal{Refusal::Code::format, "repacks NVFP4 (group 16) and MXFP4 (group 32), not " + describe(format)};
    }
  }
  return std::nullopt;
}

double predicted_us(const MoeProblem& problem, const DeviceInfo& device) { return expert_read_us(problem, device); }

PackedWeights packed(const MoeProblem& problem) {
  if (!cpu::panel_format(problem.gate_up) || !cpu::panel_format(problem.down)) return {};
  return {.name = "cpu.fp4_packed", .bytes = ExpertLayout(problem).bytes * problem.shape.num_experts};
}

std::unique_ptr<ExpertLayer> make(const MoeProblem& problem, const DeviceInfo& device, ExpertWeights weights) {
  return std::make_unique<Layer>(problem, device, weights);
}

}  // namespace octet::cpu_fp4_packed
