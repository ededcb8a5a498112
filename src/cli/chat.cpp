// octet chat: a conversation in the terminal.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "config/flags.h"

namespace octet {
namespace {

struct Flags {
  ModelFlags model;
  SamplingFlags sampling;
  std::string system;
};

constexpr const char* kHelp =
    "/help   this text\n"
    "/reset  forget the conversation\n"
    "/quit   leave (Ctrl-D does too)\n"
    "Ctrl-C  stop the answer that is being written\n";

class Conversation {
 public:
  Conversation(Engine& engine, const Flags& flags) : engine_(engine), flags_(flags) { reset(); }

  void reset() {
    messages_.clear();
    if (!flags_.system.empty()) messages_.push_back({.role = "system", .content = flags_.system});
  }

  /// Answers one message on stdout. A message that cannot be answered is taken back, so that the conversation can go
  /// on.
  void answer(const std::string& text) {
    messages_.push_back({.role = "user", .content = text});
    try {
      messages_.push_back({.role = "assistant", .content = stream_answer()});
    } catch (const Error& e) {
      messages_.pop_back();
      std::fprintf(stderr, "octet: %s\nThe message was taken back; try another, or /reset.\n", e.what());
    }
  }

 private:
  std::string stream_answer() {
    const std::string prompt = engine_.chat_template().render(messages_);
    const RequestId id = engine_.submit(make_request(flags_.sampling, engine_, engine_.tokenizer().encode(prompt)));
    try {
      return stream_events(id);
    } catch (...) {
      engine_.cancel(id);  // leave nothing of it behind
      engine_.poll();
      throw;
    }
  }

  std::string stream_events(RequestId id) {
    const InterruptGuard guard;
    std::string text;
    for (bool finished = false; !finished;) {
      if (InterruptGuard::interrupted()) {
        engine_.cancel(id);
      } else {
        engine_.step();
      }
      for (const Event& event : engine_.poll()) {
        if (event.finish == FinishReason::error) fail(ErrorCode::bad_numerics, event.error);
        text += event.text;
        std::fwrite(event.text.data(), 1, event.text.size(), stdout);
        std::fflush(stdout);
        if (event.finish == FinishReason::length) std::fputs(" [the answer reached its longest length]", stdout);
        finished = finished || event.finish.has_value();
      }
    }
    std::printf("\n");
    return text;
  }

  Engine& engine_;
  const Flags& flags_;
  std::vector<ChatMessage> messages_;
};

int chat(const Flags& flags) {
  EngineOptions options = engine_options(flags.model);
  auto bar = std::make_unique<ProgressBar>("loading weights");
  options.progress = bar->callback();
  Engine engine(std::move(options));
  bar.reset();
  engine.tokenizer();      // say now what is missing,
  engine.chat_template();  // not after the first message
  std::fprintf(stderr, "%s loaded in %.3f s, context %lld tokens. /help shows what can be typed.\n",
               engine.model().info().family.c_str(), engine.load_s(), static_cast<long long>(engine.context_length()));
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  Conversation conversation(engine, flags);
  for (std::string line;;) {
    if (terminal) std::fputs("> ", stdout);
    std::fflush(stdout);
    if (!std::getline(std::cin, line)) break;
    if (!line.empty() && line.back() == '\r') line.pop_back();  // input of another system
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line == "/quit" || line == "/exit") return 0;
    if (line == "/help") {
      std::fputs(kHelp, stdout);
    } else if (line == "/reset") {
      conversation.reset();
      std::fputs("The conversation is forgotten.\n", stdout);
    } else if (line[0] == '/') {
      std::printf("Unknown command %s; /help shows what there is.\n", line.c_str());
    } else {
      conversation.answer(line);
    }
  }
  if (terminal) std::printf("\n");
  return 0;
}

}  // namespace

void add_chat(CLI::App& app, Runner& run) {
  CLI::App* command = app.add_subcommand("chat", "talk with the model in the terminal");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--system", flags->system, "a system message at the beginning");
  add_model_flags(*command, flags->model);
  add_sampling_flags(*command, flags->sampling);
  command->callback([flags, &run] {
    run = [flags] {
      if (flags->model.json) fail(ErrorCode::bad_usage, "chat: --json: a conversation has no JSON form; use generate");
      return chat(*flags);
    };
  });
}

}  // namespace octet
