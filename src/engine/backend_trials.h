// engine/backend_trials.h — proof and timing of expert backends on a model's first sparse layer.
#pragma once

#include <vector>

#include "models/model.h"
#include "moe/experts/selection.h"

namespace octet {

/// Tries the backends of the request on this machine with the layer's own router; see moe/experts/trials.h. Empty for a
/// model without a sparse layer.
std::vector<BackendTrial> try_on_loaded_layer(const Model& model, const SelectionRequest& request, ThreadPool& threads,
                                              double budget_s);

}  // namespace octet
