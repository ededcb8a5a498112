// octet verify: proof that the fast paths compute the same model as the reference, and the reference as the golden
// answers.

#include "engine/verify.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "config/flags.h"

namespace octet {
namespace {

struct Flags {
  ModelFlags model;
  std::string golden;
};

void print_result(const VerifyResult& result) {
  for (const BackendCheck& check : result.backends) {
    std::printf("backend %-14s %-6s nmse %.2e %s\n", check.name.c_str(), check.ok ? "ok" : "FAILED", check.nmse,
                check.reason.c_str());
  }
  for (const GoldenCheck& check : result.golden) {
    std::printf("golden  %-14s %-6s nmse at most %.2e, flips %lld (%lld unexplained), greedy %s, router %s\n",
                check.path.c_str(), check.ok ? "ok" : "FAILED", check.max_nmse, static_cast<long long>(check.flips),
                static_cast<long long>(check.unexplained_flips), check.greedy_equal ? "equal" : "DIFFERS",
                !check.has_router    ? "not in the golden file"
                : check.router_equal ? "equal"
                                     : "differs");
  }
  std::printf("%s\n", result.ok ? "ok" : "FAILED");
}

OrderedJson to_json(const VerifyResult& result) {
  OrderedJson backends = OrderedJson::array(), golden = OrderedJson::array();
  for (const BackendCheck& check : result.backends) {
    backends.push_back({{"name", check.name}, {"ok", check.ok}, {"nmse", check.nmse}, {"reason", check.reason}});
  }
  for (const GoldenCheck& check : result.golden) {
    golden.push_back({{"path", check.path},
                      {"ok", check.ok},
                      {"max_nmse", check.max_nmse},
                      {"mean_nmse", check.mean_nmse},
                      {"max_score_nmse", check.max_score_nmse},
                      {"flips", check.flips},
                      {"unexplained_flips", check.unexplained_flips},
                      {"greedy_equal", check.greedy_equal},
                      {"router_equal", check.router_equal}});
  }
  return {{"ok", result.ok}, {"backends", backends}, {"golden", golden}};
}

VerifyResult verify_under_bar(const Flags& flags) {
  ThreadPool threads(flags.model.threads);
  const Checkpoint checkpoint = Checkpoint::open(flags.model.model);
  ProgressBar bar("verifying");
  VerifyOptions options{.golden_dir = flags.golden,
                        .expert_backend = engine_options(flags.model).expert_backend,
                        .progress = bar.callback()};
  const std::string beside = flags.model.model + "/golden";
  if (options.golden_dir.empty() && std::filesystem::is_directory(beside)) options.golden_dir = beside;
  return verify(checkpoint, threads, options);
}

int verify_model(const Flags& flags) {
  const VerifyResult result = verify_under_bar(flags);
  if (flags.model.json) {
    print_json(to_json(result));
  } else {
    print_result(result);
  }
  return result.ok ? 0 : 1;
}

}  // namespace

void add_verify(CLI::App& app, Runner& run) {
  CLI::App* command = app.add_subcommand("verify", "compare every path with the reference and with golden answers");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--golden", flags->golden, "folder of golden answers; default: golden/ beside the weights");
  add_checkpoint_flags(*command, flags->model);
  command->callback([flags, &run] { run = [flags] { return verify_model(*flags); }; });
}

}  // namespace octet
