#include "moe/experts/trials.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "base/clock.h"
#include "moe/experts/bound.h"
#include "tensor/buffer.h"

namespace octet {
namespace {

constexpr int kTimedRuns = 3;
constexpr int64_t kDistinctRows = 256;  // enough to visit every expert, and quick to draw
constexpr double kProofShare = 0.25;    // of the budget, for the reference

/// Memory as large as the last-level cache; writing it leaves little of a layer's weights there. Nothing for a layer
/// that is far larger than the cache and so evicts itself.
class CacheEvictor {
 public:
  CacheEvictor(const MoeProblem& problem, const DeviceInfo& device) {
    const double layer_bytes = problem.shape.num_experts * expert_bytes(problem);
    if (layer_bytes > 4 * static_cast<double>(device.cache_bytes)) return;
    buffer_ = Buffer(std::clamp(device.cache_bytes, kLeast, kMost));
    evict();  // the first pass takes the memory's pages
  }

  void evict() {
    ++mark_;
    for (int64_t i = 0; i < buffer_.bytes(); i += 64) buffer_.data()[i] = static_cast<std::byte>(mark_);
  }

 private:
  // On a virtual machine the cache that it reports is shared with others, and its own part is far smaller.
  static constexpr int64_t kLeast = int64_t{16} << 20, kMost = int64_t{128} << 20;

  Buffer buffer_;
  uint8_t mark_ = 0;
};

/// The same rows and routing as those of the first `count` tokens.
RoutingTable first_tokens(const RoutingTable& table, int64_t count) {
  RoutingTable part{.top_k = table.top_k};
  part.ids.assign(table.ids.begin(), table.ids.begin() + count * table.top_k);
  part.weights.assign(table.weights.begin(), table.weights.begin() + count * table.top_k);
  return part;
}

/// Everything that the trials of one layer share.
class Trials {
 public:
  Trials(const SelectionRequest& request, const DeviceInfo& device, const TrialLayer& layer, ThreadPool& threads,
         double budget_s)
      : request_(request),
        device_(device),
        layer_(layer),
        threads_(threads),
        budget_s_(budget_s),
        evictor_(request.problem, device) {
    const MoeShape& shape = request.problem.shape;
    const int64_t most = *std::max_element(request.buckets.begin(), request.buckets.end());
    x_ = trial_rows(most, shape.hidden);
    table_ = layer.route(rows(most));
    const ExpertBackendEntry& reference = *find_expert_backend("reference");
    MoeProblem one = request.problem;
    one.shape.num_tokens = 1;
    const double row_s = reference.predicted_us(one, device) * 1e-6 / threads.num_threads();
    const double affordable = std::min(kProofShare * budget_s / row_s, static_cast<double>(kMostProofRows));
    proof_rows_ = std::clamp<int64_t>(static_cast<int64_t>(affordable), 1, std::min(most, kMostProofRows));
    expected_ = run_backend(reference, request.problem, device, layer.weights, first_tokens(table_, proof_rows_),
                            rows(proof_rows_), threads);
  }

  std::vector<BackendTrial> run(std::span<const ExpertBackendEntry> backends) {
    // A bound rules out only where the read rate that it comes from is known; no processor reads 50 times 10 GB/s.
    const double doubt = device_.read_gbs > 0 ? 1 : 50;
    for (const SelectionRow& row : candidates(backends)) {
      double& best_us = best_us_.try_emplace(row.num_tokens, INFINITY).first->second;
      if (row.bound_us > best_us * doubt || expected_us(row) * 1e-6 > budget_s_ - watch_.seconds()) continue;
      trials_.push_back(try_one(row));
      if (!trials_.back().mismatch) best_us = std::min(best_us, *trials_.back().measured_us);
    }
    return std::move(trials_);
  }

 private:
  /// What can run: the most promising backend of each bucket, then the second of each, and so on.
  std::vector<SelectionRow> candidates(std::span<const ExpertBackendEntry> backends) const {
    std::vector<SelectionRow> rows = select_expert_backends(request_, device_, backends);
    std::erase_if(rows, [](const SelectionRow& row) { return row.state == CandidateState::refused; });
    std::stable_sort(rows.begin(), rows.end(),
                     [](const SelectionRow& a, const SelectionRow& b) { return a.bound_us < b.bound_us; });
    std::map<int64_t, int> seen;  // by bucket
    std::vector<std::pair<int, SelectionRow>> ranked;
    for (const SelectionRow& row : rows) ranked.emplace_back(seen[row.num_tokens]++, row);
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second.num_tokens) < std::pair(b.first, b.second.num_tokens);
    });
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = ranked[i].second;
    return rows;
  }

  View2<const float> rows(int64_t count) const { return {x_.data(), count, request_.problem.shape.hidden}; }

  /// How long one run will take at most, going by the same backend's time for fewer tokens.
  double expected_us(const SelectionRow& row) const {
    double us = row.bound_us;
    for (const BackendTrial& trial : trials_) {
      if (trial.name == row.backend->name && trial.measured_us) {
        us = *trial.measured_us * static_cast<double>(row.num_tokens) / static_cast<double>(trial.num_tokens);
      }
    }
    return us;
  }

  BackendTrial try_one(const SelectionRow& row) {
    MoeProblem problem = request_.problem;
    problem.shape.num_tokens = row.num_tokens;
    const std::unique_ptr<ExpertLayer> layer = row.backend->make(problem, device_, layer_.weights);
    const RoutingTable table = first_tokens(table_, row.num_tokens);
    const View2<const float> x = rows(row.num_tokens);
    const Buffer workspace(layer->workspace_bytes(x.rows));
    std::vector<float> y(static_cast<size_t>(x.rows * x.cols));
    std::vector<double> times_us;
    for (int i = 0; i < kTimedRuns && (i == 0 || watch_.seconds() < budget_s_); ++i) {
      std::fill(y.begin(), y.end(), 0.0f);
      evictor_.evict();
      const int64_t start_ns = now_ns();
      layer->run(table, x, View2<float>(y.data(), x.rows, x.cols),
                 {workspace.data(), static_cast<size_t>(workspace.bytes())}, threads_);
      times_us.push_back(static_cast<double>(now_ns() - start_ns) * 1e-3);
    }
    const auto middle = times_us.begin() + static_cast<std::ptrdiff_t>(times_us.size() / 2);
    std::nth_element(times_us.begin(), middle, times_us.end());
    return {.name = row.backend->name,
            .num_tokens = row.num_tokens,
            .measured_us = *middle,
            .mismatch = compare(y, std::min(row.num_tokens, proof_rows_))};
  }

  std::optional<std::string> compare(std::span<const float> y, int64_t count) const {
    const auto size = static_cast<size_t>(count * request_.problem.shape.hidden);
    const double nmse = output_nmse(y, std::span(expected_).first(size));
    const double most = most_layer_nmse(request_.problem.numerics);
    if (nmse <= most) return std::nullopt;
    std::ostringstream text;
    text << "disagrees with the reference on a loaded layer: NMSE " << nmse << " over " << count << " rows, at most "
         << most;
    return text.str();
  }

  const SelectionRequest& request_;
  const DeviceInfo& device_;
  const TrialLayer& layer_;
  ThreadPool& threads_;
  double budget_s_;
  Stopwatch watch_;
  CacheEvictor evictor_;
  std::vector<float> x_;               // [largest bucket, H]
  RoutingTable table_;                 // of x_
  int64_t proof_rows_ = 0;             // rows of x_ ...
  std::vector<float> expected_;        // ... and the reference's output for them
  std::map<int64_t, double> best_us_;  // by bucket, of those that agreed
  std::vector<BackendTrial> trials_;
};

}  // namespace

double most_layer_nmse(NumericsClass numerics) { return numerics == NumericsClass::int8 ? 1e-3 : 1e-4; }

double output_nmse(std::span<const float> y, std::span<const float> expected) {
  OCTET_CHECK(y.size() >= expected.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double want = expected[i], off = static_cast<double>(y[i]) - want;
    difference += off * off;
    norm += want * want;
  }
  const double value = difference == 0 ? 0 : difference / norm;
  return std::isfinite(value) ? value : INFINITY;
}

std::vector<float> trial_rows(int64_t num_tokens, int64_t hidden) {
  std::mt19937 random(20);
  std::normal_distribution<float> normal;
  const auto width = static_cast<size_t>(hidden);
  const auto period = static_cast<size_t>(kDistinctRows) * width;
  std::vector<float> x(static_cast<size_t>(num_tokens) * width);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = i < period ? normal(random) * (i % width % 1000 == 0 ? 50.0f : 1.0f) : x[i - period];
  }
  return x;
}

std::vector<float> run_backend(const ExpertBackendEntry& backend, const MoeProblem& problem, const DeviceInfo& device,
                               const ExpertWeights& weights, const RoutingTable& table, View2<const float> x,
                               ThreadPool& threads) {
  const std::unique_ptr<ExpertLayer> layer = backend.make(problem, device, weights);
  std::vector<float> y(static_cast<size_t>(x.rows * x.cols), 0.0f);
  const Buffer workspace(layer->workspace_bytes(x.rows));
  layer->run(table, x, View2<float>(y.data(), x.rows, x.cols),
             {workspace.data(), static_cast<size_t>(workspace.bytes())}, threads);
  return y;
}

std::vector<BackendTrial> try_expert_backends(const SelectionRequest& request, const DeviceInfo& device,
                                              const TrialLayer& layer, ThreadPool& threads, double budget_s,
                                              std::span<const ExpertBackendEntry> table) {
  return Trials(request, device, layer, threads, budget_s).run(table);
}

}  // namespace octet
