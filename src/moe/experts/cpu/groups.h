// moe/experts/cpu/groups.h — a routing table's rows grouped by the experts that this rank holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "moe/routing/routing.h"

namespace octet {

/// (token, expert) pairs by expert; inside an expert tokens ascend. Memory lies in a layer's workspace.
struct ExpertGroups {
  std::span<int32_t> begins;  // [local experts + 1]
  std::span<int32_t> active;  // local experts that have rows, ascending
  std::span<int32_t> tokens;  // [rows] token of each row
  std::span<float> weights;   // [rows] what the row's output is multiplied by
  int64_t num_rows() const { return begins.back(); }
};

/// From expert ids to places in this rank's weights.
class LocalExperts {
 public:
  /// num_experts  E in the whole model; ids are below it
  LocalExperts(int32_t num_experts, std::span<const ExpertId> ids);

  int64_t count() const { return count_; }

  /// Bytes of group() for a table of num_slots ids.
  int64_t group_bytes(int64_t num_slots) const;

  /// A counting sort. Slots of padding and of experts held elsewhere are left out.
  /// memory  group_bytes() bytes, aligned to 64
  ExpertGroups group(const RoutingTable& table, std::byte* memory) const;

 private:
  int32_t local(int32_t id) const;

  std::vector<int32_t> local_of_;  // [E] index into the weights, or -1
  int64_t count_;
};

}  // namespace octet
