// engine/engine.h — the engine: requests in, tokens out. The server, the command line and bindings share this
// interface.
//
//   Engine engine(options);
//   RequestId id = engine.submit(request);
//   while (engine.step()) for (Event& event : engine.poll()) ...
//
// One thread calls these methods. There is no process-wide state; any number of engines may live side by side.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "checkpoint/checkpoint.h"
#include "engine/runner.h"
#include "sampling/sampler.h"
#include "sampling/stop_strings.h"
#include "scheduler/scheduler.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace octet {

struct EngineOptions {
  std::string model_dir;
  int32_t threads = 0;                              // 0: all processors that this process may use
  NumericsClass numerics = NumericsClass::exact16;  // `reference` for --compute reference
  std::string expert_backend;                       // --moe-runner-backend; empty: by rule
  int64_t context_length = 0;                       // longest prompt + answer; 0: the model's own, or what fits
  int64_t max_running_requests = 1;                 // sequences in one step
  int64_t chunked_prefill_size = 512;               // rows of one step
  double mem_fraction = 0.9;                        // share of the available memory that the plan may use
  ProgressFn progress;                              // while weights are read from disk; may be empty
};

/// A prompt and what to do with it.
struct Request {
  std::vector<TokenId> prompt;
  SamplingOptions sampling;
  int64_t max_tokens = -1;        // of the answer; -1: to the end of the context
  std::vector<std::string> stop;  // the answer ends before the first of these
  bool ignore_eos = false;
  bool score_prompt = false;  // only the prompt's negative log-likelihood is wanted; there is no answer
  int32_t top_logprobs = -1;  // as in SampleInput
};

enum class FinishReason : uint8_t { stop, length, abort, error };

/// "stop", "length", "abort" or "error".
std::string_view to_string(FinishReason reason);

/// News of one request: after a step that sampled a token for it, or at its end.
struct Event {
  RequestId request;
  std::optional<Sample> sample;        // the new token, with log-probabilities if they were asked for
  std::string text;                    // what may be shown now; whole UTF-8 characters, no part of a stop string
  std::optional<FinishReason> finish;  // set in a request's last event
  std::string error;                   // if finish is `error`
  double prompt_nll = 0;               // score_prompt: Σ -log p over the prompt's tokens but the first, in nats
};

class Engine {
 public:
  /// Opens the checkpoint, loads the model and the tokenizer if there is one, and takes all memory.
  explicit Engine(EngineOptions options);
  ~Engine();

  /// Queues a request. Throws Error(bad_request) if it can never be served; nothing is queued then.
  RequestId submit(Request request);
  /// Computes one step for all requests that have something to compute; false if there was nothing to do.
  /// Faults of single requests become their events; nothing is thrown for them.
  bool step();
  /// Events since the last call, in order.
  std::vector<Event> poll();
  /// Ends a request now: its pages are free when this returns, and its last event says `abort`. Unknown ids are
  /// ignored.
  void cancel(RequestId request);

  /// Throws Error(bad_file) if the checkpoint has no tokenizer.json.
  const Tokenizer& tokenizer() const;
  /// Throws Error(bad_file) if the checkpoint has no chat template.
  const ChatTemplate& chat_template() const;
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const Model& model() const { return runner_->model(); }
  ModelRunner& runner() { return *runner_; }
  int64_t context_length() const { return context_length_; }
  /// Seconds from construction to ready.
  double load_s() const { return load_s_; }
  /// Tokens that end an answer: the union of generation_config.json, config.json and the tokenizer's own.
  const std::vector<TokenId>& eos() const { return eos_; }

 private:
  struct Running;

  void choose_context(int64_t budget, StepLimits& limits);
  void take_row(Running& running, std::span<const float> logits, int64_t position);
  void score_rows(Running& running, const SequenceRows& rows, View2<const float> logits);
  void finish(Running& running, FinishReason reason, Event event);
  void finish_with_error(Running& running, const std::string& error);

  const Stopwatch load_watch_;  // first, so that load_s counts everything
  EngineOptions options_;
  Checkpoint checkpoint_;
  ThreadPool threads_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_template_;
  std::unique_ptr<ModelRunner> runner_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<TokenId> eos_;
  int64_t context_length_ = 0;
  double load_s_ = 0;
  int32_t next_request_ = 0;
  std::unordered_map<RequestId, std::unique_ptr<Running>> requests_;
  std::vector<Event> events_;
};

/// Token ids under "eos_token_id" of generation_config.json and config.json (a number or a list), and the id of
/// tokenizer_config.json's eos_token.
std::vector<TokenId> read_eos(const Checkpoint& checkpoint, const Tokenizer* tokenizer);

}  // namespace octet
