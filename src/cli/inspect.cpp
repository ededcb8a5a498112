// octet inspect: what a checkpoint holds, and what memory it would take.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "config/flags.h"
#include "engine/runner.h"
#include "models/blocks.h"

namespace octet {
namespace {

/// Names of the backends that serve the model's steps, few tokens first; empty without sparse layers.
std::string expert_backends_of(const ModelRunner& runner) {
  std::string names;
  const std::vector<const MoeBlock*> blocks = runner.model().moe_blocks();
  if (blocks.empty()) return names;
  for (const BoundExperts& experts : blocks.front()->experts) {
    const std::string name(experts.backend);
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

void print_text(const Checkpoint& checkpoint, const ModelRunner& runner, const MemoryPlan& plan) {
  const ModelInfo& info = runner.model().info();
  const MoeShape& moe = info.moe.shape;
  std::printf("family   %s\n", info.family.c_str());
  std::printf("shape    %d layers, hidden %lld, vocabulary %lld, context %lld\n", info.num_layers,
              static_cast<long long>(info.hidden), static_cast<long long>(info.vocab),
              static_cast<long long>(info.max_positions));
  if (moe.num_experts > 0) {
    std::printf("experts  %d of width %lld, %d a token, gate/up %s, down %s\n", moe.num_experts,
                static_cast<long long>(moe.expert_width), moe.top_k, describe(info.moe.gate_up).c_str(),
                describe(info.moe.down).c_str());
  }
  if (!runner.model().moe_blocks().empty()) std::printf("backend  %s\n", expert_backends_of(runner).c_str());
  std::printf("bytes    %s in weights\n\n", format_bytes(checkpoint.total_bytes()).c_str());
  std::printf("%-18s %-8s %8s %12s\n", "module class", "format", "tensors", "bytes");
  for (const InventoryRow& row : runner.notes().inventory) {
    std::printf("%-18s %-8s %8lld %12s\n", row.module_class.c_str(), row.format.c_str(),
                static_cast<long long>(row.tensors), format_bytes(row.bytes).c_str());
  }
  std::printf("\nmemory plan for one sequence of the whole context\n");
  for (const MemoryLine& line : plan.lines)
    std::printf("%-36s %12s\n", line.name.c_str(), format_bytes(line.bytes).c_str());
  std::printf("%-36s %12s\n", "total", format_bytes(plan.total()).c_str());
  for (const std::string& warning : runner.notes().warnings) std::printf("note: %s\n", warning.c_str());
}

OrderedJson to_json(const Checkpoint& checkpoint, const ModelRunner& runner, const MemoryPlan& plan) {
  const ModelInfo& info = runner.model().info();
  const MoeShape& moe = info.moe.shape;
  OrderedJson modules = OrderedJson::array(), lines = OrderedJson::array();
  for (const InventoryRow& row : runner.notes().inventory) {
    modules.push_back(
        {{"class", row.module_class}, {"format", row.format}, {"tensors", row.tensors}, {"bytes", row.bytes}});
  }
  for (const MemoryLine& line : plan.lines) lines.push_back({{"name", line.name}, {"bytes", line.bytes}});
  return {{"family", info.family},
          {"bytes", checkpoint.total_bytes()},
          {"num_layers", info.num_layers},
          {"hidden", info.hidden},
          {"vocab", info.vocab},
          {"max_positions", info.max_positions},
          {"num_experts", moe.num_experts},
          {"expert_width", moe.expert_width},
          {"top_k", moe.top_k},
          {"expert_backend", expert_backends_of(runner)},
          {"modules", modules},
          {"memory_plan", lines}};
}

int inspect(const ModelFlags& flags) {
  ThreadPool threads(flags.threads);
  const Checkpoint checkpoint = Checkpoint::open(flags.model);
  const ModelRunner runner(checkpoint, threads,
                           {.expert_backend = engine_options(flags).expert_backend, .check_scales = false});
  const MemoryPlan plan = runner.plan({.cache_tokens = runner.model().info().max_positions});
  if (flags.json) {
    print_json(to_json(checkpoint, runner, plan));
  } else {
    print_text(checkpoint, runner, plan);
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Runner& run) {
  CLI::App* command = app.add_subcommand("inspect", "show what a checkpoint holds");
  const auto flags = std::make_shared<ModelFlags>();
  add_checkpoint_flags(*command, *flags);
  command->callback([flags, &run] { run = [flags] { return inspect(*flags); }; });
}

}  // namespace octet
