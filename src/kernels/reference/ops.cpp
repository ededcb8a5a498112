// The definition of every operation of kernels/ops.h: plain loops, double sums, results stored as float.

#include "kernels/ops.h"

#include <cmath>
#include <vector>

#include "numerics/dequantize.h"

namespace octet {
namespace {

class ReferenceOps final : public Ops {
 public:
  explicit ReferenceOps(ThreadPool& threads) : threads_(threads) {}

  std::string_view name() const override { return "reference"; }

  void linear(View2<const float> x, const WeightView& w, View2<float> y) override {
    OCTET_CHECK(x.cols == w.k && y.cols == w.n && x.rows == y.rows);
    threads_.for_chunks(w.n, kOutputsPerChunk, [&](int64_t begin, int64_t end) {
      std::vector<double> weights(static_cast<size_t>(w.k));  // [K]
      for (int64_t n = begin; n < end; ++n) {
        dequantize_row(w, n, weights.data());
        const double bias = bias_value(w, n);
        for (int64_t t = 0; t < x.rows; ++t) {
          double sum = 0;
          for (int64_t k = 0; k < w.k; ++k) sum += weights[static_cast<size_t>(k)] * static_cast<double>(x(t, k));
          y(t, n) = static_cast<float>(bias + sum);
        }
      }
    });
  }

  void embed(std::span<const TokenId> ids, const WeightView& w, View2<float> y) override {
    OCTET_CHECK(y.rows == static_cast<int64_t>(ids.size()) && y.cols == w.k);
    std::vector<double> row(static_cast<size_t>(w.k));
    for (int64_t t = 0; t < y.rows; ++t) {
      const int32_t id = ids[static_cast<size_t>(t)].value;
      OCTET_CHECK(id >= 0 && id < w.n);
      dequantize_row(w, id, row.data());
      for (int64_t k = 0; k < w.k; ++k) y(t, k) = static_cast<float>(row[static_cast<size_t>(k)]);
    }
  }

  void rms_norm(View2<const float> x, std::span<const float> weight, float eps, View2<float> y) override {
    OCTET_CHECK(x.cols == static_cast<int64_t>(weight.size()) && y.cols == x.cols && y.rows == x.rows);
    for (int64_t t = 0; t < x.rows; ++t) {
      double squares = 0;
      for (int64_t k = 0; k < x.cols; ++k) squares += static_cast<double>(x(t, k)) * static_cast<double>(x(t, k));
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(x.cols) + static_cast<double>(eps));
      for (int64_t k = 0; k < x.cols; ++k) {
        y(t, k) = static_cast<float>(static_cast<double>(weight[static_cast<size_t>(k)]) * (x(t, k) * factor));
      }
    }
  }

  void layer_norm(View2<const float> x, std::span<const float> weight, std::span<const float> bias, float eps,
                  View2<float> y) override {
    OCTET_CHECK(x.cols == static_cast<int64_t>(weight.size()) && weight.size() == bias.size());
    for (int64_t t = 0; t < x.rows; ++t) {
      double sum = 0;
      for (int64_t k = 0; k < x.cols; ++k) sum += x(t, k);
      const double mean = sum / static_cast<double>(x.cols);
      double squares = 0;
      for (int64_t k = 0; k < x.cols; ++k) squares += (x(t, k) - mean) * (x(t, k) - mean);
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(x.cols) + static_cast<double>(eps));
      for (int64_t k = 0; k < x.cols; ++k) {
        const auto i = static_cast<size_t>(k);
        y(t, k) = static_cast<float>((x(t, k) - mean) * factor * static_cast<double>(weight[i]) +
                                     static_cast<double>(bias[i]));
      }
    }
  }

  void rope(View2<float> x, int64_t num_heads, int64_t first, const RopeTable& table,
            RopeTable::Pairing pairing) override {
    const int64_t head_dim = x.cols / num_heads;
    const int64_t half = table.cos.cols;
    OCTET_CHECK(head_dim * num_heads == x.cols && first + 2 * half <= head_dim && table.cos.rows == x.rows);
    const bool interleaved = pairing == RopeTable::Pairing::interleaved;
    for (int64_t t = 0; t < x.rows; ++t) {
      for (int64_t head = 0; head < num_heads; ++head) {
        float* v = x.row(t) + head * head_dim + first;
        for (int64_t i = 0; i < half; ++i) {
          float& a = v[interleaved ? 2 * i : i];
          float& b = v[interleaved ? 2 * i + 1 : i + half];
          const double cos = table.cos(t, i), sin = table.sin(t, i);
          const double rotated_a = a * cos - b * sin;
          const double rotated_b = b * cos + a * sin;
          a = static_cast<float>(rotated_a);
          b = static_cast<float>(rotated_b);
        }
      }
    }
  }

  void silu_mul(View2<const float> gate, View2<const float> up, View2<float> y) override {
    OCTET_CHECK(gate.rows == up.rows && gate.cols == up.cols && y.cols == gate.cols);
    for (int64_t t = 0; t < gate.rows; ++t) {
      for (int64_t i = 0; i < gate.cols; ++i) {
        const double g = gate(t, i);
        y(t, i) = static_cast<float>(g / (1.0 + std::exp(-g)) * static_cast<double>(up(t, i)));
      }
    }
  }

  void add(View2<const float> x, View2<float> y) override {
    OCTET_CHECK(x.rows == y.rows && x.cols == y.cols);
    for (int64_t t = 0; t < x.rows; ++t) {
      for (int64_t i = 0; i < x.cols; ++i) y(t, i) += x(t, i);
    }
  }

 private:
  static constexpr int64_t kOutputsPerChunk = 16;

  ThreadPool& threads_;
};

}  // namespace

std::unique_ptr<Ops> make_reference_ops(ThreadPool& threads) { return std::make_unique<ReferenceOps>(threads); }

}  // namespace octet
