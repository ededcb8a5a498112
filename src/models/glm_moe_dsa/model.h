// models/glm_moe_dsa/model.h — GLM-5: multi-head latent attention restricted by the DSA indexer, sigmoid-routed
// experts.
#pragma once

#include <memory>

#include "models/model.h"

namespace octet::glm_moe_dsa {

std::unique_ptr<Model> load(const Checkpoint& checkpoint, const ModelOptions& options, ThreadPool& threads,
                            LoadNotes* notes);

}  // namespace octet::glm_moe_dsa
