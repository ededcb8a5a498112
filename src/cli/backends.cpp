// octet backends: the selection table of a model or a named shape, on this machine or on hardware that is not there.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "config/cache_path.h"
#include "engine/backend_trials.h"
#include "engine/runner.h"
#include "engine/trial_cache.h"
#include "moe/experts/selection.h"
#include "moe/experts/shapes.h"
#include "tensor/hardware.h"

namespace octet {
namespace {

struct Flags {
  std::string model;
  std::string shape;
  std::vector<int64_t> tokens{1, 64, 2048};
  std::string hardware = "this";
  std::string numerics = "exact16";
  std::string backend = "auto";
  std::string trial_cache = default_trial_cache();
  bool measure = false;
  bool json = false;
};

constexpr double kTrialBudgetS = 2;

void check_usage(const Flags& flags) {
  if (flags.model.empty() == flags.shape.empty()) {
    fail(ErrorCode::bad_usage, "octet backends: expected one of --model DIR and --shape NAME, got ",
         flags.model.empty() ? "neither" : "both");
  }
  if (flags.measure && (flags.model.empty() || flags.hardware != "this")) {
    fail(ErrorCode::bad_usage, "--measure: expected --model DIR on this machine, got ",
         flags.model.empty() ? "a shape without weights" : "--hardware " + flags.hardware);
  }
}

/// What is asked for. Of a checkpoint, the first sparse layer, with what trials on this machine found out: from the
/// cache, or with --measure now.
SelectionRequest make_request(const Flags& flags) {
  SelectionRequest request{.buckets = flags.tokens, .forced = flags.backend};
  std::sort(request.buckets.begin(), request.buckets.end());
  request.buckets.erase(std::unique(request.buckets.begin(), request.buckets.end()), request.buckets.end());
  const NumericsClass numerics = flags.numerics == "int8" ? NumericsClass::int8 : NumericsClass::exact16;
  if (flags.model.empty()) {
    request.problem = find_moe_shape(flags.shape);
    request.problem.numerics = numerics;
    return request;
  }
  ThreadPool threads;
  const Checkpoint checkpoint = Checkpoint::open(flags.model);
  // The reference reads every format where it lies, so nothing is repacked to answer.
  const ModelRunner runner(checkpoint, threads, {.expert_backend = "reference", .check_scales = false});
  request.problem = runner.model().info().moe;
  request.problem.numerics = numerics;
  if (request.problem.shape.num_experts == 0) {
    fail(ErrorCode::unsupported, flags.model, ": expected a model with routed experts, got one without a sparse layer");
  }
  if (flags.hardware != "this") return request;
  const TrialCache cache(flags.trial_cache);
  const std::string key = trial_key(request.problem, this_cpu());
  if (!flags.measure) {
    request.trials = cache.find(key);
  } else {
    request.trials = try_on_loaded_layer(runner.model(), request, threads, kTrialBudgetS);
    if (!flags.trial_cache.empty() && !cache.store(key, request.trials)) {
      std::fprintf(stderr, "octet: note: %s could not be written; the next start will not know these results\n",
                   flags.trial_cache.c_str());
    }
  }
  return request;
}

/// "NVFP4", or "NVFP4 and BF16" where the down projection is stored differently.
std::string formats(const MoeProblem& problem) {
  const std::string gate_up = describe(problem.gate_up);
  return problem.gate_up == problem.down ? gate_up : gate_up + " and " + describe(problem.down);
}

/// A bound from a read rate that nobody measured is no limit, so it has no share.
std::string timing(const SelectionRow& row, const DeviceInfo& device) {
  char text[128];
  int length = std::snprintf(text, sizeof(text), "at best %.1f us%s", row.bound_us,
                             device.read_gbs > 0 ? "" : " (at an assumed 10 GB/s)");
  if (row.measured_us) {
    length += std::snprintf(text + length, sizeof(text) - length, ", measured %.1f us", *row.measured_us);
    if (device.read_gbs > 0) {
      length +=
          std::snprintf(text + length, sizeof(text) - length, " (%.0f %%)", 100 * row.bound_us / *row.measured_us);
    }
    std::snprintf(text + length, sizeof(text) - length, ", agrees with the reference");
  }
  return text;
}

void print_bucket_head(const MoeProblem& problem, const DeviceInfo& device, int64_t num_tokens) {
  const MoeShape& s = problem.shape;
  std::printf("moe experts   T=%lld H=%lld I=%lld E=%d top_k=%d, %s, %s, %s\n", static_cast<long long>(num_tokens),
              static_cast<long long>(s.hidden), static_cast<long long>(s.expert_width), s.num_experts, s.top_k,
              formats(problem).c_str(), std::string(to_string(problem.numerics)).c_str(), describe(device).c_str());
}

void print_text(const MoeProblem& problem, const DeviceInfo& device, const std::vector<SelectionRow>& rows) {
  int64_t bucket = -1;
  for (const SelectionRow& row : rows) {
    if (row.num_tokens != bucket) {
      std::printf("%s", bucket < 0 ? "" : "\n");
      bucket = row.num_tokens;
      print_bucket_head(problem, device, bucket);
    }
    const std::string why = row.refusal ? row.refusal->reason : timing(row, device);
    const char* state = row.state == CandidateState::can_run ? "can run" : to_string(row.state).data();
    std::printf("  %-36s%-10s%s\n", std::string(row.backend->name).c_str(), state, why.c_str());
  }
}

OrderedJson to_json(const MoeProblem& problem) {
  return {{"hidden", problem.shape.hidden},
          {"expert_width", problem.shape.expert_width},
          {"num_experts", problem.shape.num_experts},
          {"top_k", problem.shape.top_k},
          {"gate_up", describe(problem.gate_up)},
          {"down", describe(problem.down)},
          {"activation", to_string(problem.activation)},
          {"numerics", to_string(problem.numerics)},
          {"num_ranks", problem.ranks.num_ranks}};
}

OrderedJson to_json(const DeviceInfo& device) {
  OrderedJson json = {{"name", device.name}, {"kind", device.kind == DeviceKind::cuda ? "cuda" : "cpu"}};
  if (device.kind == DeviceKind::cuda) {
    json["compute_capability"] = device.gpu.compute_capability;
    json["num_sms"] = device.gpu.num_sms;
    json["shared_memory_a_block_bytes"] = device.gpu.shared_memory_a_block_bytes;
  } else {
    json["num_threads"] = device.num_threads;
  }
  json["memory_bytes"] = device.memory_bytes;
  json["cache_bytes"] = device.cache_bytes;
  json["read_gbs"] = device.read_gbs > 0 ? OrderedJson(device.read_gbs) : OrderedJson();
  return json;
}

OrderedJson to_json(const SelectionRow& row) {
  OrderedJson json = {{"tokens", row.num_tokens}, {"name", row.backend->name}, {"state", to_string(row.state)}};
  json["reason_code"] = row.refusal ? OrderedJson(to_string(row.refusal->code)) : OrderedJson();
  json["reason"] = row.refusal ? OrderedJson(row.refusal->reason) : OrderedJson();
  json["bound_us"] = row.bound_us;
  json["measured_us"] = row.measured_us ? OrderedJson(*row.measured_us) : OrderedJson();
  return json;
}

int list_backends(const Flags& flags) {
  check_usage(flags);
  const DeviceInfo device = find_hardware(flags.hardware);
  const SelectionRequest request = make_request(flags);
  const std::vector<SelectionRow> rows = select_expert_backends(request, device);
  // Without a forced name nothing was asked that could fail: a table in which nothing runs is an answer.
  if (flags.backend != "auto") check_every_bucket_served(rows, flags.backend);
  if (!flags.json) {
    print_text(request.problem, device, rows);
    return 0;
  }
  OrderedJson list = OrderedJson::array();
  for (const SelectionRow& row : rows) list.push_back(to_json(row));
  print_json({{"problem", to_json(request.problem)}, {"hardware", to_json(device)}, {"rows", list}});
  return 0;
}

}  // namespace

void add_backends(CLI::App& app, Runner& run) {
  CLI::App* command =
      app.add_subcommand("backends", "list every expert backend, what is chosen and why not the others");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--model", flags->model, "folder of a Hugging Face checkpoint");
  command->add_option("--shape", flags->shape, "instead of a model: glm5, glm5-tp8, qwen3-30b-a3b, ...");
  command->add_option("--tokens", flags->tokens, "numbers of tokens in a step, as 1,64,2048")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command->add_option("--hardware", flags->hardware, "this, or a device that need not be there: h200, avx2-8c, ...");
  command->add_option("--numerics", flags->numerics, "numerics class")->check(CLI::IsMember({"exact16", "int8"}));
  command->add_option("--moe-runner-backend", flags->backend,
                      "backend by name or alias; decode=A,prefill=B; auto: by rule");
  command->add_flag("--measure", flags->measure, "try the backends on a loaded layer first: proof and timing");
  command->add_option("--trial-cache", flags->trial_cache, "file of earlier results; empty: none");
  command->add_flag("--json", flags->json, "print one JSON object on stdout");
  command->callback([flags, &run] { run = [flags] { return list_backends(*flags); }; });
}

}  // namespace octet
