// octet bench: measurements without a checkpoint.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "engine/bench_moe.h"
#include "kernels/cpu/isa.h"
#include "moe/experts/shapes.h"

namespace octet {
namespace {

struct Flags {
  std::string shape;
  MoeShape dimensions;  // what --shape does not say
  std::vector<int64_t> tokens = {1, 2, 4, 8};
  std::string backend = "auto";
  std::string isa;
  int32_t threads = 0;
  int32_t repeats = 20;
  bool json = false;
};

MoeProblem problem_of(const Flags& flags) {
  if (flags.shape.empty()) {
    if (flags.dimensions.hidden == 0 || flags.dimensions.expert_width == 0 || flags.dimensions.num_experts == 0) {
      fail(ErrorCode::bad_usage, "bench moe: give --shape NAME, or --hidden, --width, --experts and --top-k");
    }
    return {.shape = flags.dimensions, .gate_up = kNvfp4Weight, .down = kNvfp4Weight};
  }
  return find_moe_shape(flags.shape);
}

CpuFeatures features_of(const Flags& flags, const CpuFeatures& all) {
  if (flags.isa.empty()) return all;
  CpuFeatures features = cpu::limited_to(flags.isa == "avx2" ? cpu::CpuIsa::avx2 : cpu::CpuIsa::avx512, all);
  features.avx512_vnni = false;
  return features;
}

void print_text(const BenchMoeOptions& options, const BenchMoeResult& result) {
  const MoeShape& s = options.problem.shape;
  std::printf("%s, %d threads, %d layers, %.2f GB of weights, uniform routing\n", options.device.name.c_str(),
              options.device.num_threads, result.num_layers, static_cast<double>(result.weight_bytes) / 1e9);
  std::printf("hidden %lld, width %lld, %d experts, %d a token, %s\n\n", static_cast<long long>(s.hidden),
              static_cast<long long>(s.expert_width), s.num_experts, s.top_k,
              describe(options.problem.gate_up).c_str());
  std::printf("%7s  %-16s %10s %10s %9s %7s %7s..%-5s %9s\n", "tokens", "backend", "us/layer", "bound us", "read GB/s",
              "percent", "25 %", "75 %", "distinct");
  for (const BenchMoeRow& row : result.rows) {
    std::printf("%7lld  %-16s %10.1f %10.1f %9.1f %7.1f %7.1f..%-5.1f %9.1f\n", static_cast<long long>(row.tokens),
                row.backend.c_str(), row.us, row.bound_us, row.read_gbs, row.percent, row.percent_low, row.percent_high,
                row.distinct_experts);
  }
  std::printf("\nsteal %.1f %%%s\n", result.steal_percent,
              result.steal_percent > 5 ? ": above 5 %, these figures are void" : "");
}

OrderedJson to_json(const BenchMoeOptions& options, const BenchMoeResult& result) {
  OrderedJson rows = OrderedJson::array();
  for (const BenchMoeRow& row : result.rows) {
    rows.push_back({{"tokens", row.tokens},
                    {"backend", row.backend},
                    {"us", row.us},
                    {"bound_us", row.bound_us},
                    {"percent", row.percent},
                    {"percent_low", row.percent_low},
                    {"percent_high", row.percent_high},
                    {"read_gbs", row.read_gbs},
                    {"distinct_experts", row.distinct_experts}});
  }
  return {{"device", options.device.name},
          {"read_gbs", result.read_gbs},
          {"threads", options.device.num_threads},
          {"num_layers", result.num_layers},
          {"weight_bytes", result.weight_bytes},
          {"steal_percent", result.steal_percent},
          {"rows", rows}};
}

int run_bench_moe(const Flags& flags) {
  ThreadPool threads(flags.threads);
  BenchMoeOptions options{.problem = problem_of(flags),
                          .device = this_cpu(),
                          .tokens = flags.tokens,
                          .backend = flags.backend,
                          .repeats = flags.repeats};
  options.device.num_threads = threads.num_threads();
  options.device.cpu = features_of(flags, options.device.cpu);
  const BenchMoeResult result = bench_moe(options, threads);
  if (flags.json) {
    print_json(to_json(options, result));
  } else {
    print_text(options, result);
  }
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Runner& run) {
  CLI::App* bench = app.add_subcommand("bench", "measure parts of the engine against the hardware's bound");
  bench->require_subcommand(1);
  CLI::App* command = bench->add_subcommand("moe", "one layer of experts with random weights");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--shape", flags->shape, "a published model's layer, for example qwen3-30b-a3b");
  command->add_option("--hidden", flags->dimensions.hidden, "width of the residual stream, instead of --shape");
  command->add_option("--width", flags->dimensions.expert_width, "inner width of an expert");
  command->add_option("--experts", flags->dimensions.num_experts, "experts of the layer");
  command->add_option("--top-k", flags->dimensions.top_k, "experts a token");
  command->add_option("--tokens", flags->tokens, "batch sizes, separated by commas; default 1,2,4,8")->delimiter(',');
  command->add_option("--backend,--moe-runner-backend", flags->backend, "a backend's name, auto or all");
  command->add_option("--isa", flags->isa, "no more than these instructions: avx2, or avx512 without VNNI")
      ->check(CLI::IsMember({"avx2", "avx512"}));
  command->add_option("--threads", flags->threads, "threads; default: all that this process may use");
  command->add_option("--repeats", flags->repeats, "alternations of probe and layers; default 20")
      ->check(CLI::Range(20, 100000));
  command->add_flag("--json", flags->json, "one JSON object on stdout");
  command->callback([flags, &run] { run = [flags] { return run_bench_moe(*flags); }; });
}

}  // namespace octet
