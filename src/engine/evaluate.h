// engine/evaluate.h — quality of a model's answers on a data set: likelihood of texts, and exact answers to questions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/engine.h"

namespace octet {

struct NllResult {
  double mean_nll = 0;  // nats a predicted token
  int64_t tokens = 0;   // predicted tokens
  double tokens_per_s = 0;
};

/// Mean negative log-likelihood of every line's "text" after `prefix`, each cut to max_context ids in all; every id but
/// the first is predicted.
/// data_path  JSON lines with a string "text" each
/// prefix     special tokens in it are recognised
/// Throws     Error(bad_file) naming the line, Error(bad_usage) if the context or the prefix do not fit
NllResult evaluate_nll(Engine& engine, const std::string& data_path, int64_t max_context, const std::string& prefix,
                       const ProgressFn& progress);

struct AnswersResult {
  double exact = 0;  // share of questions answered exactly, outer white space apart
  int64_t count = 0;
  double mean_tokens = 0;
  double tokens_per_s = 0;
};

/// Asks every line's "question" through the chat template, greedily, and compares with its "answer".
AnswersResult evaluate_answers(Engine& engine, const std::string& data_path, int64_t max_tokens,
                               const ProgressFn& progress);

}  // namespace octet
