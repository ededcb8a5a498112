// moe/routing/routing.h — from router logits to a routing table: which experts each token visits, with what weight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/view.h"

namespace octet {

/// Chosen experts of the tokens of a step. Row t of a padding token holds -1 in every slot.
struct RoutingTable {
  int32_t top_k = 0;           // A
  std::vector<int32_t> ids;    // [T, A] experts of the whole model, best first; -1: none
  std::vector<float> weights;  // [T, A] what an expert's output is multiplied by

  int64_t num_tokens() const { return top_k == 0 ? 0 : static_cast<int64_t>(ids.size()) / top_k; }
};

/// How a family turns logits into weights.
struct RouterOptions {
  enum class Scoring : uint8_t { sigmoid, softmax };
  Scoring scoring = Scoring::softmax;
  int32_t num_experts = 0;            // E
  int32_t top_k = 0;                  // A
  int32_t num_groups = 1;             // n_group: experts are chosen inside the best groups only
  int32_t top_groups = 1;             // topk_group
  bool normalize = false;             // divide the chosen weights by their sum
  float scale = 1.0f;                 // routed_scaling_factor
  std::span<const float> correction;  // [E] added to the scores for choosing only; may be empty
};

/// Fills `table` from logits [T, E]. Equal scores: the lower expert first.
/// is_padding  [T], or empty: no row is padding
/// Returns     the rows that are not padding but have a NaN or infinite logit; they are left unrouted, like padding,
///             and the caller fails their requests
std::vector<int64_t> route(const RouterOptions& options, View2<const float> logits, std::span<const uint8_t> is_padding,
                           RoutingTable& table);

/// What experts are chosen by: score + correction, -infinity in dropped groups. scores [E] is overwritten.
/// Returns the margin: the smallest change of scores that could change the choice; infinity if none could.
float choice_scores(const RouterOptions& options, const float* logits, std::span<float> scores);

/// Recomputes table.weights for the ids that stand in the table, from logits [T, E]; -1 keeps weight 0.
void weigh(const RouterOptions& options, View2<const float> logits, RoutingTable& table);

/// Experts that occur in the table at least once.
int64_t distinct_experts(const RoutingTable& table, int32_t num_experts);

}  // namespace octet
