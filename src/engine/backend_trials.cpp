#include "engine/backend_trials.h"

#include "models/blocks.h"
#include "moe/experts/trials.h"

namespace octet {

std::vector<BackendTrial> try_on_loaded_layer(const Model& model, const SelectionRequest& request, ThreadPool& threads,
                                              double budget_s) {
  const std::vector<const MoeBlock*> blocks = model.moe_blocks();
  if (blocks.empty()) return {};
  const MoeBlock& block = *blocks.front();
  const DeviceInfo device = this_cpu();
  const std::unique_ptr<Ops> ops = make_cpu_ops(threads, device);
  const auto route_rows = [&](View2<const float> x) {
    std::vector<float> logits(static_cast<size_t>(x.rows * block.gate.n));  // [T, E]
    const View2<float> scores(logits.data(), x.rows, block.gate.n);
    ops->linear(x, block.gate, scores);
    RoutingTable table;
    route(block.router, scores, {}, table);
    return table;
  };
  return try_expert_backends(request, device, {.weights = block.weights, .route = route_rows}, threads, budget_s);
}

}  // namespace octet
