#include "kv_cache/kv_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kv_cache/step_plan.h"
#include "support/error_of.h"

namespace octet {
namespace {

using testing::error_of;

/// Latents in every layer and keys in some, as in a model with sparse attention.
KvLayout two_groups() {
  return {.groups = {{.name = "latent", .layers = {0, 1, 2, 3, 4}, .row_width = 12},
                     {.name = "index_keys", .layers = {1, 4}, .row_width = 5}}};
}

KvLayout small() { return {.groups = {{.name = "kv", .layers = {0}, .row_width = 1}}}; }

std::vector<PageId> take(KvCache& cache, int64_t count) {
  std::vector<PageId> pages;
  EXPECT_TRUE(cache.allocate(count, pages));
  EXPECT_EQ(pages.size(), static_cast<size_t>(count));
  return pages;
}

TEST(KvLayout, BytesOfATokenAreTheSumOverGroupsAndLayers) {
  EXPECT_EQ(two_groups().bytes_per_token(), (5 * 12 + 2 * 5) * 4);
  KvLayout narrow = two_groups();
  narrow.groups[1].type = DType::bf16;
  EXPECT_EQ(narrow.bytes_per_token(), 5 * 12 * 4 + 2 * 5 * 2);
  EXPECT_EQ(KvLayout{}.bytes_per_token(), 0);
}

TEST(PagesFor, RoundsUpToWholePages) {
  EXPECT_EQ(pages_for(0), 0);
  EXPECT_EQ(pages_for(1), 1);
  EXPECT_EQ(pages_for(64), 1);
  EXPECT_EQ(pages_for(65), 2);
  EXPECT_EQ(pages_for(int64_t{1} << 40), int64_t{1} << 34);
}

TEST(KvCache, GivesOutEachPageOnceUntilNoneIsFree) {
  KvCache cache(small(), 7);
  EXPECT_EQ(cache.num_pages(), 7);
  EXPECT_EQ(cache.free_pages(), 7);
  std::vector<PageId> pages = take(cache, 3);
  EXPECT_TRUE(cache.allocate(4, pages)) << "new pages are appended";
  std::sort(pages.begin(), pages.end());
  for (int32_t i = 0; i < 7; ++i) EXPECT_EQ(pages[static_cast<size_t>(i)], PageId{i});
  EXPECT_EQ(cache.free_pages(), 0);
}

TEST(KvCache, ARequestForMorePagesThanAreFreeTakesNothing) {
  KvCache cache(small(), 4);
  std::vector<PageId> pages = take(cache, 2);
  EXPECT_FALSE(cache.allocate(3, pages));
  EXPECT_EQ(pages.size(), 2u);
  EXPECT_EQ(cache.free_pages(), 2);
  EXPECT_TRUE(cache.allocate(0, pages));
  EXPECT_EQ(pages.size(), 2u);
}

TEST(KvCache, RandomAllocationsAndReleasesConservePagesAndNeverShareOne) {
  constexpr int64_t kPages = 50;
  KvCache cache(small(), kPages);
  std::mt19937 random(1);
  std::vector<std::vector<PageId>> held;
  std::vector<int> owners(kPages, 0);
  for (int event = 0; event < 20000; ++event) {
    if (held.empty() || random() % 2 == 0) {
      const auto count = static_cast<int64_t>(random() % 12);
      const bool fits = count <= cache.free_pages();
      std::vector<PageId> pages;
      ASSERT_EQ(cache.allocate(count, pages), fits);
      ASSERT_EQ(pages.size(), static_cast<size_t>(fits ? count : 0));
      for (const PageId page : pages) ASSERT_EQ(++owners[static_cast<size_t>(page.value)], 1) << page.value;
      held.push_back(std::move(pages));
    } else {
      std::swap(held[random() % held.size()], held.back());
      cache.release(held.back());
      for (const PageId page : held.back()) --owners[static_cast<size_t>(page.value)];
      held.pop_back();
    }
    ASSERT_EQ(cache.free_pages(), kPages - std::accumulate(owners.begin(), owners.end(), 0));
  }
}

TEST(KvCache, ReleasingAPageTwiceOrOneThatWasNeverGivenOutIsAnError) {
  KvCache cache(small(), 3);
  const std::vector<PageId> pages = take(cache, 2);
  const std::vector<PageId> twice = {pages[0], pages[0]};
  EXPECT_NE(error_of(ErrorCode::internal, [&] { cache.release(twice); }), "");
  EXPECT_NE(error_of(ErrorCode::internal, [&] { cache.release(std::vector{pages[0]}); }), "");
  EXPECT_EQ(cache.free_pages(), 2) << "a page that is released twice is free once";
  for (const int32_t bad : {-1, 3, INT32_MAX}) {
    EXPECT_NE(error_of(ErrorCode::internal, [&] { cache.release(std::vector{PageId{bad}}); }), "") << bad;
  }
}

TEST(KvCache, NeedsAtLeastOnePageAndLayersInOrder) {
  EXPECT_NE(error_of(ErrorCode::internal, [] { KvCache(small(), 0); }), "");
  const KvLayout unordered = {.groups = {{.name = "kv", .layers = {2, 1}, .row_width = 1}}};
  EXPECT_NE(error_of(ErrorCode::internal, [&] { KvCache(unordered, 1); }), "");
}

TEST(KvCache, RowsOfDifferentGroupsLayersPagesAndPositionsNeverOverlap) {
  KvCache cache(two_groups(), 3);
  const std::vector<PageId> pages = {PageId{2}, PageId{0}, PageId{1}};
  // Writes, or with `check` compares, a number that occurs once in the whole cache.
  const auto visit = [&](bool check) {
    float next = 1;
    for (int32_t group = 0; group < 2; ++group) {
      const KvGroup& g = cache.layout().groups[static_cast<size_t>(group)];
      for (const int32_t layer : g.layers) {
        const PagedRows rows = cache.rows(group, layer, pages);
        ASSERT_EQ(rows.row_width, g.row_width);
        for (int64_t position = 0; position < 3 * kPageTokens; ++position) {
          for (int64_t i = 0; i < g.row_width; ++i, ++next) {
            float& value = rows.row(position)[i];
            const float expected = check ? next : 0.0f;  // zero before the first write
            ASSERT_EQ(value, expected) << g.name << " layer " << layer << " position " << position;
            value = next;
          }
        }
      }
    }
    EXPECT_LT(next, 0x1p24f) << "beyond this a float no longer tells the numbers apart";
  };
  visit(false);
  visit(true);
}

TEST(KvCache, RowsFollowThePageTable) {
  KvCache cache(two_groups(), 4);
  const std::vector<PageId> straight = {PageId{0}, PageId{1}, PageId{2}, PageId{3}};
  const std::vector<PageId> table = {PageId{3}, PageId{1}};
  const PagedRows all = cache.rows(0, 2, straight), sequence = cache.rows(0, 2, table);
  EXPECT_EQ(sequence.row(0), all.row(3 * 64));
  EXPECT_EQ(sequence.row(63), all.row(3 * 64 + 63));
  EXPECT_EQ(sequence.row(64), all.row(64));
  EXPECT_EQ(sequence.row(64 + 5), all.row(64 + 5));
}

TEST(KvCache, ALayerThatTheGroupDoesNotHaveIsAnError) {
  KvCache cache(two_groups(), 1);
  const std::vector<PageId> pages = {PageId{0}};
  for (const int32_t layer : {0, 2, 3, 5, 1000, -1}) {
    EXPECT_NE(error_of(ErrorCode::internal, [&] { cache.rows(1, layer, pages); }), "") << layer;
  }
}

TEST(AppendRows, AddsConsecutivePositionsBehindTheRowsThatAreThere) {
  StepPlan plan;
  const std::vector<TokenId> first = {TokenId{5}}, second = {TokenId{6}, TokenId{7}, TokenId{8}};
  const std::vector<PageId> pages = {PageId{9}};
  append_rows(plan, RequestId{1}, RowKind::decode, first, 40, pages);
  append_rows(plan, RequestId{2}, RowKind::prefill, second, 10, pages);
  EXPECT_EQ(plan.num_tokens(), 4);
  EXPECT_EQ(plan.tokens, (std::vector<TokenId>{TokenId{5}, TokenId{6}, TokenId{7}, TokenId{8}}));
  EXPECT_EQ(plan.positions, (std::vector<int64_t>{40, 10, 11, 12}));
  EXPECT_EQ(plan.is_padding, std::vector<uint8_t>(4, 0));
  EXPECT_TRUE(plan.logit_rows.empty());
  ASSERT_EQ(plan.sequences.size(), 2u);
  const SequenceRows& rows = plan.sequences[1];
  EXPECT_EQ(rows.request, RequestId{2});
  EXPECT_EQ(rows.kind, RowKind::prefill);
  EXPECT_EQ(rows.first_row, 1);
  EXPECT_EQ(rows.query_len, 3);
  EXPECT_EQ(rows.position, 10);
  EXPECT_EQ(rows.pages.data(), pages.data());
  EXPECT_EQ(plan.sequences[0].kind, RowKind::decode);
  EXPECT_EQ(plan.sequences[0].first_row, 0);
}

}  // namespace
}  // namespace octet
