#include "moe/routing/routing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::error_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

RoutingTable route_rows(const RouterOptions& options, const std::vector<float>& logits,
                        std::vector<uint8_t> is_padding = {}) {
  RoutingTable table;
  const auto rows = static_cast<int64_t>(logits.size()) / options.num_experts;
  EXPECT_TRUE(route(options, {logits.data(), rows, options.num_experts}, is_padding, table).empty());
  return table;
}

void expect_weights(const RoutingTable& table, const std::vector<float>& expected, float error = 1e-6f) {
  ASSERT_EQ(table.weights.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(table.weights[i], expected[i], error) << i;
}

// The example of a DeepSeek-style router that was computed with the published code.
const std::vector<float> kPublishedLogits = {2, -1, 0.5f, 1, 3, -4, 0, -2};
const std::vector<float> kPublishedBias = {0, 0.3f, 0, 0.1f, 0, 0, 0, 0.5f};

RouterOptions published(int32_t num_groups, int32_t top_groups) {
  return {.scoring = RouterOptions::Scoring::sigmoid,
          .num_experts = 8,
          .top_k = 3,
          .num_groups = num_groups,
          .top_groups = top_groups,
          .normalize = true,
          .scale = 2.5f,
          .correction = kPublishedBias};
}

TEST(SigmoidRouter, GivesThePublishedExampleWithGroups) {
  const RoutingTable table = route_rows(published(4, 2), kPublishedLogits);
  EXPECT_EQ(table.ids, (std::vector<int32_t>{0, 3, 2}));
  expect_weights(table, {0.985534f, 0.817990f, 0.696477f});
}

TEST(SigmoidRouter, GivesThePublishedExampleWithoutGroups) {
  const RoutingTable table = route_rows(published(1, 1), kPublishedLogits);
  EXPECT_EQ(table.ids, (std::vector<int32_t>{4, 0, 3}));
  expect_weights(table, {0.928641f, 0.858668f, 0.712691f});
}

TEST(SigmoidRouter, WithoutRenormalizationWeightsAreScaledScoresWithoutTheCorrection) {
  RouterOptions options = published(1, 1);
  options.normalize = false;
  expect_weights(route_rows(options, kPublishedLogits), {2.5f * 0.952574f, 2.5f * 0.880797f, 2.5f * 0.731059f}, 3e-6f);
}

TEST(SigmoidRouter, TheCorrectionChangesTheChoiceAndNotTheWeight) {
  std::vector<float> correction = {0, 0, 5};
  const RouterOptions options = {
      .scoring = RouterOptions::Scoring::sigmoid, .num_experts = 3, .top_k = 1, .correction = correction};
  const RoutingTable table = route_rows(options, {1, 2, -1});
  EXPECT_EQ(table.ids, std::vector<int32_t>{2});
  expect_weights(table, {0.268941f});
}

TEST(SigmoidRouter, ScoresThatAreAllZeroGiveWeightZeroNotNaN) {
  const RouterOptions options = {
      .scoring = RouterOptions::Scoring::sigmoid, .num_experts = 3, .top_k = 2, .normalize = true};
  const RoutingTable table = route_rows(options, {-2000, -1000, -3000});
  EXPECT_EQ(table.weights, (std::vector<float>{0, 0}));
}

TEST(SigmoidRouter, DroppedGroupsStayOutEvenIfAllCandidatesAreNegative) {
  // Chosen by score + correction < 0; a dropped expert counts as -infinity, not as 0.
  const std::vector<float> correction = {-2, -2, -3, -3};
  const RouterOptions options = {.scoring = RouterOptions::Scoring::sigmoid,
                                 .num_experts = 4,
                                 .top_k = 2,
                                 .num_groups = 2,
                                 .top_groups = 1,
                                 .correction = correction};
  EXPECT_EQ(route_rows(options, {0, 1, 5, 5}).ids, (std::vector<int32_t>{1, 0}));
}

TEST(SigmoidRouter, AGroupCountsByItsTwoBestNotByItsBest) {
  // Group 0 holds the best expert, group 1 the better pair.
  const RouterOptions options = {
      .scoring = RouterOptions::Scoring::sigmoid, .num_experts = 6, .top_k = 2, .num_groups = 2, .top_groups = 1};
  EXPECT_EQ(route_rows(options, {4, -4, -4, 2, -5, 1}).ids, (std::vector<int32_t>{3, 5}));
}

TEST(SoftmaxRouter, WithoutRenormalizationWeightsAreSharesOfAllExperts) {
  const RouterOptions options = {.num_experts = 4, .top_k = 2};
  // softmax([0, 1, 2, 3]), by hand: e^k / 31.192875.
  const RoutingTable table = route_rows(options, {0, 1, 3, 2});
  EXPECT_EQ(table.ids, (std::vector<int32_t>{2, 3}));
  expect_weights(table, {0.643914f, 0.236883f});
}

TEST(SoftmaxRouter, WithRenormalizationTheChosenWeightsAddUpToTheScale) {
  const RouterOptions options = {.num_experts = 4, .top_k = 2, .normalize = true, .scale = 3};
  // 1 / (1 + e^-1) and its complement, times 3.
  expect_weights(route_rows(options, {0, 1, 3, 2}), {3 * 0.731059f, 3 * 0.268941f}, 3e-6f);
}

TEST(SoftmaxRouter, LargeLogitsDoNotOverflow) {
  const RouterOptions options = {.num_experts = 3, .top_k = 2};
  expect_weights(route_rows(options, {1e30f, -1e30f, 1e30f}), {0.5f, 0.5f});
  expect_weights(route_rows(options, {-1e30f, -1e30f, -1e30f}), {1.0f / 3, 1.0f / 3});
}

TEST(Router, OnTiesTakesTheLowerExpertFirst) {
  for (const auto scoring : {RouterOptions::Scoring::sigmoid, RouterOptions::Scoring::softmax}) {
    const RouterOptions options = {.scoring = scoring, .num_experts = 6, .top_k = 3};
    EXPECT_EQ(route_rows(options, {1, 2, 1, 2, 1, 2}).ids, (std::vector<int32_t>{1, 3, 5}));
    EXPECT_EQ(route_rows(options, {1, 1, 1, 2, 1, 1}).ids, (std::vector<int32_t>{3, 0, 1}));
  }
}

TEST(Router, OnTiedGroupsTakesTheLowerGroup) {
  RouterOptions options = {
      .scoring = RouterOptions::Scoring::sigmoid, .num_experts = 6, .top_k = 2, .num_groups = 3, .top_groups = 1};
  EXPECT_EQ(route_rows(options, {0, 1, 1, 0, 0, 1}).ids, (std::vector<int32_t>{1, 0}));
}

TEST(Router, ExpertsMayAllBeChosen) {
  const RouterOptions options = {.num_experts = 3, .top_k = 3};
  EXPECT_EQ(route_rows(options, {1, 3, 2}).ids, (std::vector<int32_t>{1, 2, 0}));
}

TEST(Router, MoreExpertsAskedForThanThereAreIsAnError) {
  const std::vector<float> logits = {1, 2};
  RoutingTable table;
  EXPECT_NE(error_of(ErrorCode::internal,
                     [&] {
                       route({.num_experts = 2, .top_k = 3}, {logits.data(), 1, 2}, {}, table);
                     }),
            "");
  EXPECT_NE(error_of(ErrorCode::internal,
                     [&] {
                       route({.num_experts = 3, .top_k = 1}, {logits.data(), 1, 2}, {}, table);
                     }),
            "");
}

TEST(Router, NoRowsGiveAnEmptyTable) {
  RoutingTable table{.top_k = 9, .ids = {1, 2, 3}, .weights = {1, 2, 3}};
  EXPECT_TRUE(route({.num_experts = 4, .top_k = 2}, {nullptr, 0, 4}, {}, table).empty());
  EXPECT_EQ(table.top_k, 2);
  EXPECT_EQ(table.num_tokens(), 0);
  EXPECT_TRUE(table.ids.empty());
  EXPECT_TRUE(table.weights.empty());
  EXPECT_EQ(RoutingTable{}.num_tokens(), 0);
}

TEST(Router, PaddingRowsAreNotRoutedWhateverTheyHold) {
  const RouterOptions options = {.num_experts = 3, .top_k = 2};
  const RoutingTable table = route_rows(options, {1, 2, 3, kNaN, kNaN, kInfinity, 3, 2, 1}, {0, 1, 0});
  EXPECT_EQ(table.num_tokens(), 3);
  EXPECT_EQ(table.ids, (std::vector<int32_t>{2, 1, -1, -1, 0, 1}));
  EXPECT_EQ(table.weights[2], 0);
  EXPECT_EQ(table.weights[3], 0);
  EXPECT_GT(table.weights[4], table.weights[5]);
}

TEST(Router, RowsWithNaNOrInfinityAreReportedAndUnroutedAndTheOthersUntouched) {
  const RouterOptions options = {.num_experts = 3, .top_k = 2, .normalize = true};
  const std::vector<float> logits = {1, 2, 3, 1, kNaN, 3, 3, 2, 1, kInfinity, 0, 0, 0, 0, -kInfinity, 5, 5, 5};
  RoutingTable table;
  const std::vector<int64_t> bad = route(options, {logits.data(), 6, 3}, {}, table);
  EXPECT_EQ(bad, (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(table.ids, (std::vector<int32_t>{2, 1, -1, -1, 0, 1, -1, -1, -1, -1, 0, 1}));
  for (size_t i = 0; i < table.ids.size(); ++i) EXPECT_EQ(table.weights[i] > 0, table.ids[i] >= 0) << i;
}

TEST(Router, RowsMayBePartsOfWiderOnes) {
  const std::vector<float> memory = {1, 2, 3, 99, 98, 3, 2, 1, 97, 96};
  RoutingTable table;
  route({.num_experts = 3, .top_k = 1}, {memory.data(), 2, 3, 5}, {}, table);
  EXPECT_EQ(table.ids, (std::vector<int32_t>{2, 0}));
}

/// The choice straight from the definition, by sorting everything.
std::vector<int32_t> choice_by_sorting(const RouterOptions& options, const std::vector<float>& scores) {
  const auto order_of = [](const std::vector<float>& values) {
    std::vector<int32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
    });
    return order;
  };
  const int32_t width = options.num_experts / options.num_groups;
  std::vector<float> groups;
  for (int32_t g = 0; g < options.num_groups; ++g) {
    std::vector<float> members(scores.begin() + g * width, scores.begin() + (g + 1) * width);
    std::sort(members.rbegin(), members.rend());
    groups.push_back(members[0] + members[1]);
  }
  std::vector<int32_t> kept = order_of(groups);
  kept.resize(static_cast<size_t>(options.top_groups));
  std::vector<int32_t> chosen;
  for (const int32_t e : order_of(scores)) {
    const bool in_kept_group = std::find(kept.begin(), kept.end(), e / width) != kept.end();
    if (in_kept_group && static_cast<int32_t>(chosen.size()) < options.top_k) chosen.push_back(e);
  }
  return chosen;
}

TEST(Router, RandomRowsGiveTheChoiceOfASortAlsoForIdsAbove255) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal(0, 1);
  for (const int32_t num_groups : {1, 8}) {
    std::vector<float> correction(384), logits(384), scores(384);
    for (int round = 0; round < 200; ++round) {
      for (float& c : correction) c = 0.1f * normal(random);
      for (float& l : logits) l = normal(random);
      RouterOptions options = published(num_groups, num_groups == 1 ? 1 : 4);
      options.num_experts = 384;
      options.top_k = 8;
      options.correction = correction;
      for (size_t e = 0; e < 384; ++e) {
        scores[e] = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(logits[e])))) + correction[e];
      }
      ASSERT_EQ(route_rows(options, logits).ids, choice_by_sorting(options, scores)) << round;
    }
  }
}

TEST(ChoiceScores, AreScorePlusCorrectionAndMinusInfinityInDroppedGroups) {
  std::vector<float> scores(8);
  choice_scores(published(4, 2), kPublishedLogits.data(), scores);
  const std::vector<float> expected = {0.880797f, 0.568941f, 0.622459f, 0.831059f};
  for (size_t e = 0; e < 4; ++e) EXPECT_NEAR(scores[e], expected[e], 1e-6);
  for (size_t e = 4; e < 8; ++e) EXPECT_EQ(scores[e], -kInfinity);
}

TEST(ChoiceScores, TheMarginIsTheGapBetweenTheLastChosenAndTheFirstLeftOut) {
  std::vector<float> scores(8);
  // Without groups: 0.952574, 0.880797, 0.831059 are chosen, 0.622459 is next.
  EXPECT_NEAR(choice_scores(published(1, 1), kPublishedLogits.data(), scores), 0.831059 - 0.622459, 1e-6);
}

TEST(ChoiceScores, TheMarginIsHalfTheGapOfTheGroupsIfThatIsSmaller) {
  std::vector<float> scores(8);
  // Groups 1 and 0 with 1.453518 and 1.449738 are kept, then comes 1.119203; experts: 0.622459 against 0.568941.
  EXPECT_NEAR(choice_scores(published(4, 2), kPublishedLogits.data(), scores), 0.622459 - 0.568941, 1e-6);
  // One group kept: 1.453518 against 1.449738, and it has no expert to spare.
  RouterOptions options = published(4, 1);
  options.top_k = 2;
  EXPECT_NEAR(choice_scores(options, kPublishedLogits.data(), scores), (1.453518 - 1.449738) / 2, 1e-6);
}

TEST(ChoiceScores, TheMarginIsZeroOnTiesAndInfiniteWithoutAnAlternative) {
  std::vector<float> scores(3);
  const std::vector<float> logits = {1, 2, 1};
  EXPECT_EQ(choice_scores({.num_experts = 3, .top_k = 2}, logits.data(), scores), 0);
  EXPECT_EQ(choice_scores({.num_experts = 3, .top_k = 3}, logits.data(), scores), kInfinity);
}

TEST(Weigh, AReplacedChoiceGetsTheWeightsOfItsOwnExperts) {
  const RouterOptions options = published(1, 1);
  RoutingTable table = route_rows(options, kPublishedLogits);
  table.ids = {2, 6, 1};
  weigh(options, {kPublishedLogits.data(), 1, 8}, table);
  const float sum = 0.622459f + 0.5f + 0.268941f;
  expect_weights(table, {2.5f * 0.622459f / sum, 2.5f * 0.5f / sum, 2.5f * 0.268941f / sum}, 3e-6f);
}

TEST(Weigh, RepeatsTheWeightsOfRouteForItsOwnChoice) {
  const RouterOptions options = published(4, 2);
  RoutingTable table = route_rows(options, kPublishedLogits);
  const std::vector<float> weights = table.weights;
  std::fill(table.weights.begin(), table.weights.end(), -1.0f);
  weigh(options, {kPublishedLogits.data(), 1, 8}, table);
  EXPECT_EQ(table.weights, weights);
}

TEST(Weigh, RowsWithoutExpertsKeepWeightZero) {
  const RouterOptions options = {.num_experts = 2, .top_k = 1};
  const std::vector<float> logits = {1, 1, kNaN, kNaN};
  RoutingTable table{.top_k = 1, .ids = {1, -1}, .weights = {0, 0}};
  weigh(options, {logits.data(), 2, 2}, table);
  EXPECT_EQ(table.weights, (std::vector<float>{0.5f, 0}));
}

TEST(DistinctExperts, CountsEachExpertOnceAndNoPadding) {
  EXPECT_EQ(distinct_experts({.top_k = 2, .ids = {3, 1, -1, -1, 1, 383}}, 384), 3);
  EXPECT_EQ(distinct_experts({.top_k = 1, .ids = {-1, -1}}, 8), 0);
  EXPECT_EQ(distinct_experts({}, 8), 0);
}

}  // namespace
}  // namespace octet
