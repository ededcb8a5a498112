// checkpoint/quantization.h — what a checkpoint's settings say about its quantized weights.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace octet {

/// The formats of each tensor are decided by what is stored (checkpoint/weights.h), since published lists are not
/// reliable; these settings say how large a group is, refuse what octet cannot read, and serve as a consistency check.
struct Quantization {
  std::string algorithm;             // "NVFP4" or "W4A16_NVFP4"; empty: nothing is declared
  int32_t group = 16;                // weights that share a block scale
  std::vector<std::string> exclude;  // shell wildcards of module names that are not quantized

  /// Whether the settings say that a module (a name without ".weight") is not quantized.
  bool excludes(std::string_view module) const;
};

/// Reads "quantization_config" of config.json and "quantization" of hf_quant_config.json; either may be absent (null).
/// where    the checkpoint's folder, for messages.
/// Throws   Error(unsupported) for any algorithm but ModelOpt's NVFP4; Error(bad_config) for settings that make no
///          sense or contradict each other.
Quantization read_quantization(const Json& config, const Json& hf_quant_config, std::string_view where);

}  // namespace octet
