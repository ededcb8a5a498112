// octet COMMAND: parses the command line, runs one command, and turns errors into messages and exit statuses.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "cli/commands.h"

namespace octet {

void print_json(const OrderedJson& object) {
  const std::string text = object.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

namespace {

constexpr int kBadUsage = 2;
constexpr int kFailure = 1;

/// Throws Error(bad_usage) if the word after a command that has sub-commands is none of them.
void check_words(const CLI::App& app, int argc, char** argv, int at) {
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  if (commands.empty() || at >= argc || argv[at][0] == '-') return;
  std::string known;
  for (const CLI::App* command : commands) {
    if (command->get_name() == argv[at]) return check_words(*command, argc, argv, at + 1);
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  fail(ErrorCode::bad_usage, "unknown command \"", argv[at], "\"; the commands are: ", known);
}

/// Text that could not be written is a failure, not a success without it.
void check_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    fail(ErrorCode::bad_file, "stdout: could not be written; is the disk full, or the output closed?");
  }
}

int run_command_line(int argc, char** argv) {
  CLI::App app("octet: an inference engine for sparse mixture-of-experts models with 4-bit experts", "octet");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  app.require_subcommand(1);
  Runner run;
  add_generate(app, run);
  add_chat(app, run);
  add_eval(app, run);
  add_verify(app, run);
  add_inspect(app, run);
  add_backends(app, run);
  add_bench(app, run);
  check_words(app, argc, argv, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e);
    check_output();
    return 0;
  } catch (const CLI::ParseError& e) {
    fail(ErrorCode::bad_usage, e.what(), "; `octet --help` and `octet COMMAND --help` show what there is");
  }
  const int status = run();
  check_output();
  return status;
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  try {
    return octet::run_command_line(argc, argv);
  } catch (const octet::Error& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "octet: %s\n", e.what());
    return e.code() == octet::ErrorCode::bad_usage ? octet::kBadUsage : octet::kFailure;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "octet: out of memory; lower --context-length or --max-running-requests\n");
    return octet::kFailure;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "octet: unexpected failure: %s; please report it with the command line\n", e.what());
    return octet::kFailure;
  }
}
