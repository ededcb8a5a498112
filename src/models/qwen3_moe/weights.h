// models/qwen3_moe/weights.h — the tensors of a Qwen3-MoE checkpoint under the names that the forward pass uses.
#pragma once

#include <optional>
#include <vector>

#include "models/blocks.h"
#include "models/qwen3_moe/config.h"

namespace octet::qwen3_moe {

struct Layer {
  std::vector<float> input_norm;  // [H]
  WeightView q;                   // [Hq * D, H]
  WeightView k;                   // [Hkv * D, H]
  WeightView v;                   // [Hkv * D, H]
  std::vector<float> q_norm;      // [D]
  std::vector<float> k_norm;      // [D]
  WeightView o;                   // [H, Hq * D]
  std::vector<float> post_norm;   // [H]
  FeedForward feed_forward;
};

struct Weights {
  WeightView embedding;  // [V, H]
  std::vector<Layer> layers;
  std::vector<float> norm;  // [H]
  WeightView lm_head;       // [V, H]
};

/// Reads and checks all tensors and binds the experts to a backend. Throws Error(bad_checkpoint) with the whole list of
/// what is missing, misshapen or left over.
Weights load_weights(WeightTable& table, const Config& config, const ModelOptions& options, ThreadPool& threads);

MoeShape moe_shape(const Config& config);

}  // namespace octet::qwen3_moe
