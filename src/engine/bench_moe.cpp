#include "engine/bench_moe.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "base/clock.h"
#include "kernels/cpu/read_probe.h"
#include "moe/experts/bound.h"
#include "moe/experts/selection.h"
#include "tensor/buffer.h"

namespace octet {
namespace {

constexpr int64_t kCaches = 8;                             // weights are so many times the last-level cache
constexpr int64_t kLeastWeightBytes = int64_t{256} << 20;  // also where the cache's size is unknown

/// A small fast generator (splitmix64): random weights are gigabytes.
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Fills [begin, end) with random words of which only the bits of `keep` are random.
void fill_random(std::byte* begin, int64_t bytes, uint64_t seed, uint64_t keep, uint64_t base) {
  for (int64_t i = 0; i < bytes; i += 8) {
    const uint64_t word = (next_random(seed) & keep) | base;
    std::memcpy(begin + i, &word, static_cast<size_t>(std::min<int64_t>(8, bytes - i)));
  }
}

/// Random NVFP4 experts of one layer.
class DummyExperts {
 public:
  DummyExperts(const MoeProblem& problem, uint64_t seed, ThreadPool& threads)
      : shape_(problem.shape),
        codes_(shape_.num_experts * 3 * shape_.hidden * shape_.expert_width / 2),
        scales_(shape_.num_experts * 3 * shape_.hidden * shape_.expert_width / 16) {
    const int64_t code_bytes = codes_.bytes() / shape_.num_experts, scale_bytes = scales_.bytes() / shape_.num_experts;
    threads.for_chunks(shape_.num_experts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        const uint64_t expert_seed = seed * 1000 + static_cast<uint64_t>(e);
        fill_random(codes_.data() + e * code_bytes, code_bytes, expert_seed, ~uint64_t{0}, 0);
        // E4M3 numbers from 0.5 to 1.875.
        fill_random(scales_.data() + e * scale_bytes, scale_bytes, ~expert_seed, 0x0f0f0f0f0f0f0f0f,
                    0x3030303030303030);
      }
    });
  }

  ExpertWeights weights() const {
    ExpertWeights w;
    for (int32_t e = 0; e < shape_.num_experts; ++e) {
      w.ids.push_back(ExpertId{e});
      w.gate.push_back(view(3 * e, shape_.expert_width, shape_.hidden));
      w.up.push_back(view(3 * e + 1, shape_.expert_width, shape_.hidden));
      w.down.push_back(view(3 * e + 2, shape_.hidden, shape_.expert_width));
    }
    return w;
  }

 private:
  WeightView view(int64_t matrix, int64_t n, int64_t k) const {
    return {.format = kNvfp4Weight,
            .n = n,
            .k = k,
            .codes = codes_.data() + matrix * n * k / 2,
            .code_row_bytes = k / 2,
            .scales = scales_.data() + matrix * n * k / 16,
            .scale_row_bytes = k / 16,
            // Keeps a product's deviation about that of its input.
            .global_scale = 0.3f / std::sqrt(static_cast<float>(k))};
  }

  MoeShape shape_;
  Buffer codes_, scales_;
};

/// Uniformly random, each token's experts distinct.
RoutingTable random_routing(const MoeShape& shape, std::mt19937& rng) {
  RoutingTable table{.top_k = shape.top_k};
  std::vector<int32_t> experts(static_cast<size_t>(shape.num_experts));
  for (size_t e = 0; e < experts.size(); ++e) experts[e] = static_cast<int32_t>(e);
  for (int64_t t = 0; t < shape.num_tokens; ++t) {
    for (size_t a = 0; a < static_cast<size_t>(shape.top_k); ++a) {
      std::swap(experts[a], experts[std::uniform_int_distribution<size_t>(a, experts.size() - 1)(rng)]);
    }
    table.ids.insert(table.ids.end(), experts.begin(), experts.begin() + shape.top_k);
  }
  table.weights.assign(table.ids.size(), 1.0f / static_cast<float>(shape.top_k));
  return table;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(share * static_cast<double>(values.size() - 1)))];
}

/// Processor ticks of the whole machine so far.
struct CpuTicks {
  int64_t steal = 0, all = 0;
};

CpuTicks cpu_ticks() {
  CpuTicks ticks;
  std::ifstream file("/proc/stat");
  std::string line, word;
  std::getline(file, line);
  std::istringstream words(line);
  words >> word;
  int64_t value = 0;
  for (int i = 0; i < 8 && words >> value; ++i) {  // user nice system idle iowait irq softirq steal
    ticks.all += value;
    if (i == 7) ticks.steal = value;
  }
  return ticks;
}

void check(const BenchMoeOptions& options) {
  const MoeShape& s = options.problem.shape;
  if (s.hidden < 16 || s.expert_width < 16 || s.hidden % 16 != 0 || s.expert_width % 16 != 0) {
    fail(ErrorCode::bad_usage, "bench moe: expected hidden and width in multiples of 16 (NVFP4), got ", s.hidden,
         " and ", s.expert_width);
  }
  if (s.num_experts < 1 || s.top_k < 1 || s.top_k > s.num_experts) {
    fail(ErrorCode::bad_usage, "bench moe: expected 1 to ", s.num_experts, " experts a token, got ", s.top_k);
  }
  for (const int64_t tokens : options.tokens) {
    if (tokens < 1 || tokens > 65536) {
      fail(ErrorCode::bad_usage, "bench moe: expected 1 to 65536 tokens, got ", tokens);
    }
  }
}

std::vector<const ExpertBackendEntry*> backends_of(const BenchMoeOptions& options) {
  const bool all = options.backend == "all";
  const SelectionRequest request{.problem = options.problem,
                                 .buckets = {options.tokens.front()},
                                 .forced = all || options.backend == "auto" ? "" : options.backend};
  const std::vector<SelectionRow> rows = select_expert_backends(request, options.device);
  check_every_bucket_served(rows, request.forced);
  if (!all) return {chosen_row(rows, options.tokens.front())->backend};
  std::vector<const ExpertBackendEntry*> entries;
  for (const SelectionRow& row : rows) {
    if (!row.refusal && row.backend->name != "reference") entries.push_back(row.backend);
  }
  return entries;
}

/// Alternates the probe and one pass over all layers.
class Measurement {
 public:
  Measurement(const BenchMoeOptions& options, ThreadPool& threads)
      : options_(options), threads_(threads), probe_(probe_bytes(options.device), options.device, threads) {}

  BenchMoeRow measure(std::string_view backend, int64_t tokens,
                      const std::vector<std::unique_ptr<ExpertLayer>>& layers) {
    MoeShape shape = options_.problem.shape;
    shape.num_tokens = tokens;
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<size_t>(tokens * shape.hidden)), y(x.size());
    for (float& v : x) v = normal(rng);
    const Buffer workspace(layers.front()->workspace_bytes(tokens));
    std::vector<double> ratios, times, rates, distinct;
    for (int32_t i = -1; i < options_.repeats; ++i) {  // the first one warms up
      std::vector<RoutingTable> tables;
      double experts = 0;
      for (size_t layer = 0; layer < layers.size(); ++layer) {
        tables.push_back(random_routing(shape, rng));
        experts += static_cast<double>(distinct_experts(tables.back(), shape.num_experts));
      }
      const double bytes = experts * expert_bytes(options_.problem);
      const double read_gbs = probe_.read_gbs(std::max(static_cast<int64_t>(bytes), options_.device.cache_bytes / 2));
      const int64_t start = now_ns();
      for (size_t layer = 0; layer < layers.size(); ++layer) {
        layers[layer]->run(tables[layer], {x.data(), tokens, shape.hidden}, {y.data(), tokens, shape.hidden},
                           {workspace.data(), static_cast<size_t>(workspace.bytes())}, threads_);
      }
      const auto elapsed = static_cast<double>(now_ns() - start);
      if (i < 0) continue;
      ratios.push_back(100 * bytes / elapsed / read_gbs);
      times.push_back(elapsed / 1e3 / static_cast<double>(layers.size()));
      rates.push_back(read_gbs);
      distinct.push_back(experts / static_cast<double>(layers.size()));
    }
    double mean_distinct = 0;
    for (const double d : distinct) mean_distinct += d / static_cast<double>(distinct.size());
    const double read_gbs = quantile(rates, 0.5);
    return {.tokens = tokens,
            .backend = std::string(backend),
            .us = quantile(times, 0.5),
            .bound_us = mean_distinct * expert_bytes(options_.problem) / read_gbs / 1e3,
            .percent = quantile(ratios, 0.5),
            .percent_low = quantile(ratios, 0.25),
            .percent_high = quantile(ratios, 0.75),
            .read_gbs = read_gbs,
            .distinct_experts = mean_distinct};
  }

 private:
  static int64_t probe_bytes(const DeviceInfo& device) { return std::max(4 * device.cache_bytes, kLeastWeightBytes); }

  const BenchMoeOptions& options_;
  ThreadPool& threads_;
  cpu::ReadProbe probe_;
};

int32_t layers_for(const BenchMoeOptions& options) {
  const double layer_bytes = expert_bytes(options.problem) * options.problem.shape.num_experts;
  const auto wanted = static_cast<double>(std::max(kCaches * options.device.cache_bytes, kLeastWeightBytes));
  const double layers = std::max(2.0, std::ceil(wanted / layer_bytes));
  // Canonical and packed weights of every layer, and the probe.
  const double needed = 2 * layers * layer_bytes + wanted / 2;
  if (options.device.memory_bytes > 0 && needed > 0.9 * static_cast<double>(options.device.memory_bytes)) {
    fail(ErrorCode::no_memory, "bench moe: ", layers, " layers of ", layer_bytes / 1e9,
         " GB twice, and the probe, take ", needed / 1e9, " GB, but ",
         static_cast<double>(options.device.memory_bytes) / 1e9, " GB are available; use a smaller shape");
  }
  return static_cast<int32_t>(layers);
}

}  // namespace

BenchMoeResult bench_moe(const BenchMoeOptions& options, ThreadPool& threads) {
  check(options);
  const std::vector<const ExpertBackendEntry*> entries = backends_of(options);
  BenchMoeResult result{.num_layers = layers_for(options)};
  std::vector<std::unique_ptr<DummyExperts>> weights;
  for (int32_t layer = 0; layer < result.num_layers; ++layer) {
    weights.push_back(std::make_unique<DummyExperts>(options.problem, static_cast<uint64_t>(layer) + 1, threads));
  }
  result.weight_bytes =
      static_cast<int64_t>(expert_bytes(options.problem) * options.problem.shape.num_experts) * result.num_layers;
  Measurement measurement(options, threads);
  const CpuTicks before = cpu_ticks();
  std::vector<double> rates;
  for (const ExpertBackendEntry* entry : entries) {
    std::vector<std::unique_ptr<ExpertLayer>> layers;
    for (const auto& layer : weights) layers.push_back(entry->make(options.problem, options.device, layer->weights()));
    for (const int64_t tokens : options.tokens) {
      result.rows.push_back(measurement.measure(entry->name, tokens, layers));
      rates.push_back(result.rows.back().read_gbs);
    }
  }
  const CpuTicks after = cpu_ticks();
  result.steal_percent = 100.0 * static_cast<double>(after.steal - before.steal) /
                         static_cast<double>(std::max<int64_t>(after.all - before.all, 1));
  if (!rates.empty()) result.read_gbs = quantile(rates, 0.5);
  return result;
}

}  // namespace octet
