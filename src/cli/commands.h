// cli/commands.h — the commands of the program, one file each.
#pragma once

#include <functional>
#include <string>

#include "base/json.h"

namespace CLI {
class App;
}

namespace octet {

/// Adds one command with its flags; its callback stores what to run in `run`, which returns the exit status.
using Runner = std::function<int()>;
void add_generate(CLI::App& app, Runner& run);
void add_chat(CLI::App& app, Runner& run);
void add_eval(CLI::App& app, Runner& run);
void add_verify(CLI::App& app, Runner& run);
void add_inspect(CLI::App& app, Runner& run);
void add_backends(CLI::App& app, Runner& run);
void add_bench(CLI::App& app, Runner& run);

/// Prints one JSON object on stdout. Invalid UTF-8 becomes U+FFFD.
void print_json(const OrderedJson& object);

}  // namespace octet
