// Random weights in memory of exactly their size, so that the address sanitizer sees every read beyond them, and at odd
// addresses, as a safetensors file may have them.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/isa.h"
#include "numerics/dequantize.h"
#include "numerics/weight.h"

namespace octet::test {

inline constexpr WeightFormat kMxfp4Weight{
    .code = CodeType::fp4_e2m1, .scale = ScaleType::e8m0, .block_rows = 1, .block_columns = 32};

/// Formats that the CPU kernels read in place.
inline const std::vector<WeightFormat>& cpu_formats() {
  static const std::vector<WeightFormat> formats = {kF32Weight, kF16Weight, kBf16Weight, kNvfp4Weight, kMxfp4Weight};
  return formats;
}

struct TestWeight {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  WeightView view;
};

inline uint8_t random_byte(std::mt19937& rng, int first, int last) {
  return static_cast<uint8_t>(std::uniform_int_distribution<int>(first, last)(rng));
}

/// Codes of `count` values of standard deviation about 1, one row back to back.
inline void random_codes(const WeightFormat& format, int64_t count, std::mt19937& rng, std::byte* out) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i) {
    if (format.code == CodeType::f32) {
      const float v = normal(rng);
      std::memcpy(out + 4 * i, &v, 4);
    } else if (format.code == CodeType::bf16) {
      const uint16_t v = bf16_bits(normal(rng));
      std::memcpy(out + 2 * i, &v, 2);
    } else if (format.code == CodeType::f16) {
      const int exponent = random_byte(rng, 10, 16);
      const auto v = static_cast<uint16_t>((rng() & 0x83ffu) | static_cast<unsigned>(exponent << 10));
      std::memcpy(out + 2 * i, &v, 2);
    } else if (format.code == CodeType::f8_e4m3) {
      out[i] = std::byte{e4m3_bits(normal(rng))};
    } else {
      out[i / 2] |= std::byte{static_cast<uint8_t>((rng() & 15u) << (i % 2 * 4))};
    }
  }
}

/// A random weight [n, k] whose codes and scales lie at odd addresses.
inline TestWeight random_weight(const WeightFormat& format, int64_t n, int64_t k, uint32_t seed) {
  std::mt19937 rng(seed);
  TestWeight w;
  w.view.format = format;
  w.view.n = n;
  w.view.k = k;
  w.view.code_row_bytes = (k * code_bits(format.code) + 7) / 8;
  w.codes.resize(static_cast<size_t>(1 + n * w.view.code_row_bytes));
  for (int64_t row = 0; row < n; ++row) random_codes(format, k, rng, w.codes.data() + 1 + row * w.view.code_row_bytes);
  w.view.codes = w.codes.data() + 1;
  if (format.scale == ScaleType::none) return w;
  const int64_t blocks = (k + format.block_columns - 1) / format.block_columns;
  w.view.scale_row_bytes = blocks * scale_bytes(format.scale);
  const int64_t scale_rows = (n + format.block_rows - 1) / format.block_rows;
  w.scales.resize(static_cast<size_t>(1 + scale_rows * w.view.scale_row_bytes));
  for (size_t i = 1; i < w.scales.size(); ++i) {
    w.scales[i] =
        std::byte{format.scale == ScaleType::e4m3 ? random_byte(rng, 0x08, 0x58) : random_byte(rng, 122, 128)};
  }
  w.view.scales = w.scales.data() + 1;
  w.view.global_scale = 0.37f;
  return w;
}

inline std::vector<float> random_floats(int64_t count, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = normal(rng);
  return values;
}

/// A product by the definition, and how far float sums in the fixed order may be from it.
struct ExactProduct {
  double value = 0;
  double bound = 0;
};

/// Σ_k x[k] * row[k]. A lane adds ceil(K / 16) products, each rounded at most twice (product and sum), and the tree
/// adds four more roundings, the factor and the stored global scale three.
inline ExactProduct exact_product(const std::vector<double>& row, const float* x) {
  ExactProduct p;
  double magnitude = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    p.value += row[k] * static_cast<double>(x[k]);
    magnitude += std::abs(row[k] * static_cast<double>(x[k]));
  }
  const double roundings = std::ceil(static_cast<double>(row.size()) / 16.0) + 1 + 4 + 3;
  p.bound = roundings * 0x1p-24 * 1.001 * magnitude;
  return p;
}

inline std::vector<double> exact_row(const WeightView& w, int64_t n) {
  std::vector<double> row(static_cast<size_t>(w.k));
  dequantize_row(w, n, row.data());
  return row;
}

inline std::string name_of(cpu::CpuIsa isa) {
  switch (isa) {
    case cpu::CpuIsa::portable:
      return "portable";
    case cpu::CpuIsa::avx2:
      return "avx2";
    case cpu::CpuIsa::avx512:
      return "avx512";
  }
  return "";
}

/// This machine, as if it had no more than `isa`.
inline DeviceInfo device_with(cpu::CpuIsa isa) {
  DeviceInfo device = this_cpu();
  device.cpu = cpu::limited_to(isa, device.cpu);
  return device;
}

}  // namespace octet::test

/// First line of a test that runs on one instruction set.
#define OCTET_SKIP_UNLESS_CPU_CAN_RUN(isa)                                               \
  if (!octet::cpu::can_run(isa, octet::this_cpu().cpu)) {                                \
    GTEST_SKIP() << "this processor has no " << octet::test::name_of(isa) << " kernels"; \
  }
