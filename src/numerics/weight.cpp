#include "numerics/weight.h"

#include "base/error.h"

namespace octet {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string_view name(CodeType code) {
  switch (code) {
    case CodeType::f32:
      return "F32";
    case CodeType::f16:
      return "F16";
    case CodeType::bf16:
      return "BF16";
    case CodeType::f8_e4m3:
      return "FP8";
    case CodeType::fp4_e2m1:
      return "FP4";
  }
  return "?";
}

std::string_view name(ScaleType scale) {
  switch (scale) {
    case ScaleType::none:
      return "no";
    case ScaleType::e4m3:
      return "E4M3";
    case ScaleType::e8m0:
      return "E8M0";
    case ScaleType::f32:
      return "F32";
    case ScaleType::bf16:
      return "BF16";
  }
  return "?";
}

// A slice starts on a block of `step` and ends on one, or at the end of the matrix.
void check_slice(std::string_view what, int64_t begin, int64_t count, int64_t size, int64_t step) {
  if (begin < 0 || count < 0 || begin > size - count) {
    fail(ErrorCode::bad_shape, "weight: expected ", what, " inside [0, ", size, "), got ", count, " from ", begin);
  }
  const bool whole = begin % step == 0 && (count % step == 0 || begin + count == size);
  if (!whole) {
    fail(ErrorCode::bad_shape, "weight: expected ", what, " in whole blocks of ", step, ", got ", count, " from ",
         begin, " of ", size, "; use a number of ranks that divides ", size / step, " blocks");
  }
}

}  // namespace

int64_t stored_bytes(const WeightView& w) {
  const WeightFormat& format = w.format;
  int64_t bytes = w.n * ceil_div(w.k * code_bits(format.code), 8);
  if (format.scale != ScaleType::none) {
    const int64_t num_scales = ceil_div(w.n, format.block_rows) * ceil_div(w.k, format.block_columns);
    const int64_t zero_point_bytes = format.zero_points ? int64_t{sizeof(float)} : 0;
    bytes += num_scales * (scale_bytes(format.scale) + zero_point_bytes);
  }
  if (format.permuted) bytes += w.k * int64_t{sizeof(int32_t)};
  if (w.bias != nullptr) bytes += w.n * (code_bits(w.bias_code) / 8);
  return bytes;
}

WeightView slice_rows(const WeightView& w, int64_t begin, int64_t count) {
  const int64_t block_rows = w.format.block_rows;
  check_slice("rows", begin, count, w.n, block_rows);
  WeightView part = w;
  part.n = count;
  if (w.empty()) return part;
  part.codes += begin * w.code_row_bytes;
  if (w.scales != nullptr) part.scales += begin / block_rows * w.scale_row_bytes;
  if (w.zero_points != nullptr) {
    const int64_t scales_a_row = w.scale_row_bytes / scale_bytes(w.format.scale);
    part.zero_points += begin / block_rows * scales_a_row * int64_t{sizeof(float)};
  }
  if (w.bias != nullptr) part.bias += begin * (code_bits(w.bias_code) / 8);
  return part;
}

WeightView slice_columns(const WeightView& w, int64_t begin, int64_t count) {
  const int64_t block_columns = w.format.block_columns;
  const int64_t codes_a_byte = w.format.code == CodeType::fp4_e2m1 ? 2 : 1;
  // Every block here is 1 or even, so the larger of the two is a multiple of both.
  check_slice("columns", begin, count, w.k, block_columns > codes_a_byte ? block_columns : codes_a_byte);
  if (w.format.permuted && count != w.k) {
    fail(ErrorCode::bad_shape, "weight: expected columns in the activation's order, got permuted columns; ",
         "such a matrix cannot be split by columns");
  }
  WeightView part = w;
  part.k = count;
  part.bias = nullptr;
  if (w.empty()) return part;
  part.codes += begin * code_bits(w.format.code) / 8;
  const int64_t block = begin / block_columns;
  if (w.scales != nullptr) part.scales += block * scale_bytes(w.format.scale);
  if (w.zero_points != nullptr) part.zero_points += block * int64_t{sizeof(float)};
  return part;
}

std::string describe(const WeightFormat& format) {
  const bool blocks_of_16 = format.block_rows == 1 && format.block_columns == 16;
  const bool blocks_of_32 = format.block_rows == 1 && format.block_columns == 32;
  std::string text;
  if (format.code == CodeType::fp4_e2m1 && format.scale == ScaleType::e4m3 && blocks_of_16) {
    text = "NVFP4";
  } else if (format.code == CodeType::fp4_e2m1 && format.scale == ScaleType::e8m0 && blocks_of_32) {
    text = "MXFP4";
  } else {
    text = name(format.code);
    if (format.scale != ScaleType::none) {
      text += " with " + std::string(name(format.scale)) + " scales a " + std::to_string(format.block_rows) + " x " +
              std::to_string(format.block_columns) + " block";
    }
  }
  if (format.global == GlobalScale::divide) text += ", divided by a global scale";
  if (format.zero_points) text += ", zero points";
  if (format.permuted) text += ", permuted columns";
  return text;
}

}  // namespace octet
