// numerics/weight.h — the canonical form of a linear layer's weight, whatever format its checkpoint uses.
//
//   y[t, n] = bias[n] + Σ_k x[t, k] * w[n, k]
//   w[n, k] = (value(code[n, k]) - zero_point) * scale[n / block_rows, k / block_columns] * global
//
// Checkpoint readers translate published formats into this; kernels read it in place or repack it. A kernel handles the
// subset that it declares and refuses the rest; numerics/dequantize.h handles all of it and is the definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/view.h"

namespace octet {

/// How one weight is stored.
enum class CodeType : uint8_t { f32, f16, bf16, f8_e4m3, fp4_e2m1 };

/// How a block's scale is stored. e8m0 is 2^(byte - 127).
enum class ScaleType : uint8_t { none, e4m3, e8m0, f32, bf16 };

/// ModelOpt multiplies by its global scale, compressed-tensors divides by it.
enum class GlobalScale : uint8_t { multiply, divide };

/// The part of a weight's form that kernels are chosen by.
struct WeightFormat {
  CodeType code = CodeType::bf16;
  ScaleType scale = ScaleType::none;
  int32_t block_rows = 1;     // weights that share a scale: rows ...
  int32_t block_columns = 1;  // ... by columns; 16 for NVFP4, 32 for MXFP4, 128 x 128 for block FP8
  GlobalScale global = GlobalScale::multiply;
  bool zero_points = false;
  bool permuted = false;  // columns are stored in another order than the activation's
  bool operator==(const WeightFormat&) const = default;
};

inline constexpr WeightFormat kF32Weight{.code = CodeType::f32};
inline constexpr WeightFormat kF16Weight{.code = CodeType::f16};
inline constexpr WeightFormat kBf16Weight{.code = CodeType::bf16};
inline constexpr WeightFormat kNvfp4Weight{
    .code = CodeType::fp4_e2m1, .scale = ScaleType::e4m3, .block_rows = 1, .block_columns = 16};
inline constexpr WeightFormat kMxfp4Weight{
    .code = CodeType::fp4_e2m1, .scale = ScaleType::e8m0, .block_rows = 1, .block_columns = 32};

/// One linear weight [N, K]. Plain data that points into memory owned by a checkpoint or a packed-weights object.
/// Pointers need no alignment: safetensors promises none.
struct WeightView {
  WeightFormat format;
  int64_t n = 0;                      // N  outputs
  int64_t k = 0;                      // K  inputs
  const std::byte* codes = nullptr;   // row n starts at n * code_row_bytes; FP4: column 2j is the low nibble of byte j
  int64_t code_row_bytes = 0;         // larger than a row's size where rows of two matrices are interleaved
  const std::byte* scales = nullptr;  // row n / block_rows starts at that index * scale_row_bytes
  int64_t scale_row_bytes = 0;
  float global_scale = 1.0f;               // applied as format.global says
  const std::byte* zero_points = nullptr;  // if format.zero_points: one float a scale, laid out like the scales
  const int32_t* permutation = nullptr;    // if format.permuted: [K] stored column j multiplies x[permutation[j]]
  const std::byte* bias = nullptr;         // [N] of bias_code, or null
  CodeType bias_code = CodeType::bf16;

  bool empty() const { return codes == nullptr; }
};

/// Bytes of codes, scales, zero points, permutation and bias that one pass over the weight reads.
int64_t stored_bytes(const WeightView& w);

/// Bits of one code: 4, 8, 16 or 32.
constexpr int32_t code_bits(CodeType code) {
  switch (code) {
    case CodeType::f32:
      return 32;
    case CodeType::f16:
    case CodeType::bf16:
      return 16;
    case CodeType::f8_e4m3:
      return 8;
    case CodeType::fp4_e2m1:
      return 4;
  }
  return 0;
}

/// Bytes of one scale: 0, 1, 2 or 4.
constexpr int32_t scale_bytes(ScaleType scale) {
  switch (scale) {
    case ScaleType::none:
      return 0;
    case ScaleType::e4m3:
    case ScaleType::e8m0:
      return 1;
    case ScaleType::bf16:
      return 2;
    case ScaleType::f32:
      return 4;
  }
  return 0;
}

/// Rows [begin, begin + count) of w, in place: a column-parallel rank's share. count and begin must be multiples of
/// format.block_rows unless they end the matrix; otherwise throws Error(bad_shape).
WeightView slice_rows(const WeightView& w, int64_t begin, int64_t count);

/// Columns [begin, begin + count) of w, in place: a row-parallel rank's share (without the bias, which rank 0 adds).
/// Both must be multiples of format.block_columns and of whole bytes of codes, unless the part ends the matrix;
/// otherwise, and for permuted columns, throws Error(bad_shape).
WeightView slice_columns(const WeightView& w, int64_t begin, int64_t count);

/// For people: "NVFP4", "MXFP4", "BF16", "FP8 with F32 scales a 128 x 128 block", ...
std::string describe(const WeightFormat& format);

}  // namespace octet
