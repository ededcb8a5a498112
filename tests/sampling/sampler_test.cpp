#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr SamplingOptions kGreedy = {.temperature = 0};

SampleInput row(const std::vector<float>& logits) {
  return {.logits = logits, .vocab = static_cast<int64_t>(logits.size())};
}

/// Logits whose softmax is p.
std::vector<float> logits_of(const std::vector<double>& p) {
  std::vector<float> logits;
  for (const double share : p) logits.push_back(static_cast<float>(std::log(share)));
  return logits;
}

/// Tokens that come up in 500 draws. A token that may be drawn with at least 5 % stays out once in 10^11 times.
std::set<int32_t> drawn(SampleInput input, const SamplingOptions& options) {
  std::set<int32_t> tokens;
  for (input.position = 0; input.position < 500; ++input.position) tokens.insert(sample(input, options).token.value);
  return tokens;
}

/// Greedy choice with a history of these prompt and answer tokens.
int32_t greedy(const std::vector<float>& logits, const std::vector<int32_t>& prompt, const std::vector<int32_t>& answer,
               SamplingOptions options) {
  TokenHistory history;
  for (const int32_t token : prompt) history.add_prompt(TokenId{token});
  for (const int32_t token : answer) history.add_answer(TokenId{token});
  options.temperature = 0;
  SampleInput input = row(logits);
  input.history = &history;
  return sample(input, options).token.value;
}

TEST(Greedy, TakesTheLargestLogitAndOnTiesTheLowerId) {
  EXPECT_EQ(sample(row({1, 3, 2}), kGreedy).token, TokenId{1});
  EXPECT_EQ(sample(row({1, 3, 2, 3}), kGreedy).token, TokenId{1});
  EXPECT_EQ(sample(row({-kInfinity, -5, -kInfinity, -5}), kGreedy).token, TokenId{1});
  EXPECT_EQ(sample(row({7}), kGreedy).token, TokenId{0});
}

TEST(Greedy, BreaksTiesTheSameWayWithAHistoryOrAMask) {
  EXPECT_EQ(greedy({1, 3, 2, 3}, {}, {}, kGreedy), 1);
  const std::vector<uint32_t> all = {~0u};
  const std::vector<float> logits = {1, 3, 2, 3};
  SampleInput input = row(logits);
  input.allowed = all;
  EXPECT_EQ(sample(input, kGreedy).token, TokenId{1});
}

TEST(Greedy, IgnoresFiltersAndSeed) {
  const SamplingOptions options = {.temperature = 0, .top_p = 0.1, .top_k = 1, .min_p = 1, .seed = 99};
  EXPECT_EQ(sample(row({1, 3, 2, 3}), options).token, TokenId{1});
}

TEST(Sample, WithoutFiltersDrawsEveryToken) {
  EXPECT_EQ(drawn(row(logits_of({.4, .3, .2, .1})), {}), (std::set{0, 1, 2, 3}));
}

TEST(TopK, KeepsTheMostProbableTokens) {
  const std::vector<float> logits = logits_of({.1, .4, .2, .3});
  EXPECT_EQ(drawn(row(logits), {.top_k = 1}), (std::set{1}));
  EXPECT_EQ(drawn(row(logits), {.top_k = 2}), (std::set{1, 3}));
  EXPECT_EQ(drawn(row(logits), {.top_k = 3}), (std::set{1, 2, 3}));
}

TEST(TopK, ZeroMinusOneAndMoreThanAllKeepEveryToken) {
  const std::vector<float> logits = logits_of({.1, .4, .2, .3});
  for (const int64_t top_k : {int64_t{0}, int64_t{-1}, int64_t{4}, int64_t{1'000'000'000}}) {
    EXPECT_EQ(drawn(row(logits), {.top_k = top_k}), (std::set{0, 1, 2, 3})) << top_k;
  }
}

TEST(TopK, CutsTiesAtTheHigherIds) { EXPECT_EQ(drawn(row({2, 2, 2, 2}), {.top_k = 2}), (std::set{0, 1})); }

TEST(TopP, KeepsTheFewestTokensThatReachTheShare) {
  const std::vector<float> logits = logits_of({.1, .4, .2, .3});
  EXPECT_EQ(drawn(row(logits), {.top_p = 0.39}), (std::set{1}));
  EXPECT_EQ(drawn(row(logits), {.top_p = 0.41}), (std::set{1, 3}));
  EXPECT_EQ(drawn(row(logits), {.top_p = 0.69}), (std::set{1, 3}));
  EXPECT_EQ(drawn(row(logits), {.top_p = 0.71}), (std::set{1, 2, 3}));
  EXPECT_EQ(drawn(row(logits), {.top_p = 0.91}), (std::set{0, 1, 2, 3}));
}

TEST(TopP, AShareThatIsReachedExactlyIsEnough) {
  // Four equal logits: every share is exactly 1/4.
  EXPECT_EQ(drawn(row({3, 3, 3, 3}), {.top_p = 0.5}), (std::set{0, 1}));
  EXPECT_EQ(drawn(row({3, 3, 3, 3}), {.top_p = 0.51}), (std::set{0, 1, 2}));
}

TEST(TopP, TheSmallestValueKeepsOneTokenAndOneKeepsAll) {
  EXPECT_EQ(drawn(row({3, 3, 3, 3}), {.top_p = 1e-9}), (std::set{0}));
  EXPECT_EQ(drawn(row({3, 3, 3, 3}), {.top_p = 1}), (std::set{0, 1, 2, 3}));
}

TEST(MinP, DropsTokensBelowTheShareOfTheBestOnesProbability) {
  const std::vector<float> logits = logits_of({.1, .4, .2, .3});  // shares of the best: 0.25, 1, 0.5, 0.75
  EXPECT_EQ(drawn(row(logits), {.min_p = 0.24}), (std::set{0, 1, 2, 3}));
  EXPECT_EQ(drawn(row(logits), {.min_p = 0.26}), (std::set{1, 2, 3}));
  EXPECT_EQ(drawn(row(logits), {.min_p = 0.51}), (std::set{1, 3}));
  EXPECT_EQ(drawn(row(logits), {.min_p = 0.76}), (std::set{1}));
}

TEST(MinP, OneKeepsTheBestAndItsEqualsAndZeroKeepsAll) {
  EXPECT_EQ(drawn(row({3, 2.999f, 3, 1}), {.min_p = 1}), (std::set{0, 2}));
  EXPECT_EQ(drawn(row({3, 3, 3, 1.5f}), {.min_p = 0}), (std::set{0, 1, 2, 3}));
}

// Each example gives another set if its two steps are exchanged.
TEST(Order, TopKComesBeforeTopP) {
  // Of {.4, .3} token 0 has 0.571 and reaches 0.55 alone; of all four it would need token 1.
  EXPECT_EQ(drawn(row(logits_of({.4, .3, .2, .1})), {.top_p = 0.55, .top_k = 2}), (std::set{0}));
}

TEST(Order, TopPComesBeforeMinP) {
  // min_p alone leaves {.4, .3}, of which token 0 would reach 0.55.
  EXPECT_EQ(drawn(row(logits_of({.4, .3, .2, .1})), {.top_p = 0.55, .min_p = 0.6}), (std::set{0, 1}));
}

TEST(Order, TemperatureComesBeforeTheFilters) {
  // At temperature 0.5 shares are squared: {.16, .09, .04, .01} / .3 = {.533, .3, .133, .033}.
  const std::vector<float> logits = logits_of({.4, .3, .2, .1});
  EXPECT_EQ(drawn(row(logits), {.temperature = 0.5, .top_p = 0.53}), (std::set{0}));
  EXPECT_EQ(drawn(row(logits), {.temperature = 0.5, .top_p = 0.54}), (std::set{0, 1}));
  EXPECT_EQ(drawn(row(logits), {.temperature = 0.5, .min_p = 0.26}), (std::set{0, 1}));  // .04 / .16 = .25
}

TEST(Order, PenaltiesComeBeforeTheFilters) {
  TokenHistory history;
  history.add_answer(TokenId{0});
  const std::vector<float> logits = {5, 4, 3.5f, 3};
  SampleInput input = row(logits);
  input.history = &history;
  EXPECT_EQ(drawn(input, {.top_k = 1, .presence_penalty = 1.25}), (std::set{1}));
}

TEST(Order, TheMaskComesBeforeTheFilters) {
  const std::vector<uint32_t> allowed = {0b1100};
  const std::vector<float> logits = logits_of({.4, .3, .2, .1});
  SampleInput input = row(logits);
  input.allowed = allowed;
  EXPECT_EQ(drawn(input, {.top_k = 1}), (std::set{2}));
  EXPECT_EQ(drawn(input, {.top_p = 0.65}), (std::set{2}));  // of {.2, .1} token 2 has 0.667
  EXPECT_EQ(drawn(input, {.min_p = 0.4}), (std::set{2, 3}));
}

// The rival's logit lies just above and just below the penalized one, so the value itself is tested.
void expect_penalized(float logit, const std::vector<int32_t>& prompt, const std::vector<int32_t>& answer,
                      const SamplingOptions& options, float expected) {
  EXPECT_EQ(greedy({logit, expected + 0.001f}, prompt, answer, options), 1) << "not lowered to " << expected;
  EXPECT_EQ(greedy({logit, expected - 0.001f}, prompt, answer, options), 0) << "lowered below " << expected;
}

TEST(Penalties, RepetitionDividesPositiveAndMultipliesNegativeLogits) {
  const SamplingOptions options = {.repetition_penalty = 2};
  expect_penalized(3, {0}, {}, options, 1.5f);
  expect_penalized(-3, {0}, {}, options, -6);
  expect_penalized(0, {0}, {}, options, 0);
  expect_penalized(3, {0}, {}, {.repetition_penalty = 0.5}, 6);
}

TEST(Penalties, RepetitionCountsOnceForAnyNumberOfOccurrencesInPromptOrAnswer) {
  const SamplingOptions options = {.repetition_penalty = 2};
  expect_penalized(3, {}, {0}, options, 1.5f);
  expect_penalized(3, {0, 0, 0}, {0, 0}, options, 1.5f);
  expect_penalized(3, {1, 2}, {}, {.repetition_penalty = 1}, 3);
}

TEST(Penalties, PresenceIsSubtractedOnceForTokensOfTheAnswerOnly) {
  const SamplingOptions options = {.presence_penalty = 0.75};
  expect_penalized(3, {}, {0}, options, 2.25f);
  expect_penalized(3, {}, {0, 0, 0}, options, 2.25f);
  expect_penalized(3, {0, 0}, {}, options, 3);
  expect_penalized(3, {}, {0}, {.presence_penalty = -2}, 5);
}

TEST(Penalties, FrequencyIsSubtractedForEachOccurrenceInTheAnswerOnly) {
  const SamplingOptions options = {.frequency_penalty = 0.5};
  expect_penalized(3, {}, {0}, options, 2.5f);
  expect_penalized(3, {0, 0}, {0, 0, 0}, options, 1.5f);
  expect_penalized(3, {0, 0}, {}, options, 3);
}

TEST(Penalties, RepetitionComesBeforePresenceAndFrequency) {
  // 4 / 2 - 0.25 - 2 * 0.5; the other order would give (4 - 1.25) / 2.
  expect_penalized(4, {}, {0, 0}, {.repetition_penalty = 2, .presence_penalty = 0.25, .frequency_penalty = 0.5}, 0.75f);
}

TEST(Penalties, AreIgnoredForTokensThatTheMaskOrTheVocabularyLeavesOut) {
  TokenHistory history;
  for (const int32_t token : {1, 3, 5, 1000}) history.add_answer(TokenId{token});
  const std::vector<uint32_t> allowed = {0b110101};
  const std::vector<float> logits = {0, 9, 2.5f, 9, 2, 3};
  SampleInput input = row(logits);
  input.history = &history;
  input.allowed = allowed;
  // Of tokens 0, 2, 4 and 5 only the last one was answered: 3 - 1 < 2.5.
  EXPECT_EQ(sample(input, {.temperature = 0, .presence_penalty = 1}).token, TokenId{2});
}

TEST(Mask, OnlyAllowedTokensAreDrawnAlsoBeyondTheFirstWord) {
  const std::vector<float> logits(100, 1.0f);
  std::vector<uint32_t> allowed(4, 0);
  for (const int32_t token : {0, 31, 32, 63, 64, 99}) allowed[static_cast<size_t>(token / 32)] |= 1u << (token % 32);
  SampleInput input = row(logits);
  input.allowed = allowed;
  EXPECT_EQ(drawn(input, {}), (std::set{0, 31, 32, 63, 64, 99}));
}

TEST(Mask, TokensBeyondItsEndAreNotAllowed) {
  const std::vector<float> logits(70, 1.0f);
  const std::vector<uint32_t> allowed = {1u << 5, 1u << 1};
  SampleInput input = row(logits);
  input.allowed = allowed;
  EXPECT_EQ(drawn(input, {}), (std::set{5, 33}));
}

TEST(Mask, WhenNothingIsAllowedThereIsNoToken) {
  const std::vector<float> logits = {1, 2};
  const std::vector<uint32_t> allowed = {~3u};
  SampleInput input = row(logits);
  input.allowed = allowed;
  EXPECT_EQ(sample(input, {}).token, TokenId{-1});
  EXPECT_EQ(sample(input, kGreedy).token, TokenId{-1});
}

TEST(Vocabulary, IdsAtOrBeyondItAreNeverDrawn) {
  const std::vector<float> logits = {1, 2, 1, 90, 91};
  const std::vector<uint32_t> all = {~0u};
  SampleInput input = {.logits = logits, .vocab = 3, .top_logprobs = 5};
  EXPECT_EQ(sample(input, kGreedy).token, TokenId{1});
  EXPECT_EQ(drawn(input, {}), (std::set{0, 1, 2}));
  EXPECT_EQ(sample(input, {}).top.size(), 3u) << "nor are they listed";
  input.allowed = all;
  EXPECT_EQ(drawn(input, {}), (std::set{0, 1, 2}));
}

TEST(Vocabulary, LargerThanTheRowIsCutToTheRow) {
  const std::vector<float> logits = {1, 2, 1};
  EXPECT_EQ(drawn({.logits = logits, .vocab = 1000}, {}), (std::set{0, 1, 2}));
}

TEST(Vocabulary, AnEmptyRowGivesNoToken) {
  EXPECT_EQ(sample({}, {}).token, TokenId{-1});
  EXPECT_EQ(sample({}, kGreedy).token, TokenId{-1});
}

TEST(Sample, ANaNAnywhereGivesNoToken) {
  for (size_t at = 0; at < 3; ++at) {
    std::vector<float> logits = {1, 2, 3};
    logits[at] = kNaN;
    SampleInput input = row(logits);
    input.top_logprobs = 2;
    EXPECT_EQ(sample(input, {}).token, TokenId{-1}) << at;
    EXPECT_EQ(sample(input, kGreedy).token, TokenId{-1}) << at;
    EXPECT_TRUE(sample(input, {}).top.empty()) << at;
  }
}

TEST(Sample, InfiniteLogitsAreTakenAtTheirWord) {
  EXPECT_EQ(drawn(row({0, kInfinity, 5}), {}), (std::set{1}));
  EXPECT_EQ(drawn(row({0, -kInfinity, 0}), {.top_p = 0.99, .min_p = 0.01}), (std::set{0, 2}));
}

TEST(Check, AcceptsTheEndsOfEveryRange) {
  EXPECT_NO_THROW(check({}));
  EXPECT_NO_THROW(check({.temperature = 0, .top_p = 1, .top_k = -1, .min_p = 0, .presence_penalty = -2}));
  EXPECT_NO_THROW(check({.min_p = 1, .presence_penalty = 2, .frequency_penalty = -2}));
  EXPECT_NO_THROW(check({.frequency_penalty = 2}));
}

TEST(Check, NamesTheFieldItsRangeAndTheValue) {
  const auto message = [](const SamplingOptions& options) {
    return error_of(ErrorCode::bad_request, [&] { check(options); });
  };
  EXPECT_EQ(message({.presence_penalty = 2.5}), "presence_penalty: expected a number from -2 to 2, got 2.5");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-0.5, nan, 1e9}) EXPECT_TRUE(contains(message({.temperature = bad}), "temperature: "));
  for (const double bad : {0.0, -1.0, 1.01, nan}) EXPECT_TRUE(contains(message({.top_p = bad}), "top_p: "));
  for (const double bad : {-0.1, 1.01, nan}) EXPECT_TRUE(contains(message({.min_p = bad}), "min_p: "));
  EXPECT_TRUE(contains(message({.top_k = -2}), "top_k: "));
  for (const double bad : {0.0, -1.0, nan})
    EXPECT_TRUE(contains(message({.repetition_penalty = bad}), "repetition_penalty: "));
  for (const double bad : {-2.1, 2.1, nan})
    EXPECT_TRUE(contains(message({.frequency_penalty = bad}), "frequency_penalty: "));
}

}  // namespace
}  // namespace octet
