// models/observer.h — looking into a forward pass, and steering its two discrete choices, without touching its code.
//
// `octet verify` records what the reference path chose and replays it on a fast path, so that the two can be compared
// without one near-tie in routing moving everything after it (docs/numerics.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attention/attention.h"
#include "moe/routing/routing.h"
#include "tensor/view.h"

namespace octet {

class StepObserver {
 public:
  virtual ~StepObserver() = default;

  /// Residual stream [T, H] after a layer.
  virtual void hidden(int32_t /*layer*/, View2<const float> /*h*/) {}

  /// Experts chosen in a layer from logits [T, E]. May overwrite table.ids: the layer then recomputes the weights of
  /// the new ids from its own logits. Returns whether it did.
  virtual bool routing(int32_t /*layer*/, View2<const float> /*logits*/, RoutingTable& /*table*/) { return false; }

  /// Keys chosen by a layer's indexer from queries q [T, Hi * Di], head weights [T, Hi] and the cached index keys of
  /// the spans. May overwrite the selection.
  virtual void selection(int32_t /*layer*/, const KeyIndexer& /*indexer*/, View2<const float> /*q*/,
                         View2<const float> /*head_weights*/, std::span<const AttentionSpan> /*spans*/,
                         KeySelection& /*selection*/) {}
};

}  // namespace octet
