// kernels/cpu/weight_rows.h — canonical weights as the CPU kernels take them.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/cpu/cpu_kernels.h"
#include "numerics/weight.h"

namespace octet::cpu {

/// True if the kernels read this format in place: plain F32, F16, BF16, and FP4 with E4M3 or E8M0 scales on blocks of
/// one row by a power of two of at least 16 columns, without zero points or permutation.
bool reads_in_place(const WeightFormat& format);

/// A weight bound to the CPU kernels. Formats that they do not read are expanded row by row through dequantize_row: as
/// exact as float, and slow.
class CpuWeight {
 public:
  explicit CpuWeight(const WeightView& w);

  const WeightView& view() const { return view_; }

  /// y[t, n - begin] = Σ_k x[row(t), k] * w[n, k] (+ bias[n] if with_bias) for n in [begin, end): RowsArgs without w.
  /// args.panel must be given, also for a single token.
  void rows(const CpuKernels& kernels, RowsArgs args, bool with_bias) const;

  /// out[(n - begin) * K + k] = w[n, k].
  void expand(const CpuKernels& kernels, int64_t begin, int64_t end, float* out) const;

 private:
  WeightView view_;
  std::optional<WeightRows> rows_;  // none: not read in place
};

/// Floats of one thread's panel for products over K columns: 256 KiB, so that it stays in a second-level cache beside
/// the activations, but always room for one tile.
constexpr int64_t panel_floats(int64_t k) {
  constexpr int64_t kPanelFloats = 65536;
  return std::max(kPanelFloats, kRowsPerTile * k);
}

/// Whole tiles of rows that such a panel holds.
constexpr int64_t panel_rows(int64_t k) {
  return std::max<int64_t>(panel_floats(k) / std::max<int64_t>(k, 1) / kRowsPerTile, 1) * kRowsPerTile;
}

}  // namespace octet::cpu
