// Repacked FP4 weights: nothing is lost, and products with them are those of the weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/fp4_pack.h"
#include "kernels/cpu_weights.h"
#include "tensor/buffer.h"

namespace octet {
namespace {

using cpu::kPanelRows;
using cpu::PanelKernels;
using test::random_weight;
using test::TestWeight;

const std::vector<WeightFormat>& panel_formats() {
  static const std::vector<WeightFormat> formats = {kNvfp4Weight, test::kMxfp4Weight};
  return formats;
}

struct Packed {
  cpu::Fp4Format format;
  int64_t stride;
  Buffer panels;
};

Packed pack(const WeightView& w) {
  const cpu::Fp4Format format = *cpu::panel_format(w.format);
  const int64_t stride = cpu::panel_bytes(format, w.k);
  Packed p{format, stride, Buffer(cpu::num_panels(w.n) * stride)};
  std::fill_n(p.panels.data(), p.panels.bytes(), std::byte{0xff});  // packing overwrites everything
  cpu::pack_panels(w, p.panels.as<uint8_t>(), stride);
  return p;
}

TEST(Fp4Pack, UnpackingGivesBackEveryByteForEveryFormatAndShape) {
  for (const WeightFormat& format : panel_formats()) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{16, 64}, {1, 16}, {33, 130}, {48, 256}, {17, 71}}) {
      TestWeight w = random_weight(format, n, k, 7);
      if (k % 2 == 1) {  // the nibble beyond the last column is not kept
        for (int64_t row = 0; row < n; ++row)
          w.codes[static_cast<size_t>((row + 1) * w.view.code_row_bytes)] &= std::byte{15};
      }
      const Packed p = pack(w.view);
      std::vector<std::byte> codes(w.codes.size() - 1), scales(w.scales.size() - 1);
      cpu::unpack_panels(p.format, n, k, p.panels.as<uint8_t>(), p.stride, codes.data(), scales.data());
      EXPECT_TRUE(std::equal(codes.begin(), codes.end(), w.codes.begin() + 1)) << n << " x " << k;
      EXPECT_TRUE(std::equal(scales.begin(), scales.end(), w.scales.begin() + 1)) << n << " x " << k;
    }
  }
}

TEST(Fp4Pack, OnlyThePublishedBlockSizesOfFp4AreTaken) {
  EXPECT_EQ(cpu::panel_format(kNvfp4Weight), cpu::Fp4Format::nvfp4);
  EXPECT_EQ(cpu::panel_format(test::kMxfp4Weight), cpu::Fp4Format::mxfp4);
  WeightFormat other = kNvfp4Weight;
  other.block_columns = 32;
  EXPECT_FALSE(cpu::panel_format(other));
  other = kNvfp4Weight;
  other.permuted = true;
  EXPECT_FALSE(cpu::panel_format(other));
  EXPECT_FALSE(cpu::panel_format(kBf16Weight));
}

/// The kernels of one instruction set.
class Fp4Panels : public testing::TestWithParam<const PanelKernels* (*)()> {
 protected:
  void SetUp() override {
    const CpuFeatures features = this_cpu().cpu;
    const bool here = GetParam() == cpu::avx512_vbmi_panel_kernels   ? features.avx512_vbmi
                      : GetParam() == cpu::avx512_vnni_panel_kernels ? features.avx512_vnni
                      : GetParam() == cpu::avx512_panel_kernels      ? features.avx512
                                                                     : features.avx2_fma;
    if (kernels() == nullptr || !here) GTEST_SKIP() << "not on this processor";
  }
  static const PanelKernels* kernels() { return GetParam()(); }

  /// y [T, rows] of a weight's product, finished.
  static std::vector<float> product(const WeightView& w, const std::vector<float>& x, int64_t tokens) {
    return product(*kernels(), w, x, tokens);
  }
  static std::vector<float> product(const PanelKernels& k, const WeightView& w, const std::vector<float>& x,
                                    int64_t tokens) {
    const Packed p = pack(w);
    const int64_t row_bytes = cpu::prepared_bytes(w.k);
    const int64_t rows = cpu::num_panels(w.n) * kPanelRows;
    const Buffer prepared(tokens * row_bytes), scratch(cpu::scratch_bytes(w.k));
    for (int64_t t = 0; t < tokens; ++t) {
      k.prepare(x.data() + t * w.k, w.k, prepared.as<uint8_t>() + t * row_bytes);
    }
    std::vector<float> y(static_cast<size_t>(tokens * rows), std::numeric_limits<float>::quiet_NaN());
    k.panels({.format = p.format,
              .panels = p.panels.as<uint8_t>(),
              .num_panels = cpu::num_panels(w.n),
              .k = w.k,
              .x = prepared.as<uint8_t>(),
              .x_row_bytes = row_bytes,
              .num_tokens = tokens,
              .y = y.data(),
              .y_stride = rows,
              .scratch = scratch.as<uint8_t>()});
    const cpu::PanelFinish finish = cpu::panel_finish(w);
    for (int64_t t = 0; t < tokens; ++t) cpu::finish_rows(finish, 0, w.n, y.data() + t * rows);
    return y;
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, Fp4Panels,
                         testing::Values(cpu::avx2_panel_kernels, cpu::avx512_panel_kernels,
                                         cpu::avx512_vnni_panel_kernels, cpu::avx512_vbmi_panel_kernels),
                         [](const auto& isa) { return std::string(isa.param()->name); });

/// The largest magnitude of the 16 activations that x[i] lies among.
double largest_around(const float* x, int64_t i, int64_t k) {
  double largest = 0;
  for (int64_t j = i / 16 * 16; j < std::min(k, i / 16 * 16 + 16); ++j)
    largest = std::max(largest, std::abs(double{x[j]}));
  return largest;
}

TEST_P(Fp4Panels, ProductsAreThoseOfTheWeightForEveryTokenCount) {
  for (const WeightFormat& format : panel_formats()) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{16, 64}, {80, 96}, {40, 200}, {17, 70}}) {
      const TestWeight w = random_weight(format, n, k, 11);
      for (const int64_t tokens : {1, 2, 3, 4, 5, 11, 17}) {
        const std::vector<float> x = test::random_floats(tokens * k, 12);
        const std::vector<float> y = product(w.view, x, tokens);
        for (int64_t row = 0; row < n; ++row) {
          const std::vector<double> exact = test::exact_row(w.view, row);
          for (int64_t t = 0; t < tokens; ++t) {
            double magnitude = 0, rounding = 0;
            const test::ExactProduct want = test::exact_product(exact, x.data() + t * k);
            for (int64_t i = 0; i < k; ++i) {
              const double weight = std::abs(exact[static_cast<size_t>(i)]);
              magnitude += weight * std::abs(double{x[static_cast<size_t>(t * k + i)]});
              rounding += weight * largest_around(x.data() + t * k, i, k);
            }
            // One rounding a group, and those of its scales; then those of activations.
            const double bound =
                magnitude * (static_cast<double>(k) / 16 + 8) * 0x1p-24 + 1.001 * cpu::kActivationError * rounding;
            const auto at = static_cast<size_t>(t * cpu::num_panels(n) * kPanelRows + row);
            ASSERT_NEAR(y[at], want.value, bound) << n << " x " << k << ", token " << t << " row " << row;
          }
        }
      }
    }
  }
}

TEST_P(Fp4Panels, ATokenHasTheSameBitsInEveryBatch) {
  const int64_t n = 112, k = 320;
  for (const WeightFormat& format : panel_formats()) {
    const TestWeight w = random_weight(format, n, k, 13);
    const std::vector<float> x = test::random_floats(19 * k, 14);
    const std::vector<float> all = product(w.view, x, 19);
    for (int64_t t = 0; t < 19; ++t) {
      for (int64_t count = 1; count <= 5 && t + count <= 19; ++count) {
        const std::vector<float> part = product(w.view, {x.begin() + t * k, x.begin() + (t + count) * k}, count);
        ASSERT_TRUE(std::equal(part.begin(), part.end(), all.begin() + t * n)) << "token " << t << " of " << count;
      }
    }
  }
}

TEST_P(Fp4Panels, EveryInstructionSetGivesTheSameBits) {
  const TestWeight w = random_weight(kNvfp4Weight, 64, 208, 16);
  const std::vector<float> x = test::random_floats(7 * 208, 17);
  EXPECT_EQ(product(w.view, x, 7), product(*cpu::avx2_panel_kernels(), w.view, x, 7));
}

TEST_P(Fp4Panels, OneActivationThatIsNotFiniteMakesTheWholeTokenNanAndNoOther) {
  const TestWeight w = random_weight(kNvfp4Weight, 16, 64, 18);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> x = test::random_floats(2 * 64, 19);
    x[64 + 21] = bad;
    const std::vector<float> y = product(w.view, x, 2);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(std::isnan(y[i]), i >= 16) << i;
  }
}

TEST_P(Fp4Panels, ActivationsOfAnySizeKeepTheirShareOfTheLargest) {
  TestWeight w = random_weight(kNvfp4Weight, 16, 16, 20);
  for (const float size : {1e30f, 1e-20f, 1e-35f, 0.0f}) {
    std::vector<float> x = test::random_floats(16, 21);
    for (float& v : x) v *= size;
    const std::vector<float> y = product(w.view, x, 1);
    const double want = test::exact_product(test::exact_row(w.view, 3), x.data()).value;
    // Below 2^-100 activations count as zeros.
    EXPECT_NEAR(y[3], want, size < 1e-30f ? std::abs(want) : 1e-3 * std::abs(want)) << size;
  }
}

TEST_P(Fp4Panels, EveryScaleByteIsReadExactly) {
  for (const WeightFormat& format : panel_formats()) {
    const int64_t n = 256, k = format.block_columns;
    TestWeight w = random_weight(format, n, k, 15);
    w.view.global_scale = 1.0f;
    std::fill(w.codes.begin(), w.codes.end(), std::byte{0});
    for (int64_t row = 0; row < n; ++row) {
      w.codes[static_cast<size_t>(1 + row * k / 2)] = std::byte{2};  // column 0 holds 1
      w.scales[static_cast<size_t>(1 + row)] = std::byte{static_cast<uint8_t>(row)};
    }
    std::vector<float> x(static_cast<size_t>(k), 0.0f);
    x[0] = static_cast<float>(cpu::kActivationSteps);  // whole steps of size 1
    const std::vector<float> y = product(w.view, x, 1);
    for (int64_t row = 0; row < n; ++row) {
      const auto got = y[static_cast<size_t>(row)];
      const double want = cpu::kActivationSteps * test::exact_row(w.view, row)[0];
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << row;
      } else {
        EXPECT_EQ(got, static_cast<float>(want)) << row;
      }
    }
  }
}

TEST_P(Fp4Panels, TheProbeReadsEveryByte) {
  Buffer memory(int64_t{1} << 20);
  const auto sum = [&](int32_t streams) { return kernels()->read(memory.as<uint8_t>(), memory.bytes(), streams); };
  for (const int64_t at : {int64_t{0}, int64_t{8192 + 32}, memory.bytes() - 8}) memory.as<uint64_t>()[at / 8] = 5;
  for (const int32_t streams : {1, 2, 4}) EXPECT_EQ(sum(streams), 15u);
}

}  // namespace
}  // namespace octet
