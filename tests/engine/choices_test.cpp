// Comparing choices: what counts as a flip, and which flips rounding explains.

#include "engine/choices.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

Choice choice(std::vector<int32_t> chosen, float margin) {
  return {.chosen = std::move(chosen), .scores = {0.1f, 0.2f, 0.3f}, .margin = margin};
}

Choices one_layer(int32_t layer, std::vector<Choice> rows) {
  Choices choices;
  choices.experts[layer] = std::move(rows);
  return choices;
}

TEST(CompareChoices, EqualChoicesAreNoFlips) {
  const Choices a = one_layer(1, {choice({0, 1}, 0.5f)});
  const Flips flips = compare_choices(a, a, {.experts = {{1, 0.0f}}});
  EXPECT_EQ(flips.count, 0);
  EXPECT_FALSE(flips.before(1000));
}

TEST(CompareChoices, AFlipIsExplainedUpToTwiceTheScoreError) {
  const Choices reference = one_layer(1, {choice({0, 1}, 0.5f)}), free = one_layer(1, {choice({0, 2}, 0.5f)});
  EXPECT_EQ(compare_choices(reference, free, {.experts = {{1, 0.24f}}}).unexplained, 1);
  const Flips explained = compare_choices(reference, free, {.experts = {{1, 0.26f}}});
  EXPECT_EQ(explained.count, 1);
  EXPECT_EQ(explained.unexplained, 0);
  EXPECT_TRUE(explained.before(0));
}

TEST(CompareChoices, WhatAnEarlierFlipCanReachIsNotJudged) {
  Choices reference = one_layer(1, {choice({0, 1}, 0.1f), choice({0, 1}, 9.0f)}), free = reference;
  reference.experts[2] = {choice({0, 1}, 9.0f), choice({0, 1}, 9.0f)};
  free.experts[2] = {choice({0, 1}, 9.0f), choice({1, 2}, 9.0f)};  // a later row of a later layer
  free.experts[1][0].chosen = {1, 2};                              // a near-tie at position 0
  const ScoreErrors errors{.experts = {{1, 0.1f}, {2, 0.1f}}};
  EXPECT_EQ(compare_choices(reference, free, errors).count, 2);
  EXPECT_EQ(compare_choices(reference, free, errors).unexplained, 0);
  // In the same layer, or at an earlier position, the first flip cannot be the cause.
  free.experts[1][1].chosen = {1, 2};
  EXPECT_EQ(compare_choices(reference, free, errors).unexplained, 1);
}

TEST(CompareChoices, AKeyFlipReachesTheRouterOfItsOwnLayer) {
  Choices reference = one_layer(3, {choice({0, 1}, 9.0f)}), free = one_layer(3, {choice({1, 2}, 9.0f)});
  reference.keys[3] = {choice({0, 1}, 0.0f)};
  free.keys[3] = {choice({0, 2}, 0.0f)};
  const Flips flips = compare_choices(reference, free, {.experts = {{3, 0.0f}}, .keys = {{3, 0.0f}}});
  EXPECT_EQ(flips.count, 2);
  EXPECT_EQ(flips.unexplained, 0);
}

TEST(ScoreErrors, TakeTheLargestDifferenceOfALayer) {
  Choices a = one_layer(1, {choice({0}, 0), choice({0}, 0)}), b = a;
  b.experts[1][1].scores[2] = 0.4f;
  EXPECT_NEAR(score_errors(a, b).experts.at(1), 0.1f, 1e-6);
}

TEST(ScoreErrors, AreMeasuredAgainstTheSizeOfTheScores) {
  Choices a, b;
  a.keys[2] = {{.chosen = {0}, .scores = {3.0f, 4.0f}, .margin = 0}};
  b.keys[2] = {{.chosen = {0}, .scores = {3.0f, 3.5f}, .margin = 0}};
  EXPECT_NEAR(score_errors(a, b).nmse, 0.25 / 25, 1e-9);
  EXPECT_EQ(score_errors(a, a).nmse, 0);
}

}  // namespace
}  // namespace octet
