// The vector kernels against double sums, for every instruction set of this machine.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "kernels/cpu/weight_rows.h"
#include "kernels/cpu_weights.h"

namespace octet::cpu {
namespace {

using test::cpu_formats;
using test::exact_product;
using test::exact_row;
using test::ExactProduct;
using test::random_floats;
using test::random_weight;
using test::TestWeight;

class CpuKernelsTest : public testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override { OCTET_SKIP_UNLESS_CPU_CAN_RUN(GetParam()); }
  const CpuKernels& kernels() const { return kernels_for(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Isa, CpuKernelsTest, testing::Values(CpuIsa::portable, CpuIsa::avx2, CpuIsa::avx512),
                         [](const auto& isa) { return test::name_of(isa.param); });

constexpr float kGuard = -12345.0f;

/// y [tokens, end - begin] with one guard float before, between and after the rows.
struct GuardedOutput {
  GuardedOutput(int64_t tokens, int64_t width)
      : stride(width + 1), values(static_cast<size_t>(1 + tokens * (width + 1)), kGuard) {}
  float* data() { return values.data() + 1; }
  float at(int64_t t, int64_t n) const { return values[static_cast<size_t>(1 + t * stride + n)]; }
  void expect_guards_intact() const {
    for (size_t i = 0; i < values.size(); i += static_cast<size_t>(stride)) EXPECT_EQ(values[i], kGuard);
  }
  int64_t stride;
  std::vector<float> values;
};

/// Weight rows [begin, end) times all rows of x, with a small panel so that several are needed.
GuardedOutput product(const CpuKernels& kernels, const WeightView& w, int64_t begin, int64_t end,
                      const std::vector<float>& x, int64_t tokens, const int32_t* x_rows = nullptr) {
  GuardedOutput y(tokens, end - begin);
  std::vector<float> panel(static_cast<size_t>(8 * w.k));
  CpuWeight(w).rows(kernels,
                    {.begin = begin,
                     .end = end,
                     .x = x.data(),
                     .x_stride = w.k,
                     .x_rows = x_rows,
                     .num_tokens = tokens,
                     .y = y.data(),
                     .y_stride = y.stride,
                     .panel = panel.data(),
                     .panel_rows = 8},
                    /*with_bias=*/false);
  return y;
}

TEST_P(CpuKernelsTest, RowsMatchTheDefinitionForEveryFormatShapeAndTokenCount) {
  for (const WeightFormat& format : cpu_formats()) {
    for (const int64_t k : {1, 15, 16, 17, 32, 63, 96, 160, 256}) {
      for (const int64_t n : {1, 4, 13}) {
        const TestWeight w = random_weight(format, n, k, static_cast<uint32_t>(100 * k + n));
        for (const int64_t tokens : {0, 1, 2, 7, 8, 9, 33}) {
          const std::vector<float> x = random_floats(tokens * k, 7);
          const GuardedOutput y = product(kernels(), w.view, 0, n, x, tokens);
          y.expect_guards_intact();
          for (int64_t row = 0; row < n; ++row) {
            const std::vector<double> weights = exact_row(w.view, row);
            for (int64_t t = 0; t < tokens; ++t) {
              const ExactProduct want = exact_product(weights, x.data() + t * k);
              ASSERT_NEAR(y.at(t, row), want.value, want.bound)
                  << describe(format) << " n " << n << " k " << k << " tokens " << tokens << " at " << t << ", " << row;
            }
          }
        }
      }
    }
  }
}

TEST_P(CpuKernelsTest, ARowHasTheSameBitsAloneInABatchAndInAnyWeightRange) {
  for (const WeightFormat& format : cpu_formats()) {
    const int64_t n = 23, k = 200, tokens = 9;
    const TestWeight w = random_weight(format, n, k, 3);
    const std::vector<float> x = random_floats(tokens * k, 4);
    const GuardedOutput whole = product(kernels(), w.view, 0, n, x, tokens);
    for (int64_t t = 0; t < tokens; ++t) {
      const std::vector<float> alone(x.begin() + t * k, x.begin() + (t + 1) * k);
      for (const int64_t begin : {0, 1, 6}) {
        const GuardedOutput y = product(kernels(), w.view, begin, n, alone, 1);
        for (int64_t row = begin; row < n; ++row) ASSERT_EQ(y.at(0, row - begin), whole.at(t, row)) << describe(format);
      }
    }
  }
}

TEST_P(CpuKernelsTest, RowsFollowAListOfTokens) {
  const int64_t n = 5, k = 48;
  const TestWeight w = random_weight(kNvfp4Weight, n, k, 5);
  const std::vector<float> x = random_floats(6 * k, 6);
  const int32_t list[] = {5, 0, 3, 3, 1};
  const GuardedOutput all = product(kernels(), w.view, 0, n, x, 6);
  const GuardedOutput listed = product(kernels(), w.view, 0, n, x, 5, list);
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t row = 0; row < n; ++row) EXPECT_EQ(listed.at(i, row), all.at(list[i], row));
  }
}

TEST_P(CpuKernelsTest, NanInOneTokenStaysThere) {
  const int64_t n = 6, k = 33;
  const TestWeight w = random_weight(kBf16Weight, n, k, 8);
  std::vector<float> x = random_floats(5 * k, 9);
  x[static_cast<size_t>(2 * k + 32)] = std::numeric_limits<float>::quiet_NaN();
  const GuardedOutput y = product(kernels(), w.view, 0, n, x, 5);
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t row = 0; row < n; ++row) EXPECT_EQ(std::isnan(y.at(t, row)), t == 2);
  }
}

TEST_P(CpuKernelsTest, ExpandingIsExactForEveryFormat) {
  for (const WeightFormat& format : cpu_formats()) {
    for (const int64_t k : {1, 16, 31, 96}) {
      TestWeight w = random_weight(format, 5, k, 11);
      w.view.global_scale = 1.0f;
      std::vector<float> out(static_cast<size_t>(3 * k + 1), kGuard);
      CpuWeight(w.view).expand(kernels(), 1, 4, out.data());
      EXPECT_EQ(out.back(), kGuard);
      for (int64_t row = 0; row < 3; ++row) {
        const std::vector<double> want = exact_row(w.view, row + 1);
        for (int64_t c = 0; c < k; ++c) {
          ASSERT_EQ(static_cast<double>(out[static_cast<size_t>(row * k + c)]), want[static_cast<size_t>(c)])
              << describe(format) << " k " << k;
        }
      }
    }
  }
}

TEST_P(CpuKernelsTest, EveryF16BitPatternExpandsToItsValue) {
  std::vector<uint16_t> codes(1 << 16);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  WeightView w{.format = kF16Weight, .n = 1, .k = 1 << 16};
  w.codes = reinterpret_cast<const std::byte*>(codes.data());
  w.code_row_bytes = 2 << 16;
  std::vector<float> out(codes.size());
  CpuWeight(w).expand(kernels(), 0, 1, out.data());
  for (size_t i = 0; i < codes.size(); ++i) {
    const float want = f16_value(codes[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(out[i])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(out[i]), std::bit_cast<uint32_t>(want)) << i;
    }
  }
}

TEST_P(CpuKernelsTest, EveryFp4CodeTimesEveryScaleIsExact) {
  for (const WeightFormat& format : {kNvfp4Weight, test::kMxfp4Weight}) {
    for (int scale = 0; scale < 256; ++scale) {
      const uint8_t codes[16] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe,
                                 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
      const uint8_t scales[2] = {static_cast<uint8_t>(scale), static_cast<uint8_t>(scale)};
      WeightView w{.format = format, .n = 1, .k = 32};
      w.codes = reinterpret_cast<const std::byte*>(codes);
      w.code_row_bytes = 16;
      w.scales = reinterpret_cast<const std::byte*>(scales);
      w.scale_row_bytes = 2;
      std::vector<float> out(32);
      CpuWeight(w).expand(kernels(), 0, 1, out.data());
      const std::vector<double> want = exact_row(w, 0);
      for (size_t i = 0; i < 32; ++i) {
        if (std::isnan(want[i])) {
          ASSERT_TRUE(std::isnan(out[i]));
        } else {
          ASSERT_EQ(out[i], static_cast<float>(want[i])) << scale << " at " << i;
        }
      }
    }
  }
}

TEST_P(CpuKernelsTest, WeightedSumMatchesDoubleSumsAndKeepsItsBitsInABatch) {
  for (const int64_t width : {1, 16, 37, 96}) {
    for (const int64_t tokens : {1, 3, 4, 9}) {
      const int64_t num_rows = 11;
      const std::vector<float> x = random_floats(tokens * num_rows, 21);
      const std::vector<float> rows = random_floats(num_rows * width, 22);
      const std::vector<float> keep = random_floats(tokens, 23);
      const std::vector<float> before = random_floats(tokens * width, 24);
      std::vector<float> y = before;
      WeightedSumArgs args{.x = x.data(),
                           .x_stride = num_rows,
                           .num_tokens = tokens,
                           .rows = rows.data(),
                           .row_stride = width,
                           .num_rows = num_rows,
                           .keep = keep.data(),
                           .y = y.data(),
                           .y_stride = width,
                           .width = width};
      kernels().weighted_sum(args);
      for (int64_t t = 0; t < tokens; ++t) {
        for (int64_t c = 0; c < width; ++c) {
          const double first =
              double{keep[static_cast<size_t>(t)]} * double{before[static_cast<size_t>(t * width + c)]};
          double want = first, magnitude = std::abs(first);
          for (int64_t r = 0; r < num_rows; ++r) {
            const double term =
                double{x[static_cast<size_t>(t * num_rows + r)]} * double{rows[static_cast<size_t>(r * width + c)]};
            want += term;
            magnitude += std::abs(term);
          }
          // One rounding for keep * y, at most two for each row.
          ASSERT_NEAR(y[static_cast<size_t>(t * width + c)], want, (num_rows + 2) * 0x1p-24 * 1.001 * magnitude);
        }
        std::vector<float> alone(before.begin() + t * width, before.begin() + (t + 1) * width);
        WeightedSumArgs one = args;
        one.x = x.data() + t * num_rows;
        one.num_tokens = 1;
        one.keep = keep.data() + t;
        one.y = alone.data();
        kernels().weighted_sum(one);
        for (int64_t c = 0; c < width; ++c)
          ASSERT_EQ(alone[static_cast<size_t>(c)], y[static_cast<size_t>(t * width + c)]);
      }
    }
  }
}

TEST_P(CpuKernelsTest, SoftmaxOverBlocksMatchesSoftmaxOverAllScores) {
  const int64_t n = 64 + 64 + 17;
  std::vector<float> scores = random_floats(n, 31);
  for (size_t i = 0; i < scores.size(); ++i)
    scores[i] += 0.1f * static_cast<float>(i);  // each block raises the maximum
  std::vector<float> p = scores;
  p.resize(192);
  float max = -std::numeric_limits<float>::infinity(), sum = 0;
  std::vector<float> corrections;
  for (int64_t begin = 0; begin < n; begin += kKeyBlock) {
    corrections.push_back(kernels().softmax_block(p.data() + begin, std::min(kKeyBlock, n - begin), &max, &sum));
  }
  double want_sum = 0;
  for (const float s : scores) want_sum += std::exp(double{s} - double{max});
  EXPECT_EQ(max, *std::max_element(scores.begin(), scores.end()));
  // 145 terms of about 2 ulp each, added in at most 4 + 4 + 3 steps, three corrections of about 2 ulp.
  EXPECT_NEAR(sum, want_sum, 24 * 0x1p-24 * want_sum);
  EXPECT_EQ(corrections[0], 0.0f);  // nothing before the first block
  EXPECT_LT(corrections[1], 1.0f);
  EXPECT_LT(corrections[2], 1.0f);
  for (int64_t i = 0; i < n; ++i) {
    double want = std::exp(double{scores[static_cast<size_t>(i)]} - double{max});
    double got = double{p[static_cast<size_t>(i)]};
    for (size_t b = static_cast<size_t>(i / kKeyBlock) + 1; b < corrections.size(); ++b) got *= double{corrections[b]};
    // An ulp of score - max is a relative error of the result; exp and corrections about 12 more roundings.
    const double roundings = 12 + std::abs(double{scores[static_cast<size_t>(i)]} - double{max});
    EXPECT_NEAR(got, want, roundings * 0x1p-24 * want);
  }
}

TEST_P(CpuKernelsTest, SoftmaxPassesOnNan) {
  std::vector<float> scores(64, 1.0f);
  scores[5] = std::numeric_limits<float>::quiet_NaN();
  float max = -std::numeric_limits<float>::infinity(), sum = 0;
  kernels().softmax_block(scores.data(), 20, &max, &sum);
  EXPECT_TRUE(std::isnan(sum));
}

TEST_P(CpuKernelsTest, SiluIsWithinFourUlpFromTheLeastToTheLargestInput) {
  std::vector<float> gate;
  for (float v = -110.0f; v < 110.0f; v += 0.0371f) gate.push_back(v);
  gate.insert(gate.end(), {0.0f, -0.0f, 1e-30f, -1e-30f, 3e38f, -3e38f});
  const std::vector<float> up(gate.size(), 1.0f);
  std::vector<float> y(gate.size());
  kernels().silu_mul(gate.data(), up.data(), y.data(), static_cast<int64_t>(gate.size()));
  for (size_t i = 0; i < gate.size(); ++i) {
    const double g = double{gate[i]};
    const double want = g / (1.0 + std::exp(-g));
    // Below the normal numbers an ulp is 2^-149. exp 1.5 ulp, sum 0.5, quotient 0.5, product 0.5, argument 0.5.
    const double bound = 4 * std::max(std::abs(want) * 0x1p-23, 0x1p-149);
    // exp(-x) overflows above 88.7, and the result becomes zero where it should be at most 1e-36.
    if (g < -88.7) {
      EXPECT_NEAR(y[i], want, 1e-36) << gate[i];
    } else {
      EXPECT_NEAR(y[i], want, bound) << gate[i];
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  kernels().silu_mul(&nan, up.data(), y.data(), 1);
  EXPECT_TRUE(std::isnan(y[0]));
}

TEST_P(CpuKernelsTest, ReluSumMatchesDoubleSums) {
  const int64_t heads = 5;
  const std::vector<float> dots = random_floats(heads * kKeyBlock, 41);
  const std::vector<float> weights = random_floats(heads, 42);
  for (const int64_t n : {1, 16, 19, 64}) {
    std::vector<float> out(65, kGuard);
    kernels().relu_sum(dots.data(), kKeyBlock, weights.data(), heads, out.data(), n);
    for (int64_t i = 0; i < n; ++i) {
      double want = 0, magnitude = 0;
      for (int64_t h = 0; h < heads; ++h) {
        const double dot = std::max(0.0, double{dots[static_cast<size_t>(h * kKeyBlock + i)]});
        want += double{weights[static_cast<size_t>(h)]} * dot;
        magnitude += std::abs(double{weights[static_cast<size_t>(h)]} * dot);
      }
      EXPECT_NEAR(out[static_cast<size_t>(i)], want, 6 * 0x1p-24 * 1.001 * magnitude);
    }
    EXPECT_EQ(out[static_cast<size_t>(n)], kGuard);
  }
}

TEST(CpuIsaTest, TheLargestInstructionSetOfTheFeaturesIsChosen) {
  const CpuFeatures all = {.avx2_fma = true, .avx512 = true};
  EXPECT_EQ(best_isa({}), CpuIsa::portable);
#if defined(__x86_64__)
  EXPECT_EQ(best_isa(all), CpuIsa::avx512);
  EXPECT_EQ(best_isa(limited_to(CpuIsa::avx2, all)), CpuIsa::avx2);
#endif
  EXPECT_EQ(best_isa(limited_to(CpuIsa::portable, all)), CpuIsa::portable);
}

TEST(CpuIsaTest, Avx2AndAvx512AgreeBitForBit) {
  OCTET_SKIP_UNLESS_CPU_CAN_RUN(CpuIsa::avx2);
  OCTET_SKIP_UNLESS_CPU_CAN_RUN(CpuIsa::avx512);
  const CpuKernels& a = kernels_for(CpuIsa::avx2);
  const CpuKernels& b = kernels_for(CpuIsa::avx512);
  for (const WeightFormat& format : cpu_formats()) {
    for (const int64_t tokens : {1, 6}) {
      const TestWeight w = random_weight(format, 13, 203, 51);
      const std::vector<float> x = random_floats(tokens * 203, 52);
      EXPECT_EQ(product(a, w.view, 0, 13, x, tokens).values, product(b, w.view, 0, 13, x, tokens).values);
    }
  }
  const std::vector<float> gate = random_floats(1000, 53);
  const std::vector<float> weight = random_floats(1000, 54);
  std::vector<float> ya(1000), yb(1000);
  a.silu_mul(gate.data(), weight.data(), ya.data(), 1000);
  b.silu_mul(gate.data(), weight.data(), yb.data(), 1000);
  EXPECT_EQ(ya, yb);
  a.layer_norm(gate.data(), weight.data(), weight.data(), 1e-5f, ya.data(), 1000);
  b.layer_norm(gate.data(), weight.data(), weight.data(), 1e-5f, yb.data(), 1000);
  EXPECT_EQ(ya, yb);
}

}  // namespace
}  // namespace octet::cpu
