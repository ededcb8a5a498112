// kernels/ops.h — the operations that every forward pass is written in, outside attention and experts.
//
// There are two implementations: `reference` (plain loops, double accumulation; the definition) and `cpu` (vector code
// chosen at run time). All work on float activations, rows [T, ...] of the tokens of one step. On every implementation
// the result for a row depends on that row alone, never on how many other rows are in the call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/threads.h"
#include "numerics/weight.h"
#include "tensor/device_info.h"
#include "tensor/view.h"

namespace octet {

/// cos and sin of p * f_i for the positions of one step, and how elements are paired.
/// pairing  interleaved: (x[2i], x[2i+1]); half_split: (x[i], x[i + d/2])
struct RopeTable {
  enum class Pairing : uint8_t { interleaved, half_split };
  View2<const float> cos;  // [T, d/2], attention factor included
  View2<const float> sin;  // [T, d/2]
};

class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::string_view name() const = 0;  // "reference", "cpu.avx2", ...

  /// y[t, n] = bias[n] + Σ_k x[t, k] * w[n, k].   x [T, K], y [T, N] overwritten; they must not overlap.
  virtual void linear(View2<const float> x, const WeightView& w, View2<float> y) = 0;

  /// y[t, :] = row ids[t] of the embedding table w [V, H].
  virtual void embed(std::span<const TokenId> ids, const WeightView& w, View2<float> y) = 0;

  /// y[t] = weight * x[t] / sqrt(mean(x[t]^2) + eps).   weight [H]; y may be x.
  virtual void rms_norm(View2<const float> x, std::span<const float> weight, float eps, View2<float> y) = 0;

  /// y[t] = weight * (x[t] - mean) / sqrt(variance + eps) + bias, with the biased variance.   y may be x.
  virtual void layer_norm(View2<const float> x, std::span<const float> weight, std::span<const float> bias, float eps,
                          View2<float> y) = 0;

  /// Rotates elements [first, first + d) of every head of x in place, d = 2 * table columns.
  /// x [T, num_heads * head_dim]
  virtual void rope(View2<float> x, int64_t num_heads, int64_t first, const RopeTable& table,
                    RopeTable::Pairing pairing) = 0;

  /// y = silu(gate) * up, element by element; y may be gate.
  virtual void silu_mul(View2<const float> gate, View2<const float> up, View2<float> y) = 0;

  /// y += x.
  virtual void add(View2<const float> x, View2<float> y) = 0;
};

/// The definition. `threads` splits rows or outputs; results do not depend on it.
std::unique_ptr<Ops> make_reference_ops(ThreadPool& threads);

/// The fastest vector code that `device` can run (AVX-512, AVX2, or portable C++).
std::unique_ptr<Ops> make_cpu_ops(ThreadPool& threads, const DeviceInfo& device);

}  // namespace octet
