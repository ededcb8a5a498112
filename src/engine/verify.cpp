#include "engine/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/choices.h"
#include "models/blocks.h"
#include "moe/experts/trials.h"
#include "sampling/sampler.h"

namespace octet {
namespace {

// docs/numerics.md, "How a path is judged".
constexpr double kReferenceNmse = 2e-11;
constexpr double kReplayedMeanNmse = 1e-4;
constexpr double kReplayedMaxNmse = 3e-3;

/// Sum of squared differences over sum of squares; NaN anywhere gives the largest number.
class Nmse {
 public:
  void add(const float* values, const float* reference, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double difference = static_cast<double>(values[i]) - static_cast<double>(reference[i]);
      difference_ += difference * difference;
      norm_ += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
      largest_ = std::max(largest_, std::abs(difference));
    }
  }
  double value() const {
    const double value = difference_ == 0 ? 0 : difference_ / norm_;
    return std::isfinite(value) ? value : std::numeric_limits<double>::max();  // JSON has no infinity
  }
  double largest() const { return largest_; }

 private:
  double difference_ = 0;
  double norm_ = 0;
  double largest_ = 0;
};

/// What one path answered to one prompt: logits of the prompt's last rows and of every row of the golden continuation.
struct Answer {
  std::vector<float> logits;  // [rows, V]
  int64_t rows = 0;
  Choices choices;
};

/// Number of logit rows of a prompt: those that the golden file holds, at least the last, and one a continued token but
/// the last, whose successor nobody knows.
int64_t answer_rows(const GoldenPrompt& prompt) {
  const int64_t continued = std::max<int64_t>(static_cast<int64_t>(prompt.greedy_ids.size()) - 1, 0);
  return std::max<int64_t>(prompt.logits.rows, 1) + continued;
}

/// Runs the prompt in one step and the golden continuation token by token through the cache.
Answer answer(ModelRunner& runner, const GoldenPrompt& prompt, ChoiceRecorder& recorder) {
  const auto prompt_tokens = static_cast<int64_t>(prompt.ids.size());
  const int64_t last_rows = std::max<int64_t>(prompt.logits.rows, 1);
  const int64_t vocab = runner.model().info().vocab;
  Answer result{.rows = answer_rows(prompt)};
  result.logits.reserve(static_cast<size_t>(result.rows * vocab));
  std::vector<PageId> pages;
  OCTET_CHECK(runner.cache().allocate(pages_for(prompt_tokens + result.rows), pages));
  const auto run = [&](std::span<const TokenId> ids, int64_t position, int64_t wanted) {
    StepPlan plan;
    append_rows(plan, RequestId{0}, position == 0 ? RowKind::prefill : RowKind::decode, ids, position, pages);
    for (int64_t row = plan.num_tokens() - wanted; row < plan.num_tokens(); ++row) plan.logit_rows.push_back(row);
    const std::vector<RowFault> faults = runner.forward(plan, &recorder);
    if (!faults.empty()) fail(ErrorCode::bad_numerics, faults.front().reason);
    for (int64_t row = 0; row < wanted; ++row) {
      const float* logits = runner.logits().row(row);
      result.logits.insert(result.logits.end(), logits, logits + vocab);
    }
  };
  run(prompt.ids, 0, last_rows);
  for (int64_t i = 0; i < result.rows - last_rows; ++i) {
    run(std::span(prompt.greedy_ids).subspan(static_cast<size_t>(i), 1), prompt_tokens + i, 1);
  }
  runner.cache().release(pages);
  result.choices = recorder.choices();
  return result;
}

/// Gap between the two largest logits.
double top_margin(std::span<const float> logits) {
  float best = -INFINITY, second = -INFINITY;
  for (const float logit : logits) {
    if (logit > best) {
      second = best;
      best = logit;
    } else {
      second = std::max(second, logit);
    }
  }
  return static_cast<double>(best) - static_cast<double>(second);
}

/// How far a logit may be off: as much as was seen, and no more than a row within the path's bound on the NMSE can
/// have.
struct LogitError {
  double largest = 0;
  double nmse = 0;
  double of(std::span<const float> row) const {
    double squares = 0;
    for (const float logit : row) squares += static_cast<double>(logit) * static_cast<double>(logit);
    return std::min(largest, std::sqrt(nmse * squares));
  }
};

/// Whether greedy tokens equal the golden ones wherever the reference's margin is above twice the error of a logit.
/// Rows at or behind a flip are excused: `flips`.
bool greedy_equal(const GoldenPrompt& prompt, const Answer& reference, const Answer& tested, const LogitError& error,
                  const Flips& flips, int64_t vocab) {
  const int64_t first = std::max<int64_t>(prompt.logits.rows, 1) - 1;  // row that predicts greedy_ids[0]
  for (size_t i = 0; i < prompt.greedy_ids.size(); ++i) {
    const auto offset = static_cast<size_t>((first + static_cast<int64_t>(i)) * vocab);
    const std::span<const float> row(tested.logits.data() + offset, static_cast<size_t>(vocab));
    const std::span<const float> judge(reference.logits.data() + offset, static_cast<size_t>(vocab));
    const auto token = std::max_element(row.begin(), row.end()) - row.begin();
    const auto position = static_cast<int64_t>(prompt.ids.size() + i) - 1;
    const double margin = i < prompt.greedy_margins.size() ? prompt.greedy_margins[i] : top_margin(judge);
    if (token != prompt.greedy_ids[i].value && margin > 2 * error.of(judge) && !flips.before(position)) return false;
  }
  return true;
}

bool router_equal(const Golden& golden, const Choices& choices) {
  for (const auto& [layer, ids] : golden.router_ids()) {
    const auto rows = choices.experts.find(layer);
    if (rows == choices.experts.end() || static_cast<int64_t>(rows->second.size()) < ids.rows) return false;
    for (int64_t t = 0; t < ids.rows; ++t) {
      std::vector<int32_t> expected(ids.row(t), ids.row(t) + ids.cols);
      std::sort(expected.begin(), expected.end());
      if (rows->second[static_cast<size_t>(t)].chosen != expected) return false;
    }
  }
  return true;
}

/// Adds one prompt to a path's result.
void count_prompt(GoldenCheck& check, double nmse, double prompts) {
  check.max_nmse = std::max(check.max_nmse, nmse);
  check.mean_nmse += nmse / prompts;
}

std::unique_ptr<ModelRunner> make_runner(const Checkpoint& checkpoint, ThreadPool& threads, NumericsClass numerics,
                                         const std::string& backend, const Golden& golden) {
  auto runner = std::make_unique<ModelRunner>(
      checkpoint, threads, RunnerOptions{.numerics = numerics, .expert_backend = backend, .check_scales = false});
  StepLimits limits{.max_tokens = 1, .max_logit_rows = 1};
  for (const GoldenPrompt& prompt : golden.prompts()) {
    const auto tokens = static_cast<int64_t>(prompt.ids.size());
    limits.max_tokens = std::max(limits.max_tokens, tokens);
    limits.max_logit_rows = std::max(limits.max_logit_rows, prompt.logits.rows);
    limits.cache_tokens = std::max(limits.cache_tokens, tokens + answer_rows(prompt));
  }
  runner->reserve(limits);
  return runner;
}

/// Throws Error(bad_file) if a prompt and its continuation are longer than the model's context.
void check_lengths(const Golden& golden, int64_t max_positions, const std::string& folder) {
  for (size_t i = 0; i < golden.prompts().size(); ++i) {
    const GoldenPrompt& prompt = golden.prompts()[i];
    const auto tokens = static_cast<int64_t>(prompt.ids.size() + prompt.greedy_ids.size());
    if (tokens > max_positions) {
      fail(ErrorCode::bad_file, folder, "/golden.json: prompts[", i, "]: expected at most the model's context of ",
           max_positions, " tokens, got ", tokens, " with its continuation; these are another model's answers");
    }
  }
}

/// The three paths over all prompts.
std::vector<GoldenCheck> check_golden(const Checkpoint& checkpoint, ThreadPool& threads, const VerifyOptions& options) {
  const ModelRunner probe(checkpoint, threads, {.numerics = NumericsClass::reference, .check_scales = false});
  const int64_t vocab = probe.model().info().vocab;
  const Golden golden = Golden::load(options.golden_dir, vocab);
  check_lengths(golden, probe.model().info().max_positions, options.golden_dir);
  const auto reference = make_runner(checkpoint, threads, NumericsClass::reference, "", golden);
  const auto fast = make_runner(checkpoint, threads, NumericsClass::exact16, options.expert_backend, golden);
  GoldenCheck exact{.path = "reference", .greedy_equal = true, .router_equal = true};
  GoldenCheck replayed{.path = "fast-replayed", .greedy_equal = true, .router_equal = true};
  GoldenCheck free{.path = "fast-free", .greedy_equal = true, .router_equal = true};
  const auto prompts = static_cast<double>(golden.prompts().size());
  int64_t done = 0;
  for (const GoldenPrompt& prompt : golden.prompts()) {
    ChoiceRecorder reference_recorder(reference->model()), free_recorder(fast->model());
    const Answer expected = answer(*reference, prompt, reference_recorder);
    ChoiceReplayer replayer(fast->model(), expected.choices);
    const Answer followed = answer(*fast, prompt, replayer);
    const Answer unled = answer(*fast, prompt, free_recorder);
    const auto count = static_cast<int64_t>(expected.logits.size());

    Nmse golden_error, replayed_error, free_error;
    golden_error.add(expected.logits.data(), prompt.logits.data, prompt.logits.rows * vocab);
    replayed_error.add(followed.logits.data(), expected.logits.data(), count);
    free_error.add(unled.logits.data(), expected.logits.data(), count);
    const Flips none;
    const ScoreErrors errors = score_errors(expected.choices, followed.choices);
    const Flips flips = compare_choices(expected.choices, unled.choices, errors);
    count_prompt(exact, golden_error.value(), prompts);
    count_prompt(replayed, replayed_error.value(), prompts);
    count_prompt(free, free_error.value(), prompts);
    // Scores that are far off would explain any flip; a group that is dropped on one side only makes them infinite.
    replayed.max_score_nmse = std::max(replayed.max_score_nmse, errors.nmse);
    free.flips += flips.count;
    free.unexplained_flips += flips.unexplained;
    const auto greedy = [&](const Answer& tested, const LogitError& error, const Flips& excused) {
      return greedy_equal(prompt, expected, tested, error, excused, vocab);
    };
    const LogitError fast_error{replayed_error.largest(), kReplayedMaxNmse};
    exact.greedy_equal = exact.greedy_equal && greedy(expected, {golden_error.largest(), kReferenceNmse}, none);
    replayed.greedy_equal = replayed.greedy_equal && greedy(followed, fast_error, none);
    free.greedy_equal = free.greedy_equal && greedy(unled, fast_error, flips);
    if (done == 0) {
      exact.has_router = replayed.has_router = free.has_router = !golden.router_ids().empty();
      exact.router_equal = router_equal(golden, expected.choices);
      free.router_equal = router_equal(golden, unled.choices);
      replayed.router_equal = exact.router_equal;
    }
    ++done;
    if (options.progress) options.progress(done, static_cast<int64_t>(golden.prompts().size()));
  }
  exact.ok = exact.max_nmse <= kReferenceNmse && exact.greedy_equal && exact.router_equal;
  replayed.ok = replayed.mean_nmse <= kReplayedMeanNmse && replayed.max_nmse <= kReplayedMaxNmse &&
                replayed.max_score_nmse <= kReplayedMaxNmse && replayed.greedy_equal;
  free.ok = free.unexplained_flips == 0 && free.greedy_equal && (free.router_equal || free.flips > 0);
  return {exact, replayed, free};
}

/// One backend against the reference on the first and the last sparse layer, 32 rows routed by the layer's own router.
BackendCheck check_backend(const ExpertBackendEntry& entry, const Model& model, ThreadPool& threads) {
  const DeviceInfo device = this_cpu();
  const std::vector<const MoeBlock*> blocks = model.moe_blocks();
  BackendCheck check{.name = std::string(entry.name), .ok = true};
  for (const MoeBlock* block : {blocks.front(), blocks.back()}) {
    MoeProblem problem = model.info().moe;
    problem.gate_up = block->weights.gate.front().format;
    problem.down = block->weights.down.front().format;
    problem.numerics = NumericsClass::exact16;
    if (const std::optional<Refusal> refusal = entry.refuse(problem, device)) {
      return {.name = check.name, .ok = true, .reason = "refused: " + refusal->reason};
    }
    std::vector<float> x = trial_rows(kMostProofRows, problem.shape.hidden);
    std::vector<float> logits(static_cast<size_t>(kMostProofRows * problem.shape.num_experts));
    const View2<const float> rows(x.data(), kMostProofRows, problem.shape.hidden);
    const View2<float> scores(logits.data(), kMostProofRows, problem.shape.num_experts);
    make_reference_ops(threads)->linear(rows, block->gate, scores);
    RoutingTable table;
    route(block->router, scores, {}, table);
    const std::vector<float> y = run_backend(entry, problem, device, block->weights, table, rows, threads);
    const std::vector<float> expected =
        run_backend(*find_expert_backend("reference"), problem, device, block->weights, table, rows, threads);
    check.nmse = std::max(check.nmse, output_nmse(y, expected));
  }
  if (check.nmse > most_layer_nmse(NumericsClass::exact16)) {
    check.ok = false;
    check.reason = "disagrees with the reference on a loaded layer";
  }
  return check;
}

/// Whether a backend is made for this kind of machine; `octet backends` lists the others with their reasons.
bool is_for_this_machine(const ExpertBackendEntry& entry, const MoeProblem& problem) {
  const std::optional<Refusal> refusal = entry.refuse(problem, this_cpu());
  return !refusal || refusal->code != Refusal::Code::instruction_set;
}

}  // namespace

VerifyResult verify(const Checkpoint& checkpoint, ThreadPool& threads, const VerifyOptions& options) {
  VerifyResult result;
  // The fast path first: a backend that is forced and cannot run fails at once.
  const ModelRunner runner(checkpoint, threads, {.expert_backend = options.expert_backend});
  if (!runner.model().moe_blocks().empty()) {
    for (const ExpertBackendEntry& entry : expert_backends()) {
      if (!is_for_this_machine(entry, runner.model().info().moe)) continue;
      result.backends.push_back(check_backend(entry, runner.model(), threads));
    }
  }
  if (!options.golden_dir.empty()) result.golden = check_golden(checkpoint, threads, options);
  result.ok = std::all_of(result.backends.begin(), result.backends.end(), [](const auto& c) { return c.ok; }) &&
              std::all_of(result.golden.begin(), result.golden.end(), [](const auto& c) { return c.ok; });
  return result;
}

}  // namespace octet
