// octet eval: quality on a data set.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "config/flags.h"
#include "engine/evaluate.h"

namespace octet {
namespace {

struct Flags {
  ModelFlags model{.max_running_requests = 32};
  std::string data;
  std::string prefix;
  int64_t max_context = 0;
  int64_t max_tokens = 96;
};

std::unique_ptr<Engine> make_engine(const ModelFlags& flags) {
  EngineOptions options = engine_options(flags);
  ProgressBar bar("loading weights");
  options.progress = bar.callback();
  return std::make_unique<Engine>(std::move(options));
}

/// Runs work(progress) under a bar that is gone when this returns.
template <class Work>
auto with_progress(const Work& work) {
  ProgressBar bar("evaluating");
  return work(bar.callback());
}

int eval_nll(const Flags& flags) {
  const std::unique_ptr<Engine> engine = make_engine(flags.model);
  const NllResult result = with_progress([&](const ProgressFn& progress) {
    return evaluate_nll(*engine, flags.data, flags.max_context, flags.prefix, progress);
  });
  if (flags.model.json) {
    print_json({{"mean_nll", result.mean_nll}, {"tokens", result.tokens}, {"tokens_per_s", result.tokens_per_s}});
  } else {
    std::printf("mean nll %.6f nats over %lld tokens, %.0f tokens/s\n", result.mean_nll,
                static_cast<long long>(result.tokens), result.tokens_per_s);
  }
  return 0;
}

int eval_answers(const Flags& flags) {
  const std::unique_ptr<Engine> engine = make_engine(flags.model);
  const AnswersResult result = with_progress(
      [&](const ProgressFn& progress) { return evaluate_answers(*engine, flags.data, flags.max_tokens, progress); });
  if (flags.model.json) {
    print_json({{"exact", result.exact},
                {"count", result.count},
                {"mean_tokens", result.mean_tokens},
                {"tokens_per_s", result.tokens_per_s}});
  } else {
    std::printf("exact %.4f of %lld answers, %.1f tokens each, %.0f tokens/s\n", result.exact,
                static_cast<long long>(result.count), result.mean_tokens, result.tokens_per_s);
  }
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Runner& run) {
  CLI::App* eval = app.add_subcommand("eval", "measure quality on a data set");
  eval->require_subcommand(1);
  const auto nll_flags = std::make_shared<Flags>(), answer_flags = std::make_shared<Flags>();

  CLI::App* nll = eval->add_subcommand("nll", "mean negative log-likelihood of texts");
  nll->add_option("--data", nll_flags->data, "JSON lines with a \"text\" each")->required();
  nll->add_option("--max-context", nll_flags->max_context, "cut prefix + text to this many tokens")
      ->required()
      ->check(CLI::Range(2, 1 << 30));
  nll->add_option("--prefix", nll_flags->prefix, "put before each text; special tokens in it are recognised");
  add_model_flags(*nll, nll_flags->model);
  add_batch_flags(*nll, nll_flags->model);
  nll->callback([nll_flags, &run] { run = [nll_flags] { return eval_nll(*nll_flags); }; });

  CLI::App* answers = eval->add_subcommand("answers", "exact answers to questions, greedy, through the chat template");
  answers->add_option("--data", answer_flags->data, "JSON lines with a \"question\" and an \"answer\" each")
      ->required();
  answers->add_option("--max-tokens", answer_flags->max_tokens, "longest answer")->check(CLI::Range(1, 1 << 30));
  add_model_flags(*answers, answer_flags->model);
  add_batch_flags(*answers, answer_flags->model);
  answers->callback([answer_flags, &run] { run = [answer_flags] { return eval_answers(*answer_flags); }; });
}

}  // namespace octet
