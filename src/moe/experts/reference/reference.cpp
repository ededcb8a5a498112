#include "moe/experts/reference/reference.h"

#include <cmath>

#include "numerics/dequantize.h"

namespace octet::reference_experts {
namespace {

/// y[r] = w x[r] for every row r, in double throughout. Each row of weights is dequantized once.
std::vector<std::vector<double>> product(const WeightView& w, const std::vector<std::vector<double>>& x) {
  std::vector<double> weights(static_cast<size_t>(w.k));
  std::vector<std::vector<double>> y(x.size(), std::vector<double>(static_cast<size_t>(w.n)));
  for (int64_t n = 0; n < w.n; ++n) {
    dequantize_row(w, n, weights.data());
    for (size_t r = 0; r < x.size(); ++r) {
      double sum = bias_value(w, n);
      for (size_t k = 0; k < weights.size(); ++k) sum += weights[k] * x[r][k];
      y[r][static_cast<size_t>(n)] = sum;
    }
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
    // Output of every (token, slot), so that a token's experts are added in the order of its slots.
    std::vector<std::vector<double>> outputs(table.ids.size());
    threads.for_chunks(static_cast<int64_t>(weights_.ids.size()), 1,
                       [&](int64_t expert, int64_t) { run_expert(static_cast<size_t>(expert), table, x, outputs); });
    for (int64_t t = 0; t < x.rows; ++t) {
      for (int64_t h = 0; h < y.cols; ++h) {
        double sum = y(t, h);
        for (int64_t slot = t * table.top_k; slot < (t + 1) * table.top_k; ++slot) {
          const std::vector<double>& output = outputs[static_cast<size_t>(slot)];
          if (output.empty()) continue;  // padding, or an expert of another rank
          sum += static_cast<double>(table.weights[static_cast<size_t>(slot)]) * output[static_cast<size_t>(h)];
        }
        y(t, h) = static_cast<float>(sum);
      }
    }
  }

 private:
  /// One expert for all tokens that visit it; writes their slots of `outputs`.
  void run_expert(size_t expert, const RoutingTable& table, View2<const float> x,
                  std::vector<std::vector<double>>& outputs) const {
    std::vector<size_t> slots;
    std::vector<std::vector<double>> inputs;
    for (size_t slot = 0; slot < table.ids.size(); ++slot) {
      if (table.ids[slot] != weights_.ids[expert].value) continue;
      const float* row = x.row(static_cast<int64_t>(slot) / table.top_k);
      slots.push_back(slot);
      inputs.emplace_back(row, row + x.cols);
    }
    if (slots.empty()) return;
    std::vector<std::vector<double>> inner = product(weights_.gate[expert], inputs);
    const std::vector<std::vector<double>> up = product(weights_.up[expert], inputs);
    for (size_t r = 0; r < inner.size(); ++r) {
      for (size_t i = 0; i < inner[r].size(); ++i)
        inner[r][i] = inner[r][i] / (1.0 + std::exp(-inner[r][i])) * up[r][i];
    }
    std::vector<std::vector<double>> down = product(weights_.down[expert], inner);
    for (size_t r = 0; r < slots.size(); ++r) outputs[slots[r]] = std::move(down[r]);
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
