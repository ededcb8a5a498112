#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace octet {
namespace {

/// A token that may still be drawn.
struct Candidate {
  double logit = 0;  // after penalties and temperature
  int32_t token = 0;
};

bool better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

/// Philox-4x32 with 10 rounds (Salmon et al., SC 2011): four 32-bit numbers from a counter and a key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * counter[0], b = uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

std::vector<Candidate> allowed_candidates(const SampleInput& input) {
  std::vector<Candidate> candidates;
  const int64_t vocab = std::min<int64_t>(input.vocab, static_cast<int64_t>(input.logits.size()));
  candidates.reserve(static_cast<size_t>(vocab));
  for (int64_t t = 0; t < vocab; ++t) {
    const auto word = static_cast<size_t>(t / 32);
    if (!input.allowed.empty() && (word >= input.allowed.size() || !(input.allowed[word] >> (t % 32) & 1))) continue;
    candidates.push_back({.logit = input.logits[static_cast<size_t>(t)], .token = static_cast<int32_t>(t)});
  }
  return candidates;
}

/// Candidates are in the order of their tokens here, and may have gaps.
void apply_penalties(const TokenHistory& history, const SamplingOptions& options, std::vector<Candidate>& candidates) {
  if (options.repetition_penalty == 1.0 && options.presence_penalty == 0.0 && options.frequency_penalty == 0.0) return;
  for (const auto& [token, entry] : history.entries()) {
    const auto at = std::lower_bound(candidates.begin(), candidates.end(), token.value,
                                     [](const Candidate& c, int32_t id) { return c.token < id; });
    if (at == candidates.end() || at->token != token.value) continue;
    at->logit = at->logit > 0 ? at->logit / options.repetition_penalty : at->logit * options.repetition_penalty;
    if (entry.answered > 0) at->logit -= options.presence_penalty + options.frequency_penalty * entry.answered;
  }
}

void keep_top_k(int64_t top_k, std::vector<Candidate>& candidates) {
  if (top_k <= 0 || top_k >= static_cast<int64_t>(candidates.size())) return;
  std::nth_element(candidates.begin(), candidates.begin() + top_k - 1, candidates.end(), better);
  candidates.resize(static_cast<size_t>(top_k));
}

/// Keeps the best candidates until their share of the whole reaches top_p; at least one stays.
void keep_top_p(double top_p, std::vector<Candidate>& candidates) {
  if (top_p >= 1.0) return;
  std::sort(candidates.begin(), candidates.end(), better);
  double total = 0;
  for (const Candidate& c : candidates) total += std::exp(c.logit - candidates.front().logit);
  double reached = 0;
  for (size_t kept = 0; kept < candidates.size(); ++kept) {
    reached += std::exp(candidates[kept].logit - candidates.front().logit);
    if (reached >= top_p * total) {
      candidates.resize(kept + 1);
      return;
    }
  }
}

/// Logits are relative to the best one.
void keep_min_p(double min_p, std::vector<Candidate>& candidates) {
  if (min_p <= 0.0) return;
  const double lowest = std::log(min_p);
  std::erase_if(candidates, [&](const Candidate& c) { return c.logit < lowest; });
}

/// Logits are relative to the best one.
int32_t draw(const SampleInput& input, uint64_t seed, const std::vector<Candidate>& candidates) {
  // Noise lies in [-2.9, 17.4], so a candidate this far below the best one can never win.
  constexpr double kNoiseRange = 20.3;
  Candidate winner{.logit = -std::numeric_limits<double>::infinity(), .token = -1};
  for (const Candidate& c : candidates) {
    if (c.logit < -kNoiseRange) continue;
    const Candidate noisy{.logit = c.logit + gumbel_noise(seed, input.choice, input.position, c.token),
                          .token = c.token};
    if (winner.token < 0 || better(noisy, winner)) winner = noisy;
  }
  return winner.token;
}

/// The largest logit among all tokens, the lower id on ties: greedy without penalties or mask.
int32_t largest_logit(const SampleInput& input) {
  const int64_t vocab = std::min<int64_t>(input.vocab, static_cast<int64_t>(input.logits.size()));
  const auto begin = input.logits.begin();
  return vocab == 0 ? -1 : static_cast<int32_t>(std::max_element(begin, begin + vocab) - begin);
}

void add_logprobs(const SampleInput& input, Sample& result) {
  if (input.top_logprobs < 0 || result.token.value < 0) return;
  const double normalizer = log_sum_exp(input.logits);
  const auto logprob = [&](int32_t token) {
    return static_cast<float>(static_cast<double>(input.logits[static_cast<size_t>(token)]) - normalizer);
  };
  result.logprob = logprob(result.token.value);
  SampleInput all = input;
  all.allowed = {};
  std::vector<Candidate> candidates = allowed_candidates(all);
  const auto count = std::min<size_t>(static_cast<size_t>(input.top_logprobs), candidates.size());
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<int64_t>(count), candidates.end(), better);
  for (size_t i = 0; i < count; ++i) {
    result.top.push_back({TokenId{candidates[i].token}, logprob(candidates[i].token)});
  }
}

void check_range(const char* field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {  // also catches NaN
    fail(ErrorCode::bad_request, field, ": expected a number from ", low, " to ", high, ", got ", value);
  }
}

}  // namespace

void check(const SamplingOptions& options) {
  check_range("temperature", options.temperature, 0, 100);
  check_range("top_p", options.top_p, 1e-9, 1);
  check_range("min_p", options.min_p, 0, 1);
  check_range("top_k", static_cast<double>(options.top_k), -1, 1e9);
  check_range("repetition_penalty", options.repetition_penalty, 1e-3, 100);
  check_range("presence_penalty", options.presence_penalty, -2, 2);
  check_range("frequency_penalty", options.frequency_penalty, -2, 2);
}

double gumbel_noise(uint64_t seed, int32_t choice, int64_t position, int32_t token) {
  const std::array<uint32_t, 4> random =
      philox({static_cast<uint32_t>(token), static_cast<uint32_t>(position),
              static_cast<uint32_t>(static_cast<uint64_t>(position) >> 32), static_cast<uint32_t>(choice)},
             {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const double uniform = (static_cast<double>(random[0] >> 8) + 0.5) * 0x1p-24;  // in (0, 1)
  return -std::log(-std::log(uniform));
}

double log_sum_exp(std::span<const float> logits) {
  const double best = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - best);
  return best + std::log(sum);
}

Sample sample(const SampleInput& input, const SamplingOptions& options) {
  Sample result;
  if (std::any_of(input.logits.begin(), input.logits.end(), [](float v) { return std::isnan(v); })) return result;
  if (options.temperature == 0.0 && input.history == nullptr && input.allowed.empty()) {
    result.token = TokenId{largest_logit(input)};
    add_logprobs(input, result);
    return result;
  }
  std::vector<Candidate> candidates = allowed_candidates(input);
  if (candidates.empty()) return result;
  if (input.history) apply_penalties(*input.history, options, candidates);
  if (options.temperature == 0.0) {
    result.token = TokenId{std::min_element(candidates.begin(), candidates.end(), better)->token};
  } else {
    // Relative to the best logit, so that a tiny temperature cannot overflow.
    const double best = std::min_element(candidates.begin(), candidates.end(), better)->logit;
    if (std::isfinite(best)) {
      for (Candidate& c : candidates) c.logit = (c.logit - best) / options.temperature;
    } else {  // the best are infinite: they alone remain, all alike
      std::erase_if(candidates, [&](const Candidate& c) { return c.logit != best; });
      for (Candidate& c : candidates) c.logit = 0;
    }
    keep_top_k(options.top_k, candidates);
    keep_top_p(options.top_p, candidates);
    keep_min_p(options.min_p, candidates);
    result.token = TokenId{draw(input, options.seed, candidates)};
  }
  add_logprobs(input, result);
  return result;
}

}  // namespace octet
