// sampling/sampler.h — from one row of logits to a token.
//
// Steps in order: grammar mask, penalties, temperature, top-k, top-p, min-p, draw. The draw is a Gumbel maximum whose
// noise depends on (seed, choice, position, token) alone, so that neither batching nor preemption nor the device
// changes it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace octet {

/// What a request may ask for. check() states the ranges.
struct SamplingOptions {
  double temperature = 1.0;         // 0: greedy, the largest logit; equal logits: the lower id
  double top_p = 1.0;               // (0, 1]: keep the most probable tokens that together reach it; 1: off
  int64_t top_k = 0;                // keep the k most probable tokens; 0 or -1: off
  double min_p = 0.0;               // [0, 1]: drop tokens below this share of the best one's probability
  double repetition_penalty = 1.0;  // > 0: divides positive, multiplies negative logits of tokens in prompt or answer
  double presence_penalty = 0.0;    // [-2, 2]: subtracted once from tokens of the answer
  double frequency_penalty = 0.0;   // [-2, 2]: subtracted for each time a token stands in the answer
  uint64_t seed = 0;
};

/// Throws Error(bad_request) naming the field, its range and the value.
void check(const SamplingOptions& options);

/// Tokens that a request has seen, for the penalties.
class TokenHistory {
 public:
  struct Entry {
    bool in_prompt = false;
    int32_t answered = 0;
  };
  void add_prompt(TokenId token) { entries_[token].in_prompt = true; }
  void add_answer(TokenId token) { ++entries_[token].answered; }
  const std::unordered_map<TokenId, Entry>& entries() const { return entries_; }

 private:
  std::unordered_map<TokenId, Entry> entries_;
};

struct SampleInput {
  std::span<const float> logits;           // [V] of one row; ids at or beyond `vocab` are never drawn
  int64_t vocab = 0;                       // tokens that the tokenizer knows, or V
  const TokenHistory* history = nullptr;   // null: no penalties
  std::span<const uint32_t> allowed = {};  // grammar: bit t says whether token t may come; empty: all may
  int64_t position = 0;                    // of the token to be drawn, in its sequence
  int32_t choice = 0;                      // which of a request's n answers
  int32_t top_logprobs = -1;               // -1: no log-probabilities; k: the drawn token's and the k best
};

struct TokenLogprob {
  TokenId token;
  float logprob = 0;  // natural logarithm, of the raw logits' softmax
};

struct Sample {
  TokenId token;                  // value -1: the row holds NaN, or no token is allowed
  float logprob = 0;              // if asked for
  std::vector<TokenLogprob> top;  // best first, if asked for
};

/// Draws one token. Never throws on logits: NaN gives token -1.
Sample sample(const SampleInput& input, const SamplingOptions& options);

/// log Σ exp(logits), in double.
double log_sum_exp(std::span<const float> logits);

/// Standard Gumbel noise of (seed, choice, position, token), from a 24-bit uniform number; in [-2.9, 17.4].
double gumbel_noise(uint64_t seed, int32_t choice, int64_t position, int32_t token);

}  // namespace octet
