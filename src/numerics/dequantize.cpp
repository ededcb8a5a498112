#include "numerics/dequantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"

namespace octet {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// E2M1: 1 sign, 2 exponent and 1 fraction bits; no infinity, no NaN.
constexpr std::array<float, 16> kE2m1 = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                         -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

constexpr float e4m3_from_fields(int32_t bits) {
  const int32_t exponent = (bits >> 3) & 15;
  const int32_t fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return kNaN;
  // 2^-9 is the unit of subnormal numbers; a normal number is (8 + fraction) units, doubled for each step of exponent.
  float magnitude = static_cast<float>(exponent == 0 ? fraction : 8 + fraction) * 0x1p-9f;
  for (int32_t step = 1; step < exponent; ++step) magnitude *= 2.0f;
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

constexpr std::array<float, 256> kE4m3 = [] {
  std::array<float, 256> table{};
  for (int32_t bits = 0; bits < 256; ++bits) table[static_cast<size_t>(bits)] = e4m3_from_fields(bits);
  return table;
}();

// Checkpoints promise no alignment, so every wide element is copied out.
template <class T>
T load(const std::byte* from, int64_t index) {
  T value;
  std::memcpy(&value, from + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

double code_value(CodeType code, const std::byte* codes, int64_t i) {
  switch (code) {
    case CodeType::f32:
      return double{load<float>(codes, i)};
    case CodeType::f16:
      return double{f16_value(load<uint16_t>(codes, i))};
    case CodeType::bf16:
      return double{bf16_value(load<uint16_t>(codes, i))};
    case CodeType::f8_e4m3:
      return double{e4m3_value(load<uint8_t>(codes, i))};
    case CodeType::fp4_e2m1: {
      const uint32_t pair = load<uint8_t>(codes, i / 2);
      return double{e2m1_value(static_cast<uint8_t>(i % 2 == 0 ? pair & 15 : pair >> 4))};
    }
  }
  return 0.0;
}

// out[j] = value of code j, for j in [0, k).
void decode_codes(CodeType code, const std::byte* codes, int64_t k, double* out) {
  // A function of a constant format inlines into a loop without the switch.
  const auto fill = [&](auto value_at) {
    for (int64_t j = 0; j < k; ++j) out[j] = value_at(j);
  };
  switch (code) {
    case CodeType::f32:
      return fill([=](int64_t j) { return code_value(CodeType::f32, codes, j); });
    case CodeType::f16:
      return fill([=](int64_t j) { return code_value(CodeType::f16, codes, j); });
    case CodeType::bf16:
      return fill([=](int64_t j) { return code_value(CodeType::bf16, codes, j); });
    case CodeType::f8_e4m3:
      return fill([=](int64_t j) { return code_value(CodeType::f8_e4m3, codes, j); });
    case CodeType::fp4_e2m1:
      return fill([=](int64_t j) { return code_value(CodeType::fp4_e2m1, codes, j); });
  }
}

double scale_value(ScaleType scale, const std::byte* scales, int64_t i) {
  switch (scale) {
    case ScaleType::none:
      return 1.0;
    case ScaleType::e4m3:
      return double{e4m3_value(load<uint8_t>(scales, i))};
    case ScaleType::e8m0:
      return double{e8m0_value(load<uint8_t>(scales, i))};
    case ScaleType::f32:
      return double{load<float>(scales, i)};
    case ScaleType::bf16:
      return double{bf16_value(load<uint16_t>(scales, i))};
  }
  return 1.0;
}

// values[j] = (values[j] - zero_point) * scale of the block of column j.
void apply_block_scales(const WeightView& w, int64_t row, double* values) {
  const int64_t block_row = row / w.format.block_rows;
  const int64_t block_columns = w.format.block_columns;
  const std::byte* scales = w.scales + block_row * w.scale_row_bytes;
  const int64_t scales_a_row = w.scale_row_bytes / scale_bytes(w.format.scale);
  for (int64_t block = 0; block * block_columns < w.k; ++block) {
    const double scale = scale_value(w.format.scale, scales, block);
    const double zero_point =
        w.format.zero_points ? double{load<float>(w.zero_points, block_row * scales_a_row + block)} : 0.0;
    const int64_t end = std::min((block + 1) * block_columns, w.k);
    for (int64_t j = block * block_columns; j < end; ++j) values[j] = (values[j] - zero_point) * scale;
  }
}

// From stored order to the activation's: column j goes to column permutation[j].
void restore_column_order(const int32_t* permutation, int64_t k, double* values) {
  const std::vector<double> stored(values, values + k);
  for (int64_t j = 0; j < k; ++j) values[permutation[j]] = stored[static_cast<size_t>(j)];
}

}  // namespace

float bf16_value(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float f16_value(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide_exponent = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide_exponent << 23) | (fraction << 13));
}

float e4m3_value(uint8_t bits) { return kE4m3[bits]; }

float e8m0_value(uint8_t bits) {
  if (bits == 255) return kNaN;
  if (bits == 0) return 0x1p-127f;  // below the smallest normal float, so its exponent field cannot hold it
  return std::bit_cast<float>(uint32_t{bits} << 23);
}

float e2m1_value(uint8_t code) { return kE2m1[code]; }

uint16_t bf16_bits(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return static_cast<uint16_t>((bits >> 16) | 0x40);  // quiet: rounding could make it infinite
  const uint32_t half = 0x7fff + ((bits >> 16) & 1);
  return static_cast<uint16_t>((bits + half) >> 16);
}

uint8_t e4m3_bits(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 24) & 0x80;
  if (std::isnan(x)) return static_cast<uint8_t>(sign | 0x7f);
  const float magnitude = std::fabs(x);
  if (magnitude >= 448.0f) return static_cast<uint8_t>(sign | 0x7e);
  if (magnitude < 0x1p-6f) return static_cast<uint8_t>(sign | static_cast<uint32_t>(std::lrint(magnitude * 0x1p9f)));
  const uint32_t magnitude_bits = bits & 0x7fffffff;
  const uint32_t rounded = (magnitude_bits + 0x7ffff + ((magnitude_bits >> 20) & 1)) >> 20;  // keeps 3 fraction bits
  return static_cast<uint8_t>(sign | (rounded - ((127 - 7) << 3)));
}

uint8_t e2m1_code(float x) {
  // Midpoints between neighbours; one that lies next to an even code below it belongs to that code.
  const float magnitude = std::fabs(x);
  uint32_t code = 0;
  code += magnitude > 0.25f;
  code += magnitude >= 0.75f;
  code += magnitude > 1.25f;
  code += magnitude >= 1.75f;
  code += magnitude > 2.5f;
  code += magnitude >= 3.5f;
  code += magnitude > 5.0f;
  return static_cast<uint8_t>(x < 0.0f ? code | 8 : code);
}

void dequantize_row(const WeightView& w, int64_t row, double* out) {
  decode_codes(w.format.code, w.codes + row * w.code_row_bytes, w.k, out);
  if (w.format.scale != ScaleType::none) apply_block_scales(w, row, out);
  if (w.global_scale != 1.0f) {
    const double global = double{w.global_scale};
    // Dividing, not multiplying by the reciprocal: one rounding instead of two.
    const bool divide = w.format.global == GlobalScale::divide;
    for (int64_t j = 0; j < w.k; ++j) out[j] = divide ? out[j] / global : out[j] * global;
  }
  if (w.format.permuted) restore_column_order(w.permutation, w.k, out);
}

float bias_value(const WeightView& w, int64_t row) {
  return w.bias == nullptr ? 0.0f : static_cast<float>(code_value(w.bias_code, w.bias, row));
}

}  // namespace octet
