// The draw itself: its random numbers, its frequencies, what it depends on, and the log-probabilities beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sampling/sampler.h"

namespace octet {
namespace {

std::vector<float> random_logits(size_t vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 2);
  std::vector<float> logits(vocab);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

/// Probabilities of logits at a temperature, directly from the definition.
std::vector<double> softmax(const std::vector<float>& logits, double temperature = 1) {
  std::vector<double> p;
  double sum = 0;
  for (const float logit : logits) {
    p.push_back(std::exp(static_cast<double>(logit) / temperature));
    sum += p.back();
  }
  for (double& share : p) share /= sum;
  return p;
}

/// Pearson's statistic of `draws` draws at positions 0, 1, ... against these probabilities.
double chi_square(const std::vector<float>& logits, const std::vector<double>& p, const SamplingOptions& options) {
  constexpr int64_t kDraws = 20000;
  std::vector<int64_t> counts(p.size(), 0);
  for (int64_t position = 0; position < kDraws; ++position) {
    const Sample s =
        sample({.logits = logits, .vocab = static_cast<int64_t>(logits.size()), .position = position}, options);
    ++counts[static_cast<size_t>(s.token.value)];
  }
  double statistic = 0;
  for (size_t t = 0; t < p.size(); ++t) {
    const double expected = p[t] * kDraws;
    if (expected == 0) {
      EXPECT_EQ(counts[t], 0) << t;
      continue;
    }
    statistic += (static_cast<double>(counts[t]) - expected) * (static_cast<double>(counts[t]) - expected) / expected;
  }
  return statistic;
}

// Upper 0.1 % points of the chi-square distribution with 3 and 7 degrees of freedom.
constexpr double kChiSquare3 = 16.27, kChiSquare7 = 24.32;

// Known answers for philox4x32-10 published with Random123 (kat_vectors). The counter is token, the two halves of the
// position, and the choice; the key is the seed; the noise is made of the upper 24 bits of the first result.
TEST(GumbelNoise, IsMadeOfThePublishedPhiloxNumbers) {
  const auto noise_of = [](uint32_t philox) {
    return -std::log(-std::log((static_cast<double>(philox / 256) + 0.5) / 16777216.0));
  };
  EXPECT_DOUBLE_EQ(gumbel_noise(0, 0, 0, 0), noise_of(0x6627e8d5));
  EXPECT_DOUBLE_EQ(gumbel_noise(UINT64_MAX, -1, -1, -1), noise_of(0x408f276d));
  EXPECT_DOUBLE_EQ(gumbel_noise(0x299f31d0a4093822, 0x03707344, 0x13198a2e85a308d3, 0x243f6a88), noise_of(0xd16cfe09));
}

TEST(GumbelNoise, HasTheMeanAndVarianceOfTheGumbelDistributionAndStaysInItsRange) {
  constexpr int kCount = 100000;
  double sum = 0, squares = 0;
  for (int32_t token = 0; token < kCount; ++token) {
    const double noise = gumbel_noise(1, 0, 5, token);
    ASSERT_GT(noise, -2.9);
    ASSERT_LT(noise, 17.4);
    sum += noise;
    squares += noise * noise;
  }
  const double mean = sum / kCount, variance = squares / kCount - mean * mean;
  // Euler's constant and pi^2 / 6, each within four standard errors (1.283 and 3.45 over the square root of the count).
  EXPECT_NEAR(mean, 0.57721566, 4 * 1.283 / std::sqrt(kCount));
  EXPECT_NEAR(variance, 1.64493407, 4 * 3.45 / std::sqrt(kCount));
}

TEST(Draw, FrequenciesMatchTheProbabilities) {
  const std::vector<float> logits = {0, 1, -1, 2, 0.5f, -0.5f, 1.5f, -2};
  EXPECT_LT(chi_square(logits, softmax(logits), {.seed = 1}), kChiSquare7);
  EXPECT_LT(chi_square(logits, softmax(logits, 2.0), {.temperature = 2, .seed = 2}), kChiSquare7);
  EXPECT_LT(chi_square(logits, softmax(logits, 0.7), {.temperature = 0.7, .seed = 3}), kChiSquare7);
  // The statistic tells distributions apart: a temperature of 0.9 against probabilities of 1.
  EXPECT_GT(chi_square(logits, softmax(logits), {.temperature = 0.9, .seed = 4}), kChiSquare7);
}

TEST(Draw, FrequenciesOfTheKeptTokensAreTheirRenormalizedProbabilities) {
  const std::vector<float> logits = {0, 1, -1, 2, 0.5f, -0.5f, 1.5f, -2};
  std::vector<double> p = softmax(logits);
  for (const size_t dropped : {0, 2, 5, 7}) p[dropped] = 0;
  const double kept = p[1] + p[3] + p[4] + p[6];
  for (double& share : p) share /= kept;
  EXPECT_LT(chi_square(logits, p, {.top_k = 4, .seed = 5}), kChiSquare3);
}

TEST(Draw, DependsOnSeedChoiceAndPositionAloneAndOnEachOfThem) {
  const std::vector<float> logits(64, 0.0f);
  const auto tokens = [&](uint64_t seed, int32_t choice, int64_t first) {
    std::vector<int32_t> result;
    for (int64_t position = first; position < first + 50; ++position) {
      const SampleInput input = {.logits = logits, .vocab = 64, .position = position, .choice = choice};
      result.push_back(sample(input, {.seed = seed}).token.value);
    }
    return result;
  };
  const std::vector<int32_t> base = tokens(7, 0, 0);
  EXPECT_EQ(tokens(7, 0, 0), base) << "draws in between change nothing";
  EXPECT_NE(tokens(8, 0, 0), base);
  EXPECT_NE(tokens(7 + (uint64_t{1} << 32), 0, 0), base) << "the upper half of the seed counts";
  EXPECT_NE(tokens(7, 1, 0), base);
  EXPECT_NE(tokens(7, 0, int64_t{1} << 32), base) << "the upper half of the position counts";
  const std::vector<int32_t> later = tokens(7, 0, 10);
  EXPECT_TRUE(std::equal(base.begin() + 10, base.end(), later.begin())) << "where a sequence starts does not count";
}

TEST(Draw, LeavingOutATokenThatWasNotDrawnChangesNothing) {
  const std::vector<float> logits = random_logits(40, 11);
  SampleInput input = {.logits = logits, .vocab = 40};
  for (input.position = 0; input.position < 20; ++input.position) {
    const int32_t winner = sample(input, {.seed = 3}).token.value;
    for (int32_t loser = 0; loser < 40; ++loser) {
      std::vector<uint32_t> allowed = {~0u, ~0u};
      allowed[static_cast<size_t>(loser / 32)] &= ~(1u << (loser % 32));
      SampleInput masked = input;
      masked.allowed = allowed;
      const int32_t token = sample(masked, {.seed = 3}).token.value;
      EXPECT_EQ(token == winner, loser != winner) << token << " instead of " << winner;
    }
  }
}

TEST(Draw, IsTheLargestLogitPlusNoise) {
  const std::vector<float> logits = random_logits(1000, 12);
  SampleInput input = {.logits = logits, .vocab = 1000, .choice = 2};
  for (input.position = 0; input.position < 100; ++input.position) {
    std::vector<double> noisy;
    for (int32_t t = 0; t < 1000; ++t) {
      noisy.push_back(static_cast<double>(logits[static_cast<size_t>(t)]) / 0.8 +
                      gumbel_noise(17, 2, input.position, t));
    }
    const auto best = std::max_element(noisy.begin(), noisy.end()) - noisy.begin();
    EXPECT_EQ(sample(input, {.temperature = 0.8, .seed = 17}).token.value, best);
  }
}

TEST(LogSumExp, MatchesADirectSumAndDoesNotOverflow) {
  const std::vector<float> logits = random_logits(1000, 13);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  EXPECT_NEAR(log_sum_exp(logits), std::log(sum), 1e-12);
  EXPECT_NEAR(log_sum_exp(std::vector<float>{10000, 10000}), 10000 + std::log(2.0), 1e-9);
  EXPECT_NEAR(log_sum_exp(std::vector<float>{-10000, -10000}), -10000 + std::log(2.0), 1e-9);
}

TEST(Logprobs, AreOfTheRawLogitsWhateverTheOptions) {
  const std::vector<float> logits = random_logits(50, 14);
  const std::vector<double> p = softmax(logits);
  TokenHistory history;
  history.add_answer(TokenId{3});
  const std::vector<uint32_t> allowed = {0xffff, 0};
  const SampleInput input = {
      .logits = logits, .vocab = 50, .history = &history, .allowed = allowed, .position = 4, .top_logprobs = 3};
  const Sample s = sample(input, {.temperature = 3, .top_k = 9, .repetition_penalty = 2});
  ASSERT_GE(s.token.value, 0);
  EXPECT_NEAR(s.logprob, std::log(p[static_cast<size_t>(s.token.value)]), 1e-6);
  std::vector<size_t> order(50);
  for (size_t i = 0; i < 50; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
  ASSERT_EQ(s.top.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(s.top[i].token.value, static_cast<int32_t>(order[i]));
    EXPECT_NEAR(s.top[i].logprob, std::log(p[order[i]]), 1e-6);
  }
}

TEST(Logprobs, AskingForThemDoesNotChangeTheDraw) {
  const std::vector<float> logits = random_logits(50, 15);
  for (int64_t position = 0; position < 50; ++position) {
    SampleInput input = {.logits = logits, .vocab = 50, .position = position};
    const TokenId without = sample(input, {}).token;
    input.top_logprobs = 5;
    EXPECT_EQ(sample(input, {}).token, without);
  }
}

TEST(Logprobs, MinusOneGivesNoneZeroTheDrawnTokensOnlyAndTooManyAll) {
  const std::vector<float> logits = {1, 1, 2};
  SampleInput input = {.logits = logits, .vocab = 3};
  const SamplingOptions greedy = {.temperature = 0};
  EXPECT_EQ(sample(input, greedy).logprob, 0);
  EXPECT_TRUE(sample(input, greedy).top.empty());
  input.top_logprobs = 0;
  EXPECT_NEAR(sample(input, greedy).logprob, 2 - std::log(2 * std::exp(1.0) + std::exp(2.0)), 1e-6);
  EXPECT_TRUE(sample(input, greedy).top.empty());
  input.top_logprobs = 20;
  const std::vector<TokenLogprob> top = sample(input, greedy).top;
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].token, TokenId{2});
  EXPECT_EQ(top[1].token, TokenId{0}) << "equal logits: the lower id first";
  EXPECT_EQ(top[2].token, TokenId{1});
}

}  // namespace
}  // namespace octet
