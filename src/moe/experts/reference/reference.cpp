#include "moe/experts/reference/reference.h"

#include <algorithm>
#include <cmath>

#include "numerics/dequantize.h"

namespace octet::reference_experts {
namespace {

/// y[n] = Σ_k w[n, k] * x[k], in double throughout.
std::vector<double> product(const WeightView& w, const std::vector<double>& x) {
  std::vector<double> row(static_cast<size_t>(w.k));
  std::vector<double> y(static_cast<size_t>(w.n));
  for (int64_t n = 0; n < w.n; ++n) {
    dequantize_row(w, n, row.data());
    double sum = bias_value(w, n);
    for (size_t k = 0; k < row.size(); ++k) sum += row[k] * x[k];
    y[static_cast<size_t>(n)] = sum;
  }
  return y;
}

class Layer final : public ExpertLayer {
 public:
  explicit Layer(ExpertWeights weights) : weights_(std::move(weights)) {}

  int64_t workspace_bytes(int64_t) const override { return 0; }

  void run(const RoutingTable& table, View2<const float> x, View2<float> y, std::span<std::byte>,
           ThreadPool& threads) const override {
    OCTET_CHECK(table.num_tokens() == x.rows && x.rows == y.rows);
    threads.for_chunks(x.rows, 1, [&](int64_t t, int64_t) {
      const std::vector<double> input(x.row(t), x.row(t) + x.cols);
      std::vector<double> sum(y.row(t), y.row(t) + y.cols);
      for (int64_t slot = t * table.top_k; slot < (t + 1) * table.top_k; ++slot) {
        const std::optional<size_t> expert = find(table.ids[static_cast<size_t>(slot)]);
        if (!expert) continue;
        const double weight = table.weights[static_cast<size_t>(slot)];
        std::vector<double> inner = product(weights_.gate[*expert], input);
        const std::vector<double> up = product(weights_.up[*expert], input);
        for (size_t i = 0; i < inner.size(); ++i) inner[i] = inner[i] / (1.0 + std::exp(-inner[i])) * up[i];
        const std::vector<double> output = product(weights_.down[*expert], inner);
        for (size_t h = 0; h < output.size(); ++h) sum[h] += weight * output[h];
      }
      for (int64_t h = 0; h < y.cols; ++h) y(t, h) = static_cast<float>(sum[static_cast<size_t>(h)]);
    });
  }

 private:
  /// Index into the weights of this rank; nullopt for padding and for experts of other ranks.
  std::optional<size_t> find(int32_t expert) const {
    const auto at = std::lower_bound(weights_.ids.begin(), weights_.ids.end(), ExpertId{expert});
    if (at == weights_.ids.end() || at->value != expert) return std::nullopt;
    return static_cast<size_t>(at - weights_.ids.begin());
  }

  ExpertWeights weights_;
};

}  // namespace

std::optional<Refusal> refuse(const MoeProblem& problem, const DeviceInfo& device) {
  if (device.kind != DeviceKind::cpu) {
    return Refusal{Refusal::Code::instruction_set, "runs on the CPU, the device is " + device.name};
  }
  if (problem.activation != Activation::silu) {
    return Refusal{Refusal::Code::activation, "computes silu, not " + std::string(to_string(problem.activation))};
  }
  return std::nullopt;
}

double predicted_us(const MoeProblem& problem, const DeviceInfo&) {
  // One multiplication with a dequantized weight takes about 2 ns of scalar double code.
  const MoeShape& s = problem.shape;
  return static_cast<double>(s.num_rows() * 3 * s.hidden * s.expert_width) * 2e-3;
}

PackedWeights packed(const MoeProblem&) { return {}; }

std::unique_ptr<ExpertLayer> make(const MoeProblem&, const DeviceInfo&, ExpertWeights weights) {
  return std::make_unique<Layer>(std::move(weights));
}

}  // namespace octet::reference_experts
