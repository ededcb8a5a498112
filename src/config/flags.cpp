#include "config/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <random>
#include <sstream>

namespace octet {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 31;  // of counts of tokens

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
  if (config.is_object() && config.contains("do_sample") && !config["do_sample"].is_null()) {
    if (!config["do_sample"].is_boolean()) {
      fail(ErrorCode::bad_config, "generation_config.json: do_sample: expected true or false, got ",
           config["do_sample"].dump());
    }
    if (!config["do_sample"].get<bool>()) return 0;
  }
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

/// A check of one flag's text: a number from low to high; CLI11's own takes NaN and text that is no number.
CLI::Validator number_in(double low, double high) {
  const auto check = [low, high](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && value >= low && value <= high) return std::string();
    std::ostringstream message;
    message << "expected a number from " << low << " to " << high << ", got " << (text.empty() ? "nothing" : text);
    return message.str();
  };
  return CLI::Validator(check, "");
}

/// A whole number from low to high, both within 64 bits.
CLI::Validator whole_number_in(int64_t low, uint64_t high) {
  const auto check = [low, high](const std::string& text) {
    errno = 0;
    char* end = nullptr;
    const bool negative = !text.empty() && text[0] == '-';
    const long long small = negative ? std::strtoll(text.c_str(), &end, 10) : 0;
    const unsigned long long large = negative ? 0 : std::strtoull(text.c_str(), &end, 10);
    const bool is_number = !text.empty() && end != nullptr && *end == '\0' && errno == 0;
    if (is_number &&
        (negative ? small >= low : static_cast<int64_t>(std::min(large, 1ull << 62)) >= low && large <= high)) {
      return std::string();
    }
    std::ostringstream message;
    message << "expected a whole number from " << low << " to " << high << ", got "
            << (text.empty() ? "nothing" : text);
    return message.str();
  };
  return CLI::Validator(check, "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return std::string(text.empty() ? "expected some text, got none" : ""); }, "");
}

}  // namespace

void add_checkpoint_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--model", flags.model, "folder of a Hugging Face checkpoint")->required()->check(not_empty());
  app.add_option("--threads", flags.threads, "CPU threads; 0: all that this process may use")
      ->check(whole_number_in(0, 4096));
  app.add_option("--moe-runner-backend", flags.moe_runner_backend, "expert backend by name or alias; auto: by rule")
      ->check(not_empty());
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
      ->check(whole_number_in(0, kMost));
  app.add_option("--chunked-prefill-size", flags.chunked_prefill_size, "most tokens in one step")
      ->check(whole_number_in(1, 1 << 20));
  app.add_option("--mem-fraction-static", flags.mem_fraction_static, "share of the free memory that may be used")
      ->check(number_in(0.01, 1));
}

void add_batch_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--max-running-requests", flags.max_running_requests, "most sequences in one step")
      ->check(whole_number_in(1, 1 << 16));
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
  app.add_option("--temperature", flags.temperature, "0: greedy")->check(number_in(0, 100));
  app.add_option("--top-p", flags.top_p, "keep the most probable tokens that reach this share")
      ->check(number_in(1e-9, 1));
  app.add_option("--top-k", flags.top_k, "keep this many tokens; 0: all")->check(whole_number_in(-1, kMost));
  app.add_option("--min-p", flags.min_p, "drop tokens below this share of the best one's probability")
      ->check(number_in(0, 1));
  app.add_option("--repetition-penalty", flags.repetition_penalty, "divides logits of tokens already seen")
      ->check(number_in(1e-3, 100));
  app.add_option("--presence-penalty", flags.presence_penalty, "subtracted from logits of answered tokens")
      ->check(number_in(-2, 2));
  app.add_option("--frequency-penalty", flags.frequency_penalty, "the same, for each time")->check(number_in(-2, 2));
  app.add_option("--seed", flags.seed, "of the random numbers; default: a random one")
      ->check(whole_number_in(0, UINT64_MAX));
  app.add_option("--stop", flags.stop, "end the answer before this text; may be given several times")
      ->allow_extra_args(false)
      ->check(not_empty());
  app.add_option("--max-tokens", flags.max_tokens, "longest answer; default: to the end of the context")
      ->check(whole_number_in(1, kMost));
  app.add_flag("--ignore-eos", flags.ignore_eos, "go on after an end-of-sequence token");
}

Request make_request(const SamplingFlags& flags, const Engine& engine, std::vector<TokenId> prompt) {
  const Json& defaults = engine.checkpoint().generation_config();
  const int64_t left = std::max<int64_t>(engine.context_length() - static_cast<int64_t>(prompt.size()), 1);
  Request request{.prompt = std::move(prompt)};
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
  try {
    check(s);
  } catch (const Error& e) {  // flags were checked when they were read
    fail(ErrorCode::bad_config, "generation_config.json: ", e.what(), "; give the flag to replace it");
  }
  if (default_integer(defaults, "max_new_tokens").value_or(1) < 1) {
    fail(ErrorCode::bad_config, "generation_config.json: max_new_tokens: expected at least 1, got ",
         defaults["max_new_tokens"].dump());
  }
  request.max_tokens =
      flags.max_tokens ? *flags.max_tokens : std::min(left, default_integer(defaults, "max_new_tokens").value_or(left));
  request.stop = flags.stop;
  request.ignore_eos = flags.ignore_eos;
  return request;
}

}  // namespace octet
