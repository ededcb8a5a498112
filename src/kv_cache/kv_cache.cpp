#include "kv_cache/kv_cache.h"

#include <algorithm>

#include "kv_cache/step_plan.h"

namespace octet {

int64_t KvLayout::bytes_per_token() const {
  int64_t bytes = 0;
  for (const KvGroup& group : groups) {
    bytes += static_cast<int64_t>(group.layers.size()) * group.row_width * bits(group.type) / 8;
  }
  return bytes;
}

KvCache::KvCache(KvLayout layout, int64_t num_pages) : layout_(std::move(layout)), num_pages_(num_pages) {
  OCTET_CHECK(num_pages > 0);
  for (const KvGroup& group : layout_.groups) {
    OCTET_CHECK(group.type == DType::f32 && std::is_sorted(group.layers.begin(), group.layers.end()));
    const auto layers = static_cast<int64_t>(group.layers.size());
    memory_.emplace_back(layers * num_pages * kPageTokens * group.row_width * bits(group.type) / 8);
    std::vector<int32_t> slots(group.layers.empty() ? 0 : static_cast<size_t>(group.layers.back()) + 1, -1);
    for (size_t i = 0; i < group.layers.size(); ++i)
      slots[static_cast<size_t>(group.layers[i])] = static_cast<int32_t>(i);
    slots_.push_back(std::move(slots));
  }
  free_.reserve(static_cast<size_t>(num_pages));
  for (int64_t page = num_pages - 1; page >= 0; --page) free_.push_back(PageId{static_cast<int32_t>(page)});
  in_use_.assign(static_cast<size_t>(num_pages), false);
}

bool KvCache::allocate(int64_t count, std::vector<PageId>& pages) {
  if (count > free_pages()) return false;
  for (int64_t i = 0; i < count; ++i) {
    const PageId page = free_.back();
    free_.pop_back();
    in_use_[static_cast<size_t>(page.value)] = true;
    pages.push_back(page);
  }
  return true;
}

void KvCache::release(std::span<const PageId> pages) {
  for (const PageId page : pages) {
    OCTET_CHECK(page.value >= 0 && page.value < num_pages_ && in_use_[static_cast<size_t>(page.value)]);
    in_use_[static_cast<size_t>(page.value)] = false;
    free_.push_back(page);
  }
}

PagedRows KvCache::rows(int32_t group, int32_t layer, std::span<const PageId> pages) const {
  const KvGroup& g = layout_.groups[static_cast<size_t>(group)];
  OCTET_CHECK(static_cast<size_t>(layer) < slots_[static_cast<size_t>(group)].size());
  const int64_t slot = slots_[static_cast<size_t>(group)][static_cast<size_t>(layer)];
  OCTET_CHECK(slot >= 0);
  const int64_t page_stride = kPageTokens * g.row_width;
  return PagedRows{.base = memory_[static_cast<size_t>(group)].as<float>() + slot * num_pages_ * page_stride,
                   .page_stride = page_stride,
                   .row_width = g.row_width,
                   .pages = pages.data()};
}

void append_rows(StepPlan& plan, RequestId request, RowKind kind, std::span<const TokenId> ids, int64_t position,
                 std::span<const PageId> pages) {
  const auto count = static_cast<int64_t>(ids.size());
  plan.sequences.push_back({.request = request,
                            .kind = kind,
                            .first_row = plan.num_tokens(),
                            .query_len = count,
                            .position = position,
                            .pages = pages});
  plan.tokens.insert(plan.tokens.end(), ids.begin(), ids.end());
  for (int64_t i = 0; i < count; ++i) plan.positions.push_back(position + i);
  plan.is_padding.insert(plan.is_padding.end(), ids.size(), 0);
}

}  // namespace octet
