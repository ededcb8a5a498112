#include "moe/experts/cpu/rows.h"

#include <algorithm>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/weight_rows.h"
#include "moe/experts/bound.h"
#include "moe/experts/cpu/groups.h"

namespace octet::cpu_rows {
namespace {

using cpu::ceil_div;
using cpu::CpuKernels;
using cpu::CpuWeight;

constexpr int64_t kTokenBlock = 64;  // tokens of one expert that share an expansion of its weights
constexpr int64_t kInnerRows = 64;   // inner rows (gate and up) of an item
constexpr int64_t kOutputRows = 32;  // output rows of an item

/// Offsets of the parts of the workspace, in bytes.
struct WorkspaceLayout {
  WorkspaceLayout(int64_t group_bytes, int64_t num_rows, int64_t expert_width, int64_t panel_bytes, int64_t threads) {
    groups = take(group_bytes, 1);
    inner = take(num_rows * expert_width, sizeof(float));
    panels = take(threads * panel_bytes, 1);
  }
  int64_t groups, inner, panels;
  int64_t total = 0;

 private:
  int64_t take(int64_t count, size_t element) {
    const int64_t begin = total;
    total += cpu::round_up(count * static_cast<int64_t>(element), 64);
    return begin;
  }
};

class Layer final : public ExpertLayer {
 public:
  Layer(const MoeProblem& problem, const DeviceInfo& device, ExpertWeights weights)
      : kernels_(cpu::kernels_for(cpu::best_isa(device.cpu))),
        hidden_(problem.shape.hidden),
        expert_width_(problem.shape.expert_width),
        top_k_(problem.shape.top_k),
        max_threads_(std::max(device.num_threads, 1)),
        panel_floats_(cpu::panel_floats(std::max(hidden_, expert_width_))),
        experts_(problem.shape.num_experts, weights.ids) {
    for (size_t i = 0; i < weights.ids.size(); ++i) {
      gate_.emplace_back(weights.gate[i]);
      up_.emplace_back(weights.up[i]);
      down_.emplace_back(weights.down[i]);
      OCTET_CHECK(weights.gate[i].n == expert_width_ && weights.gate[i].k == hidden_);
      OCTET_CHECK(weights.up[i].n == expert_width_ && weights.up[i].k == hidden_);
      OCTET_CHECK(weights.down[i].n == hidden_ && weights.down[i].k == expert_width_);
    }
  }

  int64_t workspace_bytes(int64_t num_tokens) const override { return layout(num_tokens * top_k_).total; }

  void run(const RoutingTable& table, View2<const float> x, View2<float> y, std::span<std::byte> workspace,
           ThreadPool& threads) const override {
    OCTET_CHECK(table.num_tokens() == x.rows && x.rows == y.rows && x.cols == hidden_ && y.cols == hidden_);
    const WorkspaceLayout at = layout(static_cast<int64_t>(table.ids.size()));
    OCTET_CHECK(static_cast<int64_t>(workspace.size()) >= at.total);
    const ExpertGroups groups = experts_.group(table, workspace.data() + at.groups);
    if (groups.active.empty()) return;
    const View2<float> inner(reinterpret_cast<float*>(workspace.data() + at.inner), groups.num_rows(), expert_width_);
    float* panels = reinterpret_cast<float*>(workspace.data() + at.panels);
    run_inner(groups, x, inner, panels, threads);
    run_output(groups, inner, y, panels, threads);
  }

 private:
  WorkspaceLayout layout(int64_t num_rows) const {
    return {experts_.group_bytes(num_rows), num_rows, expert_width_,
            panel_floats_ * static_cast<int64_t>(sizeof(float)), max_threads_};
  }

  double work_ns(const ExpertGroups& groups, int matrices) const {
    int64_t bytes = 0;
    for (const int32_t local : groups.active)
      bytes += matrices * stored_bytes(down_[static_cast<size_t>(local)].view());
    return cpu::estimated_ns(bytes, 2 * matrices * groups.num_rows() * hidden_ * expert_width_);
  }

  /// inner[row] = silu(W_gate x) * (W_up x).
  void run_inner(const ExpertGroups& groups, View2<const float> x, View2<float> inner, float* panels,
                 ThreadPool& threads) const {
    const int64_t ranges = ceil_div(expert_width_, kInnerRows);
    const int64_t items = static_cast<int64_t>(groups.active.size()) * ranges;
    cpu::for_items(threads, items, work_ns(groups, 2), max_threads_, [&](int thread, int64_t item) {
      const auto local = static_cast<size_t>(groups.active[static_cast<size_t>(item / ranges)]);
      const int64_t begin = item % ranges * kInnerRows;
      const int64_t end = std::min(begin + kInnerRows, expert_width_);
      float gate[kTokenBlock * kInnerRows];
      float up[kTokenBlock * kInnerRows];
      for (int64_t row = groups.begins[local]; row < groups.begins[local + 1]; row += kTokenBlock) {
        const int64_t count = std::min<int64_t>(kTokenBlock, groups.begins[local + 1] - row);
        cpu::RowsArgs args{.begin = begin,
                           .end = end,
                           .x = x.data,
                           .x_stride = x.stride,
                           .x_rows = groups.tokens.data() + row,
                           .num_tokens = count,
                           .y = gate,
                           .y_stride = kInnerRows,
                           .panel = panels + thread * panel_floats_,
                           .panel_rows = cpu::panel_rows(hidden_)};
        gate_[local].rows(kernels_, args, /*with_bias=*/true);
        args.y = up;
        up_[local].rows(kernels_, args, /*with_bias=*/true);
        for (int64_t i = 0; i < count; ++i) {
          kernels_.silu_mul(gate + i * kInnerRows, up + i * kInnerRows, inner.row(row + i) + begin, end - begin);
        }
      }
    });
  }

  /// y[token] += weight * W_down inner[row], experts ascending.
  void run_output(const ExpertGroups& groups, View2<const float> inner, View2<float> y, float* panels,
                  ThreadPool& threads) const {
    const int64_t items = ceil_div(hidden_, kOutputRows);
    cpu::for_items(threads, items, work_ns(groups, 1), max_threads_, [&](int thread, int64_t item) {
      const int64_t begin = item * kOutputRows;
      const int64_t end = std::min(begin + kOutputRows, hidden_);
      float part[kTokenBlock * kOutputRows];
      for (const int32_t active : groups.active) {
        const auto local = static_cast<size_t>(active);
        for (int64_t row = groups.begins[local]; row < groups.begins[local + 1]; row += kTokenBlock) {
          const int64_t count = std::min<int64_t>(kTokenBlock, groups.begins[local + 1] - row);
          down_[local].rows(kernels_,
                            {.begin = begin,
                             .end = end,
                             .x = inner.row(row),
                             .x_stride = inner.stride,
                             .num_tokens = count,
                             .y = part,
                             .y_stride = kOutputRows,
                             .panel = panels + thread * panel_floats_,
                             .panel_rows = cpu::panel_rows(expert_width_)},
                            /*with_bias=*/true);
          for (int64_t i = 0; i < count; ++i) {
            const auto r = static_cast<size_t>(row + i);
            float* to = y.row(groups.tokens[r]);
            for (int64_t n = begin; n < end; ++n) to[n] += groups.weights[r] * part[i * kOutputRows + n - begin];
          }
        }
      }
    });
  }

  const CpuKernels& kernels_;
  int64_t hidden_;
  int64_t expert_width_;
  int64_t top_k_;
  int max_threads_;       // that the workspace has panels for
  int64_t panel_floats_;  // of one thread
  LocalExperts experts_;
  std::vector<CpuWeight> gate_;
  std::vector<CpuWeight> up_;
  std::vector<CpuWeight> down_;
};

}  // namespace

std::optional<Refusal> refuse(const MoeProblem& problem, const DeviceInfo& device) {
  if (device.kind != DeviceKind::cpu) {
    return Refusal{Refusal::Code::instruction_set, "runs on the CPU, the device is " + device.name};
  }
  if (problem.numerics == NumericsClass::int8) {
    return Refusal{Refusal::Code::numerics_class,
                   "multiplies activations wider than 8 bits, the engine's class is int8"};
  }
  if (problem.activation != Activation::silu) {
    return Refusal{Refusal::Code::activation, "computes silu, not " + std::string(to_string(problem.activation))};
  }
  for (const WeightFormat& format : {problem.gate_up, problem.down}) {
    if (!cpu::reads_in_place(format)) {
      return Refusal{Refusal::Code::format,
                     "reads F32, F16, BF16 and FP4 with one scale byte a block, not " + describe(format)};
    }
  }
  return std::nullopt;
}

double predicted_us(const MoeProblem& problem, const DeviceInfo& device) { return expert_read_us(problem, device); }

PackedWeights packed(const MoeProblem&) { return {}; }

std::unique_ptr<ExpertLayer> make(const MoeProblem& problem, const DeviceInfo& device, ExpertWeights weights) {
  return std::make_unique<Layer>(problem, device, std::move(weights));
}

}  // namespace octet::cpu_rows
