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

int run_command_line(int argc, char** argv) {
  CLI::App app("octet: an inference engine for sparse mixture-of-experts models with 4-bit experts");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  app.require_subcommand(1);
  Runner run;
  add_generate(app, run);
  add_chat(app, run);
  add_eval(app, run);
  add_verify(app, run);
  add_inspect(app, run);
  add_bench(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kBadUsage;
  }
  return run();
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
