#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace octet {
namespace {

constexpr int64_t kLogitBytes = int64_t{64} << 20;  // enough for 2,000 rows of a vocabulary of 8,192

bool uses_penalties(const SamplingOptions& options) {
  return options.repetition_penalty != 1.0 || options.presence_penalty != 0.0 || options.frequency_penalty != 0.0;
}

/// Adds the ids under "eos_token_id" of a file, a number or a list of numbers, to `ids`.
void add_eos_ids(const Json& object, const std::string& file, std::vector<TokenId>& ids) {
  const std::string key = "eos_token_id";
  if (!object.is_object() || !object.contains(key)) return;
  const Json& value = object[key];
  const auto add = [&](const Json& id) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX) {
      fail(ErrorCode::bad_config, file, ": ", key, ": expected token ids, got ", id.dump());
    }
    ids.push_back(TokenId{id.get<int32_t>()});
  };
  if (value.is_array()) {
    for (const Json& id : value) add(id);
  } else if (!value.is_null()) {
    add(value);
  }
}

std::optional<Tokenizer> load_tokenizer(const std::string& model_dir) {
  const std::string path = model_dir + "/tokenizer.json";
  if (!std::filesystem::exists(path)) return std::nullopt;
  return Tokenizer::load(path);
}

}  // namespace

/// A request between submit() and its last event.
struct Engine::Running {
  RequestId id;
  Request request;
  TokenHistory history;
  std::optional<StreamDecoder> decoder;
  StopStrings stops;
  int64_t answered = 0;  // tokens drawn
  double prompt_nll = 0;
};

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::abort:
      return "abort";
    case FinishReason::error:
      return "error";
  }
  return "error";
}

std::vector<TokenId> read_eos(const Checkpoint& checkpoint, const Tokenizer* tokenizer) {
  std::vector<TokenId> ids;
  add_eos_ids(checkpoint.generation_config(), checkpoint.folder() + "/generation_config.json", ids);
  add_eos_ids(checkpoint.config(), checkpoint.folder() + "/config.json", ids);
  const std::string path = checkpoint.folder() + "/tokenizer_config.json";
  if (tokenizer != nullptr && std::filesystem::exists(path)) {
    constexpr int64_t kMaxBytes = int64_t{64} << 20;
    const Json config = parse_json(read_text_file(path, kMaxBytes), "tokenizer_config.json", ErrorCode::bad_tokenizer);
    // The token stands there as a string or as an object with its content.
    Json token = config.is_object() && config.contains("eos_token") ? config["eos_token"] : Json();
    if (token.is_object() && token.contains("content")) token = Json(token["content"]);
    if (token.is_string()) {
      if (const std::optional<TokenId> id = tokenizer->find(token.get<std::string>())) ids.push_back(*id);
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Engine::Engine(EngineOptions options)
    : options_(std::move(options)), checkpoint_(Checkpoint::open(options_.model_dir)), threads_(options_.threads) {
  const DeviceInfo device = this_cpu();
  tokenizer_ = load_tokenizer(options_.model_dir);
  chat_template_ = ChatTemplate::load(options_.model_dir);
  eos_ = read_eos(checkpoint_, tokenizer_ ? &*tokenizer_ : nullptr);
  checkpoint_.prefetch(threads_, options_.progress);
  runner_ = std::make_unique<ModelRunner>(
      checkpoint_, threads_, RunnerOptions{.numerics = options_.numerics, .expert_backend = options_.expert_backend});

  const int64_t step_tokens = std::max(options_.chunked_prefill_size, options_.max_running_requests);
  const int64_t logit_rows =
      std::clamp(kLogitBytes / (4 * runner_->model().info().vocab), options_.max_running_requests, step_tokens);
  StepLimits limits{.max_tokens = step_tokens, .max_logit_rows = logit_rows};
  const auto budget = static_cast<int64_t>(static_cast<double>(device.memory_bytes) * options_.mem_fraction);
  choose_context(budget, limits);
  require_fit(runner_->plan(limits), budget);
  runner_->reserve(limits);
  scheduler_ = std::make_unique<Scheduler>(SchedulerOptions{.max_running_requests = options_.max_running_requests,
                                                            .chunked_prefill_size = step_tokens,
                                                            .max_logit_rows = logit_rows,
                                                            .context_length = context_length_},
                                           runner_->cache());
  load_s_ = load_watch_.seconds();
}

Engine::~Engine() = default;

/// Sets context_length_ and limits.cache_tokens: a full context for every running request, or, where none was asked
/// for, as many tokens as the budget holds.
void Engine::choose_context(int64_t budget, StepLimits& limits) {
  const int64_t longest = runner_->model().info().max_positions;
  if (options_.context_length > longest) {
    fail(ErrorCode::bad_request, "--context-length ", options_.context_length, ": the model's longest context is ",
         longest, " tokens (max_position_embeddings); ask for fewer");
  }
  context_length_ = options_.context_length > 0 ? options_.context_length : longest;
  limits.cache_tokens = pages_for(context_length_) * kPageTokens * options_.max_running_requests;
  if (options_.context_length > 0) return;
  StepLimits without_cache = limits;
  without_cache.cache_tokens = 0;
  const int64_t left = budget - runner_->plan(without_cache).total();
  const int64_t page_bytes = kPageTokens * runner_->model().kv_layout().bytes_per_token();
  const int64_t fitting = std::max<int64_t>(left / page_bytes, 1) * kPageTokens;
  limits.cache_tokens = std::min(limits.cache_tokens, fitting);
  context_length_ = std::min(context_length_, limits.cache_tokens);
}

const Tokenizer& Engine::tokenizer() const {
  if (!tokenizer_) {
    fail(ErrorCode::bad_file, options_.model_dir,
         ": expected a tokenizer.json beside the weights, found none; text needs one");
  }
  return *tokenizer_;
}

const ChatTemplate& Engine::chat_template() const {
  if (!chat_template_) {
    fail(ErrorCode::bad_file, options_.model_dir,
         ": expected a chat template (chat_template.jinja, or chat_template in tokenizer_config.json), found none; "
         "complete plain text instead");
  }
  return *chat_template_;
}

RequestId Engine::submit(Request request) {
  check(request.sampling);
  const int64_t vocab = model().info().vocab;
  for (const TokenId id : request.prompt) {
    if (id.value < 0 || id.value >= vocab) {
      fail(ErrorCode::bad_request, "prompt: expected token ids from 0 to ", vocab - 1, ", got ", id.value);
    }
  }
  const auto prompt_tokens = static_cast<int64_t>(request.prompt.size());
  if (request.score_prompt) {
    request.max_tokens = 0;
  } else if (request.max_tokens < 0) {
    request.max_tokens = std::max<int64_t>(context_length_ - prompt_tokens, 1);
  } else if (request.max_tokens == 0) {
    fail(ErrorCode::bad_request, "max_tokens: expected at least 1, got 0");
  }
  const RequestId id{next_request_};
  scheduler_->submit(id, request.prompt, request.max_tokens, request.score_prompt);
  ++next_request_;
  auto running = std::make_unique<Running>(Running{.id = id, .request = std::move(request), .stops = StopStrings({})});
  running->stops = StopStrings(running->request.stop);
  if (tokenizer_) running->decoder.emplace(*tokenizer_, DecodeOptions{.skip_special = true});
  if (uses_penalties(running->request.sampling)) {
    for (const TokenId token : running->request.prompt) running->history.add_prompt(token);
  }
  requests_.emplace(id, std::move(running));
  return id;
}

bool Engine::step() {
  const StepPlan& plan = scheduler_->plan();
  if (plan.sequences.empty()) return false;
  const std::vector<RowFault> faults = runner_->forward(plan);
  // Finishing a request changes the scheduler, and with it the plan: keep what is still needed.
  const std::vector<SequenceRows> sequences = plan.sequences;
  const std::vector<int64_t> logit_rows = plan.logit_rows;
  for (const SequenceRows& rows : sequences) {
    Running& running = *requests_.at(rows.request);
    const auto fault = std::find_if(faults.begin(), faults.end(), [&](const RowFault& f) {
      return f.row >= rows.first_row && f.row < rows.first_row + rows.query_len;
    });
    if (fault != faults.end()) {
      finish_with_error(running, fault->reason);
      continue;
    }
    const int64_t last = rows.first_row + rows.query_len - 1;
    const auto wanted = std::lower_bound(logit_rows.begin(), logit_rows.end(), rows.first_row);
    if (wanted == logit_rows.end() || *wanted > last) continue;  // more of the prompt is to come
    const auto index = static_cast<int64_t>(wanted - logit_rows.begin());
    if (running.request.score_prompt) {
      score_rows(running, rows, runner_->logits().slice(index, rows.query_len));
    } else {
      const View2<const float> row = runner_->logits().slice(index, 1);
      take_row(running, {row.data, static_cast<size_t>(row.cols)}, rows.position + rows.query_len);
    }
  }
  return true;
}

/// Draws the token of `position` from its logits, and passes on what it means.
void Engine::take_row(Running& running, std::span<const float> logits, int64_t position) {
  const Request& request = running.request;
  const bool penalties = uses_penalties(request.sampling);
  Event event{.request = running.id};
  event.sample = sample({.logits = logits,
                         .vocab = tokenizer_ ? tokenizer_->vocab_size() : model().info().vocab,
                         .history = penalties ? &running.history : nullptr,
                         .position = position,
                         .top_logprobs = request.top_logprobs},
                        request.sampling);
  const TokenId token = event.sample->token;
  if (token.value < 0) return finish_with_error(running, "the LM head's logits hold NaN");
  ++running.answered;
  if (penalties) running.history.add_answer(token);
  const bool eos = !request.ignore_eos && std::binary_search(eos_.begin(), eos_.end(), token);
  if (running.decoder && !eos) event.text = running.stops.push(running.decoder->push(token));
  if (running.stops.stopped()) return finish(running, FinishReason::stop, std::move(event));
  if (!eos && running.answered < request.max_tokens) {
    scheduler_->append(running.id, token);
    events_.push_back(std::move(event));
    return;
  }
  if (running.decoder) event.text += running.stops.push(running.decoder->finish());
  const bool stopped = eos || running.stops.stopped();
  event.text += running.stops.finish();
  finish(running, stopped ? FinishReason::stop : FinishReason::length, std::move(event));
}

/// Adds -log p of the prompt tokens that these rows predict; ends the request with the last of them.
void Engine::score_rows(Running& running, const SequenceRows& rows, View2<const float> logits) {
  const std::vector<TokenId>& prompt = running.request.prompt;
  const int64_t predicted = std::min<int64_t>(rows.query_len, static_cast<int64_t>(prompt.size()) - 1 - rows.position);
  std::vector<double> nll(static_cast<size_t>(rows.query_len), 0.0);
  threads_.for_chunks(predicted, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const TokenId next = prompt[static_cast<size_t>(rows.position + i + 1)];
      const std::span<const float> row(logits.row(i), static_cast<size_t>(logits.cols));
      nll[static_cast<size_t>(i)] = log_sum_exp(row) - static_cast<double>(row[static_cast<size_t>(next.value)]);
    }
  });
  for (const double value : nll) running.prompt_nll += value;
  if (!std::isfinite(running.prompt_nll))
    return finish_with_error(running, "the LM head's logits hold NaN or infinity");
  if (rows.position + rows.query_len < static_cast<int64_t>(prompt.size())) return;
  Event event{.request = running.id};
  event.prompt_nll = running.prompt_nll;
  finish(running, FinishReason::length, std::move(event));
}

void Engine::finish(Running& running, FinishReason reason, Event event) {
  event.finish = reason;
  events_.push_back(std::move(event));
  const RequestId id = running.id;
  scheduler_->finish(id);
  requests_.erase(id);
}

void Engine::finish_with_error(Running& running, const std::string& error) {
  Event event{.request = running.id};
  event.error = error + "; run `octet verify` to find out whether the checkpoint or a backend is at fault";
  finish(running, FinishReason::error, std::move(event));
}

std::vector<Event> Engine::poll() {
  std::vector<Event> events;
  std::swap(events, events_);
  return events;
}

void Engine::cancel(RequestId request) {
  const auto at = requests_.find(request);
  if (at == requests_.end()) return;
  Running& running = *at->second;
  Event event{.request = request};
  if (running.decoder && !running.stops.stopped()) {  // what was held back belongs to the tokens that were sent
    event.text = running.stops.push(running.decoder->finish());
    event.text += running.stops.finish();
  }
  finish(running, FinishReason::abort, std::move(event));
}

}  // namespace octet
