// config/flags.h — command-line flags that mean the same in every command, and how they become options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace CLI {
class App;
}

namespace octet {

/// Where and how a model runs.
struct ModelFlags {
  std::string model;
  std::string device = "cpu";
  std::string compute = "fast";
  std::string numerics = "exact16";
  std::string dense_dtype = "bf16";
  std::string moe_runner_backend = "auto";
  int32_t threads = 0;
  int64_t context_length = 0;
  int64_t chunked_prefill_size = 512;
  int64_t max_running_requests = 1;
  double mem_fraction_static = 0.9;
  bool json = false;
};

/// Adds --model, --device, --threads, --compute, --numerics, --dense-dtype, --moe-runner-backend, --context-length,
/// --chunked-prefill-size, --mem-fraction-static and --json.
void add_model_flags(CLI::App& app, ModelFlags& flags);
/// Adds --max-running-requests; its default stands in flags.
void add_batch_flags(CLI::App& app, ModelFlags& flags);
/// Only those that choose a checkpoint and threads: --model, --threads, --moe-runner-backend, --json.
void add_checkpoint_flags(CLI::App& app, ModelFlags& flags);

/// Throws Error(unsupported) for a device, type or numerics class that this build does not have.
EngineOptions engine_options(const ModelFlags& flags);

/// Sampling flags; what is not given comes from generation_config.json.
struct SamplingFlags {
  std::optional<double> temperature, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int64_t> top_k, max_tokens;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool ignore_eos = false;
};

/// Adds --temperature --top-p --top-k --min-p --repetition-penalty --presence-penalty --frequency-penalty --seed --stop
/// --max-tokens --ignore-eos.
void add_sampling_flags(CLI::App& app, SamplingFlags& flags);

/// A request for this prompt, with flags over the defaults of the engine's generation_config.json. A seed that is not
/// given is random; a default for the longest answer is cut to what the context leaves. Throws Error(bad_config) on
/// defaults of the wrong type, Error(bad_request) on values out of range.
Request make_request(const SamplingFlags& flags, const Engine& engine, std::vector<TokenId> prompt);

}  // namespace octet
