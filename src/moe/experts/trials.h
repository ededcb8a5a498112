// moe/experts/trials.h — proof and timing of expert backends on a loaded layer, before anything is served.
#pragma once

#include <functional>

#include "moe/experts/selection.h"

namespace octet {

/// The most rows that are compared with the reference.
inline constexpr int64_t kMostProofRows = 32;

/// Largest normalized mean square error of a layer's output against the reference (docs/numerics.md).
double most_layer_nmse(NumericsClass numerics);

/// Normalized mean square error of the first expected.size() values of y; infinity if NaN or infinity is among them.
double output_nmse(std::span<const float> y, std::span<const float> expected);

/// Rows [num_tokens, hidden] as a loaded layer sees them: normal noise with one channel in a thousand fifty times
/// larger. Always the same ones; they repeat after 256.
std::vector<float> trial_rows(int64_t num_tokens, int64_t hidden);

/// A backend's output [T, H] for x [T, H], of a layer that is made for this call.
std::vector<float> run_backend(const ExpertBackendEntry& backend, const MoeProblem& problem, const DeviceInfo& device,
                               const ExpertWeights& weights, const RoutingTable& table, View2<const float> x,
                               ThreadPool& threads);

/// A loaded layer to try backends on.
struct TrialLayer {
  const ExpertWeights& weights;
  std::function<RoutingTable(View2<const float> x)> route;  // by the layer's own router
};

/// Tries the backends that can run, the most promising of each bucket first, each with caches cold: runs it on
/// trial_rows(), compares the first rows with the reference, and takes the median of the times. One whose bound is
/// above what another was measured at cannot win and is left out; so is whatever would take longer than what is left of
/// the budget. budget_s  soft: a run that has begun is finished. The reference is part of it, on fewer rows where it is
/// slow. Returns   what was found out; hand it to select_expert_backends() as request.trials.
std::vector<BackendTrial> try_expert_backends(const SelectionRequest& request, const DeviceInfo& device,
                                              const TrialLayer& layer, ThreadPool& threads, double budget_s,
                                              std::span<const ExpertBackendEntry> table = expert_backends());

}  // namespace octet
