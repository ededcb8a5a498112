#include "config/flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <random>

namespace octet {
namespace {

/// The number under `key` of generation_config.json; nullopt if it is missing or null.
std::optional<double> default_number(const Json& config, const char* key) {
  if (!config.is_object() || !config.contains(key) || config[key].is_null()) return std::nullopt;
  if (!config[key].is_number()) {
    fail(ErrorCode::bad_config, "generation_config.json: ", key, ": expected a number, got ", config[key].dump());
  }
  return config[key].get<double>();
}

/// Without a temperature, `do_sample: false` means greedy.
double default_temperature(const Json& config) {
  const bool greedy = config.is_object() && config.contains("do_sample") && config["do_sample"] == false;
  if (greedy) return 0;
  return default_number(config, "temperature").value_or(1.0);
}

std::optional<int64_t> default_integer(const Json& config, const char* key) {
  const std::optional<double> value = default_number(config, key);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value) || std::abs(*value) > 1e15) {
    fail(ErrorCode::bad_config, "generation_config.json: ", key, ": expected a whole number, got ", *value);
  }
  return static_cast<int64_t>(*value);
}

}  // namespace

void add_checkpoint_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--model", flags.model, "folder of a Hugging Face checkpoint")->required();
  app.add_option("--threads", flags.threads, "CPU threads; 0: all that this process may use")
      ->check(CLI::Range(0, 4096));
  app.add_option("--moe-runner-backend", flags.moe_runner_backend, "expert backend by name or alias; auto: by rule");
  app.add_flag("--json", flags.json, "print one JSON object on stdout");
}

void add_model_flags(CLI::App& app, ModelFlags& flags) {
  add_checkpoint_flags(app, flags);
  app.add_option("--device", flags.device, "cpu, or cuda[:N]");
  app.add_option("--compute", flags.compute, "fast, or reference (plain loops, double accumulation)")
      ->check(CLI::IsMember({"fast", "reference"}));
  app.add_option("--numerics", flags.numerics, "numerics class")->check(CLI::IsMember({"exact16", "int8"}));
  app.add_option("--dense-dtype", flags.dense_dtype, "weights outside experts")
      ->check(CLI::IsMember({"bf16", "int8", "fp8"}));
  app.add_option("--context-length", flags.context_length, "longest prompt + answer; 0: the model's own, or what fits")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--chunked-prefill-size", flags.chunked_prefill_size, "most tokens in one step")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--max-running-requests", flags.max_running_requests, "most sequences in one step")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--mem-fraction-static", flags.mem_fraction_static, "share of the free memory that may be used")
      ->check(CLI::Range(0.01, 1.0));
}

EngineOptions engine_options(const ModelFlags& flags) {
  if (flags.device != "cpu") {
    const bool cuda = flags.device == "cuda" || flags.device.rfind("cuda:", 0) == 0;
    fail(cuda ? ErrorCode::unsupported : ErrorCode::bad_usage, "--device ", flags.device, ": ",
         cuda ? "this build has no CUDA; use --device cpu" : "expected cpu or cuda[:N]");
  }
  if (flags.numerics != "exact16") {
    fail(ErrorCode::unsupported, "--numerics ", flags.numerics, ": this build computes exact16 only");
  }
  if (flags.dense_dtype != "bf16") {
    fail(ErrorCode::unsupported, "--dense-dtype ", flags.dense_dtype,
         ": this build reads dense weights as they are stored (bf16) only");
  }
  return {.model_dir = flags.model,
          .threads = flags.threads,
          .numerics = flags.compute == "reference" ? NumericsClass::reference : NumericsClass::exact16,
          .expert_backend = flags.moe_runner_backend == "auto" ? "" : flags.moe_runner_backend,
          .context_length = flags.context_length,
          .max_running_requests = flags.max_running_requests,
          .chunked_prefill_size = flags.chunked_prefill_size,
          .mem_fraction = flags.mem_fraction_static};
}

void add_sampling_flags(CLI::App& app, SamplingFlags& flags) {
  app.add_option("--temperature", flags.temperature, "0: greedy");
  app.add_option("--top-p", flags.top_p, "keep the most probable tokens that reach this share");
  app.add_option("--top-k", flags.top_k, "keep this many tokens; 0: all");
  app.add_option("--min-p", flags.min_p, "drop tokens below this share of the best one's probability");
  app.add_option("--repetition-penalty", flags.repetition_penalty, "divides logits of tokens already seen");
  app.add_option("--presence-penalty", flags.presence_penalty, "subtracted from logits of answered tokens");
  app.add_option("--frequency-penalty", flags.frequency_penalty, "the same, for each time");
  app.add_option("--seed", flags.seed, "of the random numbers; default: a random one");
  app.add_option("--stop", flags.stop, "end the answer before this text; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--max-tokens", flags.max_tokens, "longest answer; default: to the end of the context")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  app.add_flag("--ignore-eos", flags.ignore_eos, "go on after an end-of-sequence token");
}

Request make_request(const SamplingFlags& flags, const Json& defaults) {
  Request request;
  SamplingOptions& s = request.sampling;
  s.temperature = flags.temperature ? *flags.temperature : default_temperature(defaults);
  s.top_p = flags.top_p ? *flags.top_p : default_number(defaults, "top_p").value_or(1.0);
  s.top_k = flags.top_k ? *flags.top_k : default_integer(defaults, "top_k").value_or(0);
  s.min_p = flags.min_p ? *flags.min_p : default_number(defaults, "min_p").value_or(0.0);
  s.repetition_penalty = flags.repetition_penalty ? *flags.repetition_penalty
                                                  : default_number(defaults, "repetition_penalty").value_or(1.0);
  s.presence_penalty = flags.presence_penalty.value_or(0.0);
  s.frequency_penalty = flags.frequency_penalty.value_or(0.0);
  s.seed = flags.seed ? *flags.seed : std::random_device()();
  check(s);
  request.max_tokens = flags.max_tokens ? *flags.max_tokens : default_integer(defaults, "max_new_tokens").value_or(-1);
  request.stop = flags.stop;
  request.ignore_eos = flags.ignore_eos;
  return request;
}

}  // namespace octet
