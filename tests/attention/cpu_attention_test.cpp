// make_cpu_attention against make_reference_attention.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "attention/attention.h"
#include "attention/cpu_select.h"
#include "kernels/cpu_weights.h"

namespace octet {
namespace {

using cpu::CpuIsa;
using test::random_floats;
using test::random_weight;
using test::TestWeight;

/// A cache of one layer with sequences whose pages lie in a mixed order.
class TestCache {
 public:
  TestCache(int64_t row_width, std::vector<int64_t> lengths, uint32_t seed)
      : cache_(KvLayout{.groups = {{.name = "rows", .layers = {0}, .row_width = row_width}}}, 64) {
    pages_.resize(lengths.size());
    // One page of each sequence in turn, so that no sequence's pages follow each other.
    for (int64_t page = 0; page < 16; ++page) {
      for (size_t s = 0; s < lengths.size(); ++s) {
        if (page < pages_for(lengths[s])) OCTET_CHECK(cache_.allocate(1, pages_[s]));
      }
    }
    for (size_t s = 0; s < lengths.size(); ++s) {
      const std::vector<float> values = random_floats(lengths[s] * row_width, seed + static_cast<uint32_t>(s));
      for (int64_t t = 0; t < lengths[s]; ++t) {
        std::copy_n(values.begin() + t * row_width, row_width, rows(s).row(t));
      }
    }
  }
  PagedRows rows(size_t sequence) const { return cache_.rows(0, 0, pages_[sequence]); }

 private:
  KvCache cache_;
  std::vector<std::vector<PageId>> pages_;
};

using Matrix = std::vector<float>;

class CpuAttentionTest : public testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    OCTET_SKIP_UNLESS_CPU_CAN_RUN(GetParam());
    cpu_ = make_cpu_attention(threads_, test::device_with(GetParam()));
    reference_ = make_reference_attention(threads_);
  }
  ThreadPool threads_{2};
  std::unique_ptr<AttentionBackend> cpu_;
  std::unique_ptr<AttentionBackend> reference_;
};

INSTANTIATE_TEST_SUITE_P(Isa, CpuAttentionTest, testing::Values(CpuIsa::portable, CpuIsa::avx2, CpuIsa::avx512),
                         [](const auto& isa) { return test::name_of(isa.param); });

/// Error of a softmax-weighted mean of values up to max_value in float. Scores up to max_score are sums of `width`
/// products whose magnitudes add up to `spread`; an error d in all scores changes each weight by at most a factor
/// exp(2 d). Exponentials, corrections and sums over n keys round n + 16 times more.
double softmax_bound(double spread, int64_t width, int64_t n, double max_value) {
  const double score_error = (static_cast<double>(width) / 16 + 12) * 0x1p-24 * spread;
  return max_value * (2 * score_error + static_cast<double>(n + 16) * 0x1p-23);
}

double largest(const Matrix& m) {
  double v = 0;
  for (const float f : m) v = std::max(v, std::abs(double{f}));
  return v;
}

struct LatentCase {
  TestWeight kv_b;
  LatentAttention a;
};

LatentCase latent_case(const WeightFormat& format, int32_t heads, int64_t nope, int64_t rope, int64_t value,
                       int64_t latent) {
  LatentCase c{.kv_b = random_weight(format, heads * (nope + value), latent, 7)};
  c.a = {.num_heads = heads, .nope = nope, .rope = rope, .value = value, .latent = latent, .kv_b = c.kv_b.view};
  c.a.scale = 1.0f / std::sqrt(static_cast<float>(latent * nope));  // unit weights: keeps scores near 1
  return c;
}

/// Bound of one output of latent attention over n keys: scores and outputs are products with kv_b on one side.
double latent_bound(const LatentAttention& a, const Matrix& q, double max_cached, int64_t n) {
  double max_row = 0;  // Σ_c |kv_b[row, c]|
  for (int64_t r = 0; r < a.kv_b.n; ++r) {
    double sum = 0;
    for (const double w : test::exact_row(a.kv_b, r)) sum += std::abs(w);
    max_row = std::max(max_row, sum);
  }
  const double max_q = largest(q);
  const double spread =
      double{a.scale} * max_q * max_cached * (static_cast<double>(a.nope) * max_row + static_cast<double>(a.rope));
  const int64_t width = 16 * a.nope + a.latent + a.rope;  // W_UK's sum runs over its rows one by one
  return max_row * (softmax_bound(spread, width, n, max_cached) +
                    (static_cast<double>(a.latent) / 16 + 10) * 0x1p-24 * max_cached);
}

Matrix run_latent(AttentionBackend& backend, const LatentAttention& a, const Matrix& q,
                  const std::vector<AttentionSpan>& spans, const KeySelection& selection) {
  const int64_t q_width = a.num_heads * (a.nope + a.rope);
  const int64_t tokens = static_cast<int64_t>(q.size()) / q_width;
  Matrix out(static_cast<size_t>(tokens * a.num_heads * a.value), -9.0f);
  backend.latent(a, {q.data(), tokens, q_width}, spans, selection, {out.data(), tokens, a.num_heads * a.value});
  return out;
}

void expect_near(const Matrix& got, const Matrix& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], bound) << i;
}

TEST_P(CpuAttentionTest, LatentMatchesTheReferenceForEveryWeightFormat) {
  for (const WeightFormat& format : test::cpu_formats()) {
    const LatentCase c = latent_case(format, 3, 24, 10, 20, 96);
    const TestCache cache(106, {150, 3}, 200);
    // A prompt's tail over several pages, and a decode step of another sequence.
    const std::vector<AttentionSpan> spans = {
        {.first_row = 0, .query_len = 40, .position = 110, .cache = cache.rows(0)},
        {.first_row = 40, .query_len = 1, .position = 2, .cache = cache.rows(1)}};
    const Matrix q = random_floats(41 * 3 * 34, 201);
    expect_near(run_latent(*cpu_, c.a, q, spans, {}), run_latent(*reference_, c.a, q, spans, {}),
                latent_bound(c.a, q, 5, 150));
  }
}

TEST_P(CpuAttentionTest, LatentFollowsASelectionOfKeys) {
  const LatentCase c = latent_case(kBf16Weight, 9, 32, 32, 16, 64);
  const TestCache cache(96, {200}, 210);
  const std::vector<AttentionSpan> spans = {{.first_row = 0, .query_len = 3, .position = 197, .cache = cache.rows(0)}};
  KeySelection selection{.offsets = {0}, .all_keys = false};
  for (const int step : {2, 3, 40}) {
    for (int32_t key = step; key < 197; key += step) selection.keys.push_back(key);
    selection.offsets.push_back(static_cast<int64_t>(selection.keys.size()));
  }
  const Matrix q = random_floats(3 * 9 * 64, 211);
  expect_near(run_latent(*cpu_, c.a, q, spans, selection), run_latent(*reference_, c.a, q, spans, selection),
              latent_bound(c.a, q, 5, 200));
}

TEST_P(CpuAttentionTest, LatentHasTheSameBitsForAnyChunkingThreadsAndFullSelection) {
  const LatentCase c = latent_case(kNvfp4Weight, 5, 16, 8, 12, 48);
  const int64_t tokens = 140, q_width = 5 * 24;
  const TestCache cache(56, {tokens}, 220);
  const Matrix q = random_floats(tokens * q_width, 221);
  const AttentionSpan whole = {.first_row = 0, .query_len = tokens, .position = 0, .cache = cache.rows(0)};
  const Matrix want = run_latent(*cpu_, c.a, q, {whole}, {});
  KeySelection every{.offsets = {0}, .all_keys = false};
  for (int32_t t = 0; t < tokens; ++t) {
    for (int32_t key = 0; key <= t; ++key) every.keys.push_back(key);
    every.offsets.push_back(static_cast<int64_t>(every.keys.size()));
  }
  EXPECT_EQ(run_latent(*cpu_, c.a, q, {whole}, every), want);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const auto backend = make_cpu_attention(pool, test::device_with(GetParam()));
    for (const int64_t chunk : {1, 7, 64, 100}) {
      Matrix got;
      for (int64_t first = 0; first < tokens; first += chunk) {
        const int64_t count = std::min(chunk, tokens - first);
        const Matrix part(q.begin() + first * q_width, q.begin() + (first + count) * q_width);
        const Matrix out = run_latent(
            *backend, c.a, part, {{.first_row = 0, .query_len = count, .position = first, .cache = cache.rows(0)}}, {});
        got.insert(got.end(), out.begin(), out.end());
      }
      ASSERT_EQ(got, want) << "chunks of " << chunk << ", threads " << threads;
    }
  }
}

Matrix run_grouped(AttentionBackend& backend, const GroupedAttention& a, const Matrix& q,
                   const std::vector<AttentionSpan>& spans) {
  const int64_t width = a.num_q_heads * a.head_dim;
  const int64_t tokens = static_cast<int64_t>(q.size()) / width;
  Matrix out(q.size(), -9.0f);
  backend.grouped(a, {q.data(), tokens, width}, spans, {out.data(), tokens, width});
  return out;
}

TEST_P(CpuAttentionTest, GroupedMatchesTheReferenceWithAndWithoutAWindow) {
  for (const int64_t window : {0, 1, 20, 90}) {
    for (const int32_t kv_heads : {1, 2, 6}) {
      const GroupedAttention a = {
          .num_q_heads = 6, .num_kv_heads = kv_heads, .head_dim = 24, .scale = 0.2f, .window = window};
      const TestCache cache(2 * kv_heads * 24, {170, 1}, 230);
      const std::vector<AttentionSpan> spans = {
          {.first_row = 1, .query_len = 50, .position = 120, .cache = cache.rows(0)},
          {.first_row = 0, .query_len = 1, .position = 0, .cache = cache.rows(1)}};
      const Matrix q = random_floats(51 * 6 * 24, 231);
      const double spread = 0.2 * 24 * largest(q) * 5;
      expect_near(run_grouped(*cpu_, a, q, spans), run_grouped(*reference_, a, q, spans),
                  softmax_bound(spread, 24, 170, 5));
    }
  }
}

TEST_P(CpuAttentionTest, GroupedHasTheSameBitsForAnyChunking) {
  for (const int64_t window : {0, 70}) {
    const GroupedAttention a = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim = 16, .scale = 0.25f, .window = window};
    const int64_t tokens = 150, width = 64;
    const TestCache cache(2 * 2 * 16, {tokens}, 240);
    const Matrix q = random_floats(tokens * width, 241);
    const Matrix want =
        run_grouped(*cpu_, a, q, {{.first_row = 0, .query_len = tokens, .position = 0, .cache = cache.rows(0)}});
    for (const int64_t chunk : {1, 33, 64}) {
      for (int64_t first = 0; first < tokens; first += chunk) {
        const int64_t count = std::min(chunk, tokens - first);
        const Matrix part(q.begin() + first * width, q.begin() + (first + count) * width);
        const Matrix out = run_grouped(
            *cpu_, a, part, {{.first_row = 0, .query_len = count, .position = first, .cache = cache.rows(0)}});
        ASSERT_TRUE(std::equal(out.begin(), out.end(), want.begin() + first * width)) << chunk << " at " << first;
      }
    }
  }
}

TEST_P(CpuAttentionTest, LargeScoresDoNotOverflow) {
  const GroupedAttention a = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim = 16, .scale = 100.0f};
  const TestCache cache(32, {130}, 250);
  const Matrix q = random_floats(16, 251);
  const std::vector<AttentionSpan> spans = {{.first_row = 0, .query_len = 1, .position = 129, .cache = cache.rows(0)}};
  expect_near(run_grouped(*cpu_, a, q, spans), run_grouped(*reference_, a, q, spans),
              softmax_bound(100.0 * 16 * largest(q) * 5, 16, 130, 5));
}

struct Choice {
  KeySelection selection;
  std::vector<float> margins;
};

Choice run_select(AttentionBackend& backend, const KeyIndexer& indexer, const Matrix& q, const Matrix& weights,
                  const std::vector<AttentionSpan>& spans) {
  const int64_t tokens = static_cast<int64_t>(weights.size()) / indexer.num_heads;
  Choice c;
  backend.select_keys(indexer, {q.data(), tokens, indexer.num_heads * indexer.head_dim},
                      {weights.data(), tokens, indexer.num_heads}, spans, c.selection, &c.margins);
  return c;
}

TEST_P(CpuAttentionTest, SelectionEqualsTheReferenceWhereItsMarginIsClear) {
  const KeyIndexer indexer = {.num_heads = 3, .head_dim = 40, .top_k = 37};
  const TestCache cache(40, {700, 20, 60}, 260);
  const std::vector<AttentionSpan> spans = {{.first_row = 0, .query_len = 1, .position = 699, .cache = cache.rows(0)},
                                            {.first_row = 1, .query_len = 20, .position = 0, .cache = cache.rows(1)},
                                            {.first_row = 21, .query_len = 40, .position = 20, .cache = cache.rows(2)}};
  const Matrix q = random_floats(61 * 3 * 40, 261);
  const Matrix weights = random_floats(61 * 3, 262);
  const Choice got = run_select(*cpu_, indexer, q, weights, spans);
  const Choice want = run_select(*reference_, indexer, q, weights, spans);
  EXPECT_FALSE(got.selection.all_keys);
  ASSERT_EQ(got.selection.offsets, want.selection.offsets);
  ASSERT_EQ(got.margins.size(), want.margins.size());
  // Scores: 3 heads of weight below 4, products of 40 terms below 5 * 5, times 120^-1/2.
  const double bound = (40.0 / 16 + 12 + 4) * 0x1p-24 * 3 * 4 * 40 * 25 / std::sqrt(120.0);
  int clear = 0;
  for (size_t t = 0; t < want.margins.size(); ++t) {
    if (std::isinf(want.margins[t])) {
      EXPECT_EQ(got.margins[t], want.margins[t]);
    } else {
      EXPECT_NEAR(got.margins[t], want.margins[t], 2 * bound);
    }
    if (double{want.margins[t]} < 2 * bound) continue;
    ++clear;
    for (int64_t i = want.selection.offsets[t]; i < want.selection.offsets[t + 1]; ++i)
      ASSERT_EQ(got.selection.keys[static_cast<size_t>(i)], want.selection.keys[static_cast<size_t>(i)]) << t;
  }
  EXPECT_GT(clear, 55);
}

TEST_P(CpuAttentionTest, SelectionOfAllKeysWhereNoRowSeesMoreThanTopK) {
  const KeyIndexer indexer = {.num_heads = 2, .head_dim = 8, .top_k = 30};
  const TestCache cache(8, {30}, 270);
  const Choice c = run_select(*cpu_, indexer, random_floats(30 * 16, 271), random_floats(60, 272),
                              {{.first_row = 0, .query_len = 30, .position = 0, .cache = cache.rows(0)}});
  EXPECT_TRUE(c.selection.all_keys);
  EXPECT_TRUE(c.selection.offsets.empty() && c.selection.keys.empty());
  EXPECT_EQ(c.margins, std::vector<float>(30, std::numeric_limits<float>::infinity()));
}

TEST_P(CpuAttentionTest, EqualScoresChooseTheLowerKeys) {
  const KeyIndexer indexer = {.num_heads = 1, .head_dim = 8, .top_k = 5};
  const TestCache cache(8, {90}, 280);
  for (int64_t t = 0; t < 90; ++t) std::fill_n(cache.rows(0).row(t), 8, t % 10 == 9 ? 1.0f : 0.5f);
  const Choice c = run_select(*cpu_, indexer, Matrix(8, 1.0f), Matrix(1, 1.0f),
                              {{.first_row = 0, .query_len = 1, .position = 40, .cache = cache.rows(0)}});
  EXPECT_EQ(c.selection.keys, (std::vector<int32_t>{0, 9, 19, 29, 39}));
  EXPECT_EQ(c.margins[0], 0.0f);
}

TEST_P(CpuAttentionTest, SelectionHasTheSameKeysForAnyChunking) {
  const KeyIndexer indexer = {.num_heads = 4, .head_dim = 16, .top_k = 20};
  const int64_t tokens = 130;
  const TestCache cache(16, {tokens}, 290);
  const Matrix q = random_floats(tokens * 64, 291);
  const Matrix weights = random_floats(tokens * 4, 292);
  const Choice whole = run_select(*cpu_, indexer, q, weights,
                                  {{.first_row = 0, .query_len = tokens, .position = 0, .cache = cache.rows(0)}});
  for (int64_t t = 20; t < tokens; ++t) {
    const Choice one = run_select(*cpu_, indexer, Matrix(q.begin() + t * 64, q.begin() + (t + 1) * 64),
                                  Matrix(weights.begin() + t * 4, weights.begin() + (t + 1) * 4),
                                  {{.first_row = 0, .query_len = 1, .position = t, .cache = cache.rows(0)}});
    ASSERT_TRUE(std::equal(one.selection.keys.begin(), one.selection.keys.end(),
                           whole.selection.keys.begin() + whole.selection.offsets[static_cast<size_t>(t)]));
    ASSERT_EQ(one.margins[0], whole.margins[static_cast<size_t>(t)]);
  }
}

TEST(KeyRankTest, OrdersByScoreThenLowerKeyAndPutsNanLast) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_GT(cpu::key_rank(2.0f, 7), cpu::key_rank(1.0f, 0));
  EXPECT_GT(cpu::key_rank(-1.0f, 7), cpu::key_rank(-2.0f, 0));
  EXPECT_GT(cpu::key_rank(1e-45f, 7), cpu::key_rank(0.0f, 0));
  EXPECT_GT(cpu::key_rank(0.0f, 0), cpu::key_rank(-1e-45f, 7));
  EXPECT_GT(cpu::key_rank(1.0f, 3), cpu::key_rank(1.0f, 4));
  EXPECT_GT(cpu::key_rank(-0.0f, 3), cpu::key_rank(0.0f, 4));
  EXPECT_GT(cpu::key_rank(0.0f, 3), cpu::key_rank(-0.0f, 4));
  EXPECT_GT(cpu::key_rank(-inf, 9), cpu::key_rank(std::numeric_limits<float>::quiet_NaN(), 0));
}

}  // namespace
}  // namespace octet
