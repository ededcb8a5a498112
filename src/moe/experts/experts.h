// moe/experts/experts.h — the routed experts of one layer behind one interface, whatever computes them.
//
//   y[t] += Σ_a weight[t, a] * W_down_e( silu(W_gate_e x[t]) * (W_up_e x[t]) ),   e = ids[t, a]
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/threads.h"
#include "dist/comm.h"
#include "moe/routing/routing.h"
#include "numerics/weight.h"
#include "tensor/device_info.h"
#include "tensor/numerics_class.h"
#include "tensor/view.h"

namespace octet {

/// Dimensions of an expert layer.
struct MoeShape {
  int64_t num_tokens = 1;                                            // T
  int64_t hidden = 0;                                                // H
  int64_t expert_width = 0;                                          // I  of this rank
  int32_t num_experts = 0;                                           // E  in the whole model, not on this rank
  int32_t top_k = 0;                                                 // A
  constexpr int64_t num_rows() const { return num_tokens * top_k; }  // R
};

/// silu:           silu(gate) * up
/// clamped_swiglu: gpt-oss's own, (up + 1) * gate * sigmoid(1.702 gate) with both clamped at 7
enum class Activation : uint8_t { silu, clamped_swiglu };

constexpr std::string_view to_string(Activation activation) {
  return activation == Activation::silu ? "silu" : "clamped_swiglu";
}

/// Everything that selection may depend on, besides the device. Plain data; knows no model and no options.
struct MoeProblem {
  MoeShape shape;
  WeightFormat gate_up;
  WeightFormat down;
  Activation activation = Activation::silu;
  NumericsClass numerics = NumericsClass::exact16;
  RankLayout ranks;
};

/// Weights of the experts that this rank holds, in canonical form; entry i belongs to expert ids[i].
struct ExpertWeights {
  std::vector<ExpertId> ids;     // ascending; the whole model on a single rank
  std::vector<WeightView> gate;  // [I, H] each
  std::vector<WeightView> up;    // [I, H]
  std::vector<WeightView> down;  // [H, I]
};

/// Memory that a backend keeps beside the checkpoint, by name: a line of the memory plan.
struct PackedWeights {
  std::string name;
  int64_t bytes = 0;
};

/// A backend bound to one layer's weights.
class ExpertLayer {
 public:
  virtual ~ExpertLayer() = default;
  /// Scratch that run() needs for up to num_tokens tokens.
  virtual int64_t workspace_bytes(int64_t num_tokens) const = 0;
  /// Largest rounding of an activation before a product, as a share of the largest of the 16 that it lies among; 0:
  /// they stay float.
  virtual double activation_error() const { return 0; }
  /// Adds this rank's experts' part into y. x [T, H], y [T, H]; table ids of other ranks' experts are passed over.
  /// workspace is at least workspace_bytes(T), aligned to 64 bytes. A token's result does not depend on the others.
  virtual void run(const RoutingTable& table, View2<const float> x, View2<float> y, std::span<std::byte> workspace,
                   ThreadPool& threads) const = 0;
};

/// A line of the table of backends.
struct ExpertBackendEntry {
  std::string_view name;
  /// nullopt: can run. Pure.
  std::optional<Refusal> (*refuse)(const MoeProblem&, const DeviceInfo&);
  /// Lower bound in microseconds for one layer; only for ordering. Pure.
  double (*predicted_us)(const MoeProblem&, const DeviceInfo&);
  /// What make() will allocate beside the checkpoint, in bytes for one layer. Pure.
  PackedWeights (*packed)(const MoeProblem&);
  /// Only for problems and devices that refuse() lets pass.
  std::unique_ptr<ExpertLayer> (*make)(const MoeProblem&, const DeviceInfo&, ExpertWeights);
};

/// Every expert backend there is, in table order (moe/experts/registry.cpp).
std::span<const ExpertBackendEntry> expert_backends();

/// The backend of that exact name; nullptr if there is none.
const ExpertBackendEntry* find_expert_backend(std::string_view name);

}  // namespace octet
