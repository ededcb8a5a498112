// octet generate: completes one prompt and streams the answer.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "config/flags.h"

namespace octet {
namespace {

struct Flags {
  ModelFlags model;
  SamplingFlags sampling;
  std::string prompt;
  std::string system;
  bool chat = false;
};

/// What one answer was and took.
struct Answer {
  std::string text;
  std::vector<TokenId> tokens;
  FinishReason finish = FinishReason::abort;
  double prefill_s = 0;  // to the first token
  double decode_s = 0;   // from the first token to the last
};

std::vector<TokenId> encode_prompt(const Engine& engine, const Flags& flags) {
  if (!flags.chat) return engine.tokenizer().encode(flags.prompt, {.add_special_tokens = true});
  std::vector<ChatMessage> messages;
  if (!flags.system.empty()) messages.push_back({.role = "system", .content = flags.system});
  messages.push_back({.role = "user", .content = flags.prompt});
  return engine.tokenizer().encode(engine.chat_template().render(messages));
}

/// Runs the only request of the engine to its end, or until Ctrl-C; streams text to stdout if `stream`.
Answer run_to_end(Engine& engine, RequestId id, bool stream) {
  const InterruptGuard guard;
  Answer answer;
  const Stopwatch watch;
  bool finished = false;
  while (!finished) {
    if (InterruptGuard::interrupted()) {
      engine.cancel(id);
    } else {
      engine.step();
    }
    for (const Event& event : engine.poll()) {
      if (event.finish == FinishReason::error) fail(ErrorCode::bad_numerics, event.error);
      if (event.sample) {
        if (answer.tokens.empty()) answer.prefill_s = watch.seconds();
        answer.tokens.push_back(event.sample->token);
        answer.decode_s = watch.seconds() - answer.prefill_s;
      }
      answer.text += event.text;
      if (stream) {
        std::fwrite(event.text.data(), 1, event.text.size(), stdout);
        std::fflush(stdout);
      }
      if (event.finish) {
        answer.finish = *event.finish;
        finished = true;
      }
    }
  }
  if (stream) {
    std::printf("\n");
    std::fflush(stdout);  // before the summary on stderr
  }
  return answer;
}

void print_summary(const Engine& engine, size_t prompt_tokens, const Answer& answer) {
  const auto decoded = static_cast<double>(answer.tokens.size()) - 1;
  std::fprintf(stderr, "load %.3f s, prompt %zu tokens in %.3f s, answer %zu tokens", engine.load_s(), prompt_tokens,
               answer.prefill_s, answer.tokens.size());
  if (decoded > 0) std::fprintf(stderr, ", %.1f tokens/s", decoded / answer.decode_s);
  std::fprintf(stderr, ", finished by %s\n", std::string(to_string(answer.finish)).c_str());
}

void print_answer_json(const Engine& engine, size_t prompt_tokens, const Answer& answer) {
  OrderedJson ids = OrderedJson::array();
  for (const TokenId token : answer.tokens) ids.push_back(token.value);
  print_json({{"text", answer.text},
              {"token_ids", ids},
              {"prompt_tokens", prompt_tokens},
              {"completion_tokens", answer.tokens.size()},
              {"finish_reason", to_string(answer.finish)},
              {"load_s", engine.load_s()},
              {"prefill_s", answer.prefill_s},
              {"decode_s", answer.decode_s}});
}

std::unique_ptr<Engine> load_engine(const ModelFlags& flags) {
  EngineOptions options = engine_options(flags);
  ProgressBar bar("loading weights");
  options.progress = bar.callback();
  return std::make_unique<Engine>(std::move(options));
}

int generate(const Flags& flags) {
  if (!flags.system.empty() && !flags.chat) fail(ErrorCode::bad_usage, "--system: only with --chat");
  const std::unique_ptr<Engine> loaded = load_engine(flags.model);
  Engine& engine = *loaded;
  Request request = make_request(flags.sampling, engine, encode_prompt(engine, flags));
  const size_t prompt_tokens = request.prompt.size();
  const Answer answer = run_to_end(engine, engine.submit(std::move(request)), !flags.model.json);
  if (flags.model.json) {
    print_answer_json(engine, prompt_tokens, answer);
  } else {
    print_summary(engine, prompt_tokens, answer);
  }
  return answer.finish == FinishReason::abort ? 1 : 0;
}

}  // namespace

void add_generate(CLI::App& app, Runner& run) {
  CLI::App* command = app.add_subcommand("generate", "complete one prompt");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--prompt", flags->prompt, "text to complete")->required();
  command->add_flag("--chat", flags->chat, "put the prompt through the chat template, as a user's message");
  command->add_option("--system", flags->system, "with --chat: a system message before it");
  add_model_flags(*command, flags->model);
  add_sampling_flags(*command, flags->sampling);
  command->callback([flags, &run] { run = [flags] { return generate(*flags); }; });
}

}  // namespace octet
