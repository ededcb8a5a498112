// models/rope.h — rotary position embedding: frequencies from a configuration, tables for the positions of a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops.h"
#include "models/config_reader.h"
#include "tensor/buffer.h"

namespace octet {

/// Frequencies of one rotary embedding of width d.
struct Rope {
  std::vector<float> frequencies;  // [d/2] radians a position
  double attention_factor = 1.0;   // multiplies cos and sin
  /// YaRN as DeepSeek uses it: m(factor, mscale_all_dim)^2, by which MLA multiplies its softmax scale; 1 otherwise.
  double softmax_factor = 1.0;
};

/// Reads `rope_parameters`, or the older `rope_scaling` and `rope_theta`; types default, linear, yarn, llama3, and
/// dynamic, which is default up to max_position_embeddings, the longest context that octet serves.
/// width          d, even
/// default_theta  the family's own base, used when the file names none
/// Throws         Error(bad_config), or Error(unsupported) naming the types that work
Rope read_rope(const ConfigReader& config, int64_t width, double default_theta, int64_t max_positions);

/// cos and sin for `positions`, in memory of the arena.
RopeTable make_rope_table(const Rope& rope, std::span<const int64_t> positions, Arena& arena);

}  // namespace octet
