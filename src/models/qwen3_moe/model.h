// models/qwen3_moe/model.h — Qwen3-MoE: grouped-query attention with per-head norms, softmax-routed experts.
#pragma once

#include <memory>

#include "models/model.h"

namespace octet::qwen3_moe {

std::unique_ptr<Model> load(const Checkpoint& checkpoint, const ModelOptions& options, ThreadPool& threads,
                            LoadNotes* notes);

}  // namespace octet::qwen3_moe
