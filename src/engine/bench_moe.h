// engine/bench_moe.h — how fast expert backends run one layer, beside what the memory allows in the same minute.
#pragma once

#include <string>
#include <vector>

#include "base/threads.h"
#include "moe/experts/experts.h"

namespace octet {

struct BenchMoeOptions {
  MoeProblem problem;           // NVFP4; num_tokens is ignored
  DeviceInfo device;            // the instruction sets to use
  std::vector<int64_t> tokens;  // batch sizes, each at least 1
  std::string backend;          // a name; "all"; empty or "auto": the chosen one
  int32_t repeats = 20;         // alternations of probe and layers, at least 20
};

/// One backend at one batch size.
struct BenchMoeRow {
  int64_t tokens = 0;
  std::string backend;
  double us = 0;           // a layer, median
  double bound_us = 0;     // reading the distinct experts, scales included, at the probe's median rate
  double percent = 0;      // of the probe's rate: median of the paired ratios
  double percent_low = 0;  // lower and upper quartile of those
  double percent_high = 0;
  double read_gbs = 0;          // the probe, median
  double distinct_experts = 0;  // mean over layers and repetitions
};

struct BenchMoeResult {
  double read_gbs = 0;       // median over all rows
  double steal_percent = 0;  // processor time that the hypervisor gave to others; above 5 the figures are void
  int32_t num_layers = 0;
  int64_t weight_bytes = 0;  // of all layers
  std::vector<BenchMoeRow> rows;
};

/// Builds layers of random weights, several times the last-level cache together, and runs them one after another over
/// tokens with uniformly random routing, each layer its own; in turn with the read probe (kernels/cpu/read_probe.h).
/// Throws  Error(bad_usage) for a shape or a batch that makes no sense, Error(no_memory) with the numbers if the layers
///         do not fit, Error(unsupported) if the named backend cannot run.
BenchMoeResult bench_moe(const BenchMoeOptions& options, ThreadPool& threads);

}  // namespace octet
