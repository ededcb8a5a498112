#include "moe/experts/cpu/groups.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/parallel.h"

namespace octet {
namespace {

constexpr int64_t kAlignment = 64;

template <class T>
int64_t part_bytes(int64_t count) {
  return cpu::round_up(count * static_cast<int64_t>(sizeof(T)), kAlignment);
}

template <class T>
std::span<T> take(std::byte*& memory, int64_t count) {
  T* begin = reinterpret_cast<T*>(memory);
  memory += part_bytes<T>(count);
  return {begin, static_cast<size_t>(count)};
}

}  // namespace

LocalExperts::LocalExperts(int32_t num_experts, std::span<const ExpertId> ids)
    : local_of_(static_cast<size_t>(num_experts), -1), count_(static_cast<int64_t>(ids.size())) {
  for (size_t i = 0; i < ids.size(); ++i) {
    OCTET_CHECK(ids[i].value >= 0 && ids[i].value < num_experts);
    local_of_[static_cast<size_t>(ids[i].value)] = static_cast<int32_t>(i);
  }
}

int32_t LocalExperts::local(int32_t id) const {
  const bool known = id >= 0 && id < static_cast<int32_t>(local_of_.size());
  return known ? local_of_[static_cast<size_t>(id)] : -1;
}

int64_t LocalExperts::group_bytes(int64_t num_slots) const {
  return part_bytes<int32_t>(count_ + 1) + part_bytes<int32_t>(count_) + part_bytes<int32_t>(num_slots) +
         part_bytes<float>(num_slots);
}

ExpertGroups LocalExperts::group(const RoutingTable& table, std::byte* memory) const {
  const auto num_local = static_cast<size_t>(count_);
  const auto num_slots = static_cast<int64_t>(table.ids.size());
  ExpertGroups g;
  g.begins = take<int32_t>(memory, count_ + 1);
  g.active = take<int32_t>(memory, count_);
  g.tokens = take<int32_t>(memory, num_slots);
  g.weights = take<float>(memory, num_slots);
  std::fill(g.begins.begin(), g.begins.end(), 0);
  for (const int32_t id : table.ids) {
    if (const int32_t at = local(id); at >= 0) ++g.begins[static_cast<size_t>(at)];
  }
  // From counts to the end of each expert's rows; filling from the back then leaves the beginnings.
  size_t num_active = 0;
  int32_t end = 0;
  for (size_t at = 0; at < num_local; ++at) {
    if (g.begins[at] > 0) g.active[num_active++] = static_cast<int32_t>(at);
    end += g.begins[at];
    g.begins[at] = end;
  }
  g.begins[num_local] = end;
  g.active = g.active.first(num_active);
  for (size_t slot = table.ids.size(); slot-- > 0;) {
    const int32_t at = local(table.ids[slot]);
    if (at < 0) continue;
    const auto row = static_cast<size_t>(--g.begins[static_cast<size_t>(at)]);
    g.tokens[row] = static_cast<int32_t>(slot / static_cast<size_t>(table.top_k));
    g.weights[row] = table.weights[slot];
  }
  return g;
}

}  // namespace octet
