// engine/golden.h — answers of a trusted implementation, stored beside a checkpoint (golden.json, golden.safetensors).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "checkpoint/safetensors.h"
#include "tensor/view.h"

namespace octet {

struct GoldenPrompt {
  std::vector<TokenId> ids;
  std::vector<TokenId> greedy_ids;     // continuation, one token at a time
  std::vector<double> greedy_margins;  // gap between the two best logits at each of them; may be empty
  View2<const float> logits;           // of the prompt's last logits.rows positions; may be empty
};

/// Golden answers of one checkpoint. Logits point into the mapped file.
class Golden {
 public:
  /// folder  holds golden.json and golden.safetensors
  /// Throws  Error(bad_file / bad_checkpoint) naming the entry.
  static Golden load(const std::string& folder, int64_t vocab);

  const std::vector<GoldenPrompt>& prompts() const { return prompts_; }
  /// Experts of prompt 0 by layer: [T, A]; empty if the file holds none.
  const std::map<int32_t, View2<const int32_t>>& router_ids() const { return router_ids_; }

 private:
  explicit Golden(SafetensorsFile file) : file_(std::move(file)) {}

  SafetensorsFile file_;
  std::vector<GoldenPrompt> prompts_;
  std::map<int32_t, View2<const int32_t>> router_ids_;
};

}  // namespace octet
