// kernels/cpu/cpu_kernels.h — the vector kernels of the CPU path behind one table of functions per instruction set.
//
// Every kernel is written once over a vector of 16 floats (kernels_impl.h) and compiled three times: for AVX-512, for
// AVX2 with FMA and F16C, and as portable C++. This header is all that those files include of octet, so it holds plain
// data only: an inline function compiled with their flags could end up being called on a lesser machine.
//
// Fixed order: element k of a product goes to lane k % 16; each lane adds its elements from k = 0 on in float with one
// fused multiply-add each; the lanes are then added in the tree (i, i + 8), (i, i + 4), (i, i + 2), (i, i + 1). This
// does not depend on the number of rows or on how work is split, so a row has the same bits in every batch. AVX2 and
// AVX-512 agree bit for bit; portable C++ differs in that it rounds the product, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::cpu {

/// Codes that a kernel expands in registers.
enum class Code : uint8_t { f32, f16, bf16, e2m1 };

/// A weight matrix in place. Pointers need no alignment.
struct WeightRows {
  Code code = Code::f32;
  int32_t scale_shift = 4;  // e2m1: column k takes scale k >> scale_shift of its row; at least 4
  int64_t k = 0;            // K
  const uint8_t* codes = nullptr;
  int64_t code_row_bytes = 0;
  const uint8_t* scales = nullptr;  // e2m1: one byte a scale
  int64_t scale_row_bytes = 0;
  const float* scale_values = nullptr;  // [256] what each scale byte stands for
  float factor = 1.0f;                  // of every product
};

/// y[t, n - begin] = factor * Σ_k x[row(t), k] * w[n, k] for n in [begin, end), t in [0, num_tokens).
/// row(t) is x_rows[t], or t where x_rows is null.
struct RowsArgs {
  WeightRows w;
  int64_t begin = 0;
  int64_t end = 0;
  const float* x = nullptr;
  int64_t x_stride = 0;
  const int32_t* x_rows = nullptr;
  int64_t num_tokens = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  float* panel = nullptr;  // [panel_rows, K] scratch for more than one token of a code other than f32
  int64_t panel_rows = 0;  // a multiple of kRowsPerTile
};

inline constexpr int64_t kRowsPerTile = 4;  // weight rows that a kernel walks at once

/// y[t, c] = keep[t] * y[t, c] + Σ_j x[t, j] * rows[j, c], added from j = 0 on. keep null: y is overwritten.
struct WeightedSumArgs {
  const float* x = nullptr;
  int64_t x_stride = 0;
  int64_t num_tokens = 0;
  const float* rows = nullptr;
  int64_t row_stride = 0;
  int64_t num_rows = 0;
  const float* keep = nullptr;
  float* y = nullptr;
  int64_t y_stride = 0;
  int64_t width = 0;
};

inline constexpr int64_t kKeyBlock = 64;  // keys of one step of the online softmax

struct CpuKernels {
  const char* name;  // "avx512", "avx2", "portable"

  void (*rows)(const RowsArgs&);

  /// out[(n - begin) * K + k] = w[n, k] without the factor. Exact.
  void (*expand)(const WeightRows& w, int64_t begin, int64_t end, float* out);

  void (*weighted_sum)(const WeightedSumArgs&);

  /// One block of an online softmax: raises *max to the largest of scores [n], n in [1, kKeyBlock], replaces scores by
  /// exp(score - *max), and brings *sum up to date. scores has room for kKeyBlock values.
  /// Returns exp(old max - new max), which earlier sums must be multiplied by.
  float (*softmax_block)(float* scores, int64_t n, float* max, float* sum);

  /// out[i] = Σ_h weights[h] * max(0, dots[h * dots_stride + i]) for i in [0, n), added from h = 0 on.
  void (*relu_sum)(const float* dots, int64_t dots_stride, const float* weights, int64_t heads, float* out, int64_t n);

  /// y = silu(gate) * up; y may be gate. About 3 ulp.
  void (*silu_mul)(const float* gate, const float* up, float* y, int64_t n);

  /// y = weight * x / sqrt(mean(x^2) + eps); y may be x.
  void (*rms_norm)(const float* x, const float* weight, float eps, float* y, int64_t n);

  /// y = weight * (x - mean) / sqrt(variance + eps) + bias; y may be x.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, float* y, int64_t n);
};

/// Kernels of one instruction set; null if this build has none (another architecture).
const CpuKernels* portable_kernels();
const CpuKernels* avx2_kernels();
const CpuKernels* avx512_kernels();

}  // namespace octet::cpu
