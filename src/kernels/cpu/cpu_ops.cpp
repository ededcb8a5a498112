// The operations of kernels/ops.h over the vector kernels. Numerics class exact16: float activations and sums.
#include <string>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/weight_rows.h"
#include "kernels/ops.h"
#include "tensor/buffer.h"

namespace octet {
namespace {

using cpu::ceil_div;
using cpu::CpuWeight;
using cpu::estimated_ns;
using cpu::for_items;
using cpu::round_up;

constexpr int64_t kTokenBlock = 64;      // token rows that share one expansion of a weight panel
constexpr int64_t kItemsPerThread = 4;   // enough to even out threads that start late
constexpr int64_t kMinItemBytes = 8192;  // of weights: below, taking an item costs more than evenness gains

class CpuOps final : public Ops {
 public:
  CpuOps(ThreadPool& threads, const DeviceInfo& device)
      : threads_(threads),
        kernels_(cpu::kernels_for(cpu::best_isa(device.cpu))),
        name_(std::string("cpu.") + kernels_.name) {}

  std::string_view name() const override { return name_; }

  void linear(View2<const float> x, const WeightView& w, View2<float> y) override {
    OCTET_CHECK(x.cols == w.k && y.cols == w.n && y.rows == x.rows);
    if (x.rows == 0 || w.n == 0) return;
    const CpuWeight weight(w);
    const int64_t panel_rows = cpu::panel_rows(w.k);
    float* panels = panels_for(w.k);
    const int64_t rows = rows_per_item(w, std::min(panel_rows, w.n));
    const int64_t row_items = ceil_div(w.n, rows);
    const int64_t token_items = ceil_div(x.rows, kTokenBlock);
    const double work_ns = estimated_ns(stored_bytes(w), 2 * x.rows * w.n * w.k);
    for_items(threads_, row_items * token_items, work_ns, threads_.num_threads(), [&](int thread, int64_t item) {
      const int64_t begin = item / token_items * rows;
      const int64_t token = item % token_items * kTokenBlock;
      weight.rows(kernels_,
                  {.begin = begin,
                   .end = std::min(begin + rows, w.n),
                   .x = x.row(token),
                   .x_stride = x.stride,
                   .num_tokens = std::min(kTokenBlock, x.rows - token),
                   .y = y.row(token) + begin,
                   .y_stride = y.stride,
                   .panel = panels + thread * cpu::panel_floats(w.k),
                   .panel_rows = panel_rows},
                  /*with_bias=*/true);
    });
  }

  void embed(std::span<const TokenId> ids, const WeightView& w, View2<float> y) override {
    const CpuWeight weight(w);
    for_rows(y, [&](int64_t t) {
      const int64_t row = ids[static_cast<size_t>(t)].value;
      weight.expand(kernels_, row, row + 1, y.row(t));
    });
  }

  void rms_norm(View2<const float> x, std::span<const float> weight, float eps, View2<float> y) override {
    for_rows(y, [&](int64_t t) { kernels_.rms_norm(x.row(t), weight.data(), eps, y.row(t), x.cols); });
  }

  void layer_norm(View2<const float> x, std::span<const float> weight, std::span<const float> bias, float eps,
                  View2<float> y) override {
    for_rows(y, [&](int64_t t) { kernels_.layer_norm(x.row(t), weight.data(), bias.data(), eps, y.row(t), x.cols); });
  }

  void rope(View2<float> x, int64_t num_heads, int64_t first, const RopeTable& table,
            RopeTable::Pairing pairing) override {
    const int64_t half = table.cos.cols;
    const int64_t head_dim = num_heads == 0 ? 0 : x.cols / num_heads;
    const bool interleaved = pairing == RopeTable::Pairing::interleaved;
    const int64_t step = interleaved ? 2 : 1;      // from one pair to the next
    const int64_t apart = interleaved ? 1 : half;  // between the elements of a pair
    for_rows(x, [&](int64_t t) {
      const float* cos = table.cos.row(t);
      const float* sin = table.sin.row(t);
      for (int64_t h = 0; h < num_heads; ++h) {
        float* a = x.row(t) + h * head_dim + first;
        float* b = a + apart;
        for (int64_t i = 0; i < half; ++i) {
          const float u = a[i * step];
          const float v = b[i * step];
          a[i * step] = u * cos[i] - v * sin[i];
          b[i * step] = v * cos[i] + u * sin[i];
        }
      }
    });
  }

  void silu_mul(View2<const float> gate, View2<const float> up, View2<float> y) override {
    for_rows(y, [&](int64_t t) { kernels_.silu_mul(gate.row(t), up.row(t), y.row(t), y.cols); });
  }

  void add(View2<const float> x, View2<float> y) override {
    for_rows(y, [&](int64_t t) {
      const float* from = x.row(t);
      float* to = y.row(t);
      for (int64_t i = 0; i < y.cols; ++i) to[i] += from[i];
    });
  }

 private:
  /// Element-wise work: body(t) for every row of y.
  template <class Body>
  void for_rows(View2<float> y, const Body& body) {
    const int64_t rows = std::max<int64_t>(kMinItemBytes / std::max<int64_t>(4 * y.cols, 1), 1);
    const double work_ns = estimated_ns(8 * y.rows * y.cols, 0);
    for_items(threads_, ceil_div(y.rows, rows), work_ns, threads_.num_threads(), [&](int, int64_t item) {
      for (int64_t t = item * rows; t < std::min(y.rows, (item + 1) * rows); ++t) body(t);
    });
  }

  int64_t rows_per_item(const WeightView& w, int64_t most) const {
    const int64_t even = ceil_div(w.n, kItemsPerThread * threads_.num_threads());
    const int64_t least = ceil_div(kMinItemBytes, std::max<int64_t>(w.code_row_bytes, 1));
    return std::min(round_up(std::max(even, least), cpu::kRowsPerTile), round_up(most, cpu::kRowsPerTile));
  }

  /// One panel a thread for products over k columns. Grows with the widest weight seen.
  float* panels_for(int64_t k) {
    const int64_t bytes = threads_.num_threads() * cpu::panel_floats(k) * static_cast<int64_t>(sizeof(float));
    if (panels_.bytes() < bytes) panels_ = Buffer(bytes);
    return panels_.as<float>();
  }

  ThreadPool& threads_;
  const cpu::CpuKernels& kernels_;
  std::string name_;
  Buffer panels_;
};

}  // namespace

std::unique_ptr<Ops> make_cpu_ops(ThreadPool& threads, const DeviceInfo& device) {
  return std::make_unique<CpuOps>(threads, device);
}

}  // namespace octet
