// models/glm_moe_dsa/weights.h — the tensors of a GLM-5 checkpoint under the names that the forward pass uses.
#pragma once

#include <optional>
#include <vector>

#include "models/blocks.h"
#include "models/glm_moe_dsa/config.h"

namespace octet::glm_moe_dsa {

/// The DSA indexer of a "full" layer.
struct Indexer {
  WeightView wq_b;            // [Hi * Di, q_rank]
  WeightView wk;              // [Di, H]
  std::vector<float> k_norm;  // [Di]
  std::vector<float> k_bias;  // [Di]
  WeightView weights_proj;    // [Hi, H]
};

struct Layer {
  std::vector<float> input_norm;   // [H]
  WeightView q_a;                  // [q_rank, H]
  std::vector<float> q_a_norm;     // [q_rank]
  WeightView q_b;                  // [Hq * (nope + rope), q_rank]   per head: nope, then rope
  WeightView kv_a;                 // [latent + rope, H]
  std::vector<float> kv_a_norm;    // [latent]
  LatentAttention attention;       // holds kv_b [Hq * (nope + value), latent]
  std::optional<Indexer> indexer;  // none: the layer shares the choice of the last full layer before it
  WeightView o;                    // [H, Hq * value]
  std::vector<float> post_norm;    // [H]
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

}  // namespace octet::glm_moe_dsa
