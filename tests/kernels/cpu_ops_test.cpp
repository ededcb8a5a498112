// make_cpu_ops against make_reference_ops.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cpu_weights.h"
#include "kernels/ops.h"

namespace octet {
namespace {

using cpu::CpuIsa;
using test::random_floats;
using test::random_weight;
using test::TestWeight;

using Matrix = std::vector<float>;

View2<float> view(Matrix& m, int64_t rows) {
  return {m.data(), rows, rows == 0 ? 0 : static_cast<int64_t>(m.size()) / rows};
}
View2<const float> view(const Matrix& m, int64_t rows) {
  return {m.data(), rows, rows == 0 ? 0 : static_cast<int64_t>(m.size()) / rows};
}

class CpuOpsTest : public testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    OCTET_SKIP_UNLESS_CPU_CAN_RUN(GetParam());
    cpu_ = make_cpu_ops(threads_, test::device_with(GetParam()));
    reference_ = make_reference_ops(threads_);
  }
  ThreadPool threads_{2};
  std::unique_ptr<Ops> cpu_;
  std::unique_ptr<Ops> reference_;
};

INSTANTIATE_TEST_SUITE_P(Isa, CpuOpsTest, testing::Values(CpuIsa::portable, CpuIsa::avx2, CpuIsa::avx512),
                         [](const auto& isa) { return test::name_of(isa.param); });

TEST_P(CpuOpsTest, NamesItsInstructionSet) { EXPECT_EQ(cpu_->name(), "cpu." + test::name_of(GetParam())); }

/// Expects y = x w^T + bias within the bound of float sums.
void expect_product(const WeightView& w, const Matrix& x, const Matrix& y, int64_t tokens) {
  for (int64_t n = 0; n < w.n; ++n) {
    const std::vector<double> row = test::exact_row(w, n);
    const double bias = double{bias_value(w, n)};
    for (int64_t t = 0; t < tokens; ++t) {
      const test::ExactProduct want = test::exact_product(row, x.data() + t * w.k);
      const double bound = want.bound + 0x1p-23 * (std::abs(want.value) + std::abs(bias));
      ASSERT_NEAR(y[static_cast<size_t>(t * w.n + n)], want.value + bias, bound)
          << describe(w.format) << " token " << t << " output " << n;
    }
  }
}

TEST_P(CpuOpsTest, LinearMatchesTheDefinitionForFormatsReadInPlaceAndNot) {
  std::vector<WeightFormat> formats = test::cpu_formats();
  formats.push_back({.code = CodeType::f8_e4m3, .scale = ScaleType::bf16, .block_rows = 16, .block_columns = 32});
  formats.push_back({.code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 1, .block_columns = 8});
  for (const WeightFormat& format : formats) {
    for (const int64_t n : {1, 3, 70}) {
      TestWeight w = random_weight(format, n, 96, static_cast<uint32_t>(n));
      // Sensible bytes for wide scales: 0x3f3f is 0.75 as bf16 and as the upper half of a float.
      if (scale_bytes(format.scale) > 1) std::fill(w.scales.begin(), w.scales.end(), std::byte{0x3f});
      for (const int64_t tokens : {0, 1, 2, 9, 65}) {
        const Matrix x = random_floats(tokens * 96, 61);
        Matrix y(static_cast<size_t>(tokens * n));
        cpu_->linear({x.data(), tokens, 96}, w.view, {y.data(), tokens, n});
        expect_product(w.view, x, y, tokens);
      }
    }
  }
}

TEST_P(CpuOpsTest, LinearAddsTheBias) {
  TestWeight w = random_weight(kBf16Weight, 9, 32, 62);
  const std::vector<float> bias = random_floats(9, 63);
  w.view.bias = reinterpret_cast<const std::byte*>(bias.data());
  w.view.bias_code = CodeType::f32;
  const Matrix x = random_floats(3 * 32, 64);
  Matrix y(3 * 9);
  cpu_->linear(view(x, 3), w.view, view(y, 3));
  expect_product(w.view, x, y, 3);
}

TEST_P(CpuOpsTest, LinearGivesARowTheSameBitsForAnyBatchAndThreads) {
  for (const WeightFormat& format : test::cpu_formats()) {
    const int64_t n = 300, k = 512, tokens = 130;  // large enough to fork, and more than one token block
    const TestWeight w = random_weight(format, n, k, 65);
    const Matrix x = random_floats(tokens * k, 66);
    Matrix first(static_cast<size_t>(tokens * n));
    cpu_->linear(view(x, tokens), w.view, view(first, tokens));
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      const auto ops = make_cpu_ops(pool, test::device_with(GetParam()));
      Matrix again(first.size());
      ops->linear(view(x, tokens), w.view, view(again, tokens));
      ASSERT_EQ(again, first) << threads;
      for (const int64_t t : {0, 64, 129}) {
        Matrix alone(static_cast<size_t>(n));
        ops->linear(view(x, tokens).slice(t, 1), w.view, view(alone, 1));
        ASSERT_TRUE(std::equal(alone.begin(), alone.end(), first.begin() + t * n)) << describe(format) << " row " << t;
      }
    }
  }
}

TEST_P(CpuOpsTest, LinearWritesThroughStridesAndNowhereElse) {
  const TestWeight w = random_weight(kNvfp4Weight, 5, 32, 67);
  const Matrix x = random_floats(4 * 40, 68);
  Matrix y(4 * 8, -7.0f);
  cpu_->linear({x.data() + 3, 4, 32, 40}, w.view, {y.data() + 1, 4, 5, 8});
  Matrix packed_x;
  for (int64_t t = 0; t < 4; ++t) packed_x.insert(packed_x.end(), x.begin() + t * 40 + 3, x.begin() + t * 40 + 35);
  Matrix packed_y;
  for (int64_t t = 0; t < 4; ++t) packed_y.insert(packed_y.end(), y.begin() + t * 8 + 1, y.begin() + t * 8 + 6);
  expect_product(w.view, packed_x, packed_y, 4);
  for (size_t i = 0; i < y.size(); ++i) {
    if (i % 8 == 0 || i % 8 > 5) {
      EXPECT_EQ(y[i], -7.0f) << i;
    }
  }
}

TEST_P(CpuOpsTest, EmbedCopiesTheNamedRowsExactly) {
  for (const WeightFormat& format : test::cpu_formats()) {
    TestWeight w = random_weight(format, 40, 64, 69);
    w.view.global_scale = 1.0f;
    const std::vector<TokenId> ids = {TokenId{39}, TokenId{0}, TokenId{7}, TokenId{7}};
    Matrix y(4 * 64);
    Matrix want(4 * 64);
    cpu_->embed(ids, w.view, view(y, 4));
    reference_->embed(ids, w.view, view(want, 4));
    EXPECT_EQ(y, want) << describe(format);
  }
}

TEST_P(CpuOpsTest, NormsMatchTheReferenceAndMayOverwriteTheirInput) {
  for (const int64_t width : {1, 15, 128, 257}) {
    const int64_t tokens = 40;
    const Matrix x = random_floats(tokens * width, 71);
    const Matrix weight = random_floats(width, 72);
    const Matrix bias = random_floats(width, 73);
    Matrix y = x, want(x.size());
    // Sums of width / 16 + 20 roundings enter under a square root; five more follow.
    const double relative = (static_cast<double>(width) / 32 + 20) * 0x1p-24;
    cpu_->rms_norm(view(y, tokens), weight, 1e-5f, view(y, tokens));
    reference_->rms_norm(view(x, tokens), weight, 1e-5f, view(want, tokens));
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], relative * std::abs(double{want[i]}) + 1e-12);
    y = x;
    cpu_->layer_norm(view(y, tokens), weight, bias, 1e-5f, view(y, tokens));
    reference_->layer_norm(view(x, tokens), weight, bias, 1e-5f, view(want, tokens));
    for (size_t i = 0; i < y.size(); ++i) {
      // x - mean loses what the mean's rounding and x's size bring in; |x| stays below 6 here, the deviation near 1.
      const auto c = i % static_cast<size_t>(width);
      const double scale = 10 * std::abs(double{weight[c]}) + std::abs(double{bias[c]});
      ASSERT_NEAR(y[i], want[i], relative * scale);
    }
  }
}

TEST_P(CpuOpsTest, RopeTurnsOnlyTheNamedElementsOfEachHead) {
  const int64_t tokens = 5, heads = 3, head_dim = 20, first = 6, half = 4;
  const Matrix cos = random_floats(tokens * half, 74);
  const Matrix sin = random_floats(tokens * half, 75);
  const RopeTable table{.cos = view(cos, tokens), .sin = view(sin, tokens)};
  for (const auto pairing : {RopeTable::Pairing::interleaved, RopeTable::Pairing::half_split}) {
    const Matrix x = random_floats(tokens * heads * head_dim, 76);
    Matrix y = x, want = x;
    cpu_->rope(view(y, tokens), heads, first, table, pairing);
    reference_->rope(view(want, tokens), heads, first, table, pairing);
    for (size_t i = 0; i < y.size(); ++i) {
      const auto in_head = static_cast<int64_t>(i) % head_dim;
      if (in_head < first || in_head >= first + 2 * half) {
        ASSERT_EQ(y[i], x[i]);
      } else {
        ASSERT_NEAR(y[i], want[i], 3 * 0x1p-24 * 40);  // two products of at most 4.5 * 4.5 and their sum
      }
    }
  }
}

TEST_P(CpuOpsTest, SiluMulAndAddMatchTheReference) {
  for (const int64_t width : {1, 17, 768}) {
    const int64_t tokens = 33;
    const Matrix gate = random_floats(tokens * width, 77);
    const Matrix up = random_floats(tokens * width, 78);
    Matrix y = gate, want(gate.size());
    cpu_->silu_mul(view(y, tokens), view(up, tokens), view(y, tokens));
    reference_->silu_mul(view(gate, tokens), view(up, tokens), view(want, tokens));
    for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], want[i], 5 * 0x1p-23 * std::abs(double{want[i]}));
    y = want;
    cpu_->add(view(up, tokens), view(y, tokens));
    reference_->add(view(up, tokens), view(want, tokens));
    ASSERT_EQ(y, want);
  }
}

TEST_P(CpuOpsTest, NanInOneRowStaysInThatRow) {
  const TestWeight w = random_weight(kNvfp4Weight, 64, 64, 79);
  Matrix x = random_floats(9 * 64, 80);
  x[4 * 64 + 1] = std::numeric_limits<float>::quiet_NaN();
  Matrix y(9 * 64);
  cpu_->linear(view(x, 9), w.view, view(y, 9));
  cpu_->rms_norm(view(y, 9), random_floats(64, 81), 1e-5f, view(y, 9));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 64 == 4);
}

}  // namespace
}  // namespace octet
