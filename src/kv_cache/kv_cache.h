// kv_cache/kv_cache.h — the key/value cache in pages.
//
// A model states what it stores as a list of groups; each group has its own layers and row width. A page holds
// kPageTokens consecutive positions of one sequence, in every layer of every group. A sequence is a list of pages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "tensor/buffer.h"
#include "tensor/dtype.h"
#include "tensor/numerics_class.h"

namespace octet {

inline constexpr int64_t kPageTokens = 64;

/// One kind of cached row, for example MLA latents or indexer keys.
struct KvGroup {
  std::string name;             // "latent", "index_keys", "kv"
  std::vector<int32_t> layers;  // model layers that have a row, ascending
  int64_t row_width = 0;        // elements a token and layer
  DType type = DType::f32;
  int64_t window = 0;  // keys older than this many tokens are never read; 0: all are
};

struct KvLayout {
  std::vector<KvGroup> groups;
  NumericsClass writer = NumericsClass::exact16;
  /// Bytes that one token takes over all groups and layers.
  int64_t bytes_per_token() const;
};

/// The rows of one layer for one sequence; row(t) is the cached row of position t.
struct PagedRows {
  float* base = nullptr;          // page 0 of this layer
  int64_t page_stride = 0;        // elements from one page to the next
  int64_t row_width = 0;          // elements from one token to the next
  const PageId* pages = nullptr;  // page table of the sequence: positions [64 i, 64 i + 64) lie in pages[i]

  float* row(int64_t position) const {
    return base + pages[position / kPageTokens].value * page_stride + (position % kPageTokens) * row_width;
  }
};

/// Owns the memory of all pages and knows which are free. Not thread-safe: one engine owns it.
class KvCache {
 public:
  /// Allocates num_pages pages. Throws Error(no_memory).
  KvCache(KvLayout layout, int64_t num_pages);

  const KvLayout& layout() const { return layout_; }
  int64_t num_pages() const { return num_pages_; }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }

  /// Takes `count` pages and appends them to `pages`; false, and nothing taken, if fewer are free.
  bool allocate(int64_t count, std::vector<PageId>& pages);
  /// Gives pages back. Each must have been allocated and not yet released (checked).
  void release(std::span<const PageId> pages);

  /// Rows of (group, layer) for a sequence with this page table.
  PagedRows rows(int32_t group, int32_t layer, std::span<const PageId> pages) const;

 private:
  KvLayout layout_;
  int64_t num_pages_ = 0;
  std::vector<Buffer> memory_;               // one a group: [layers][pages][kPageTokens][row_width]
  std::vector<std::vector<int32_t>> slots_;  // [group][model layer] -> layer index inside the group, or -1
  std::vector<PageId> free_;                 // taken from the back
  std::vector<bool> in_use_;
};

/// Pages that hold `tokens` positions.
constexpr int64_t pages_for(int64_t tokens) { return (tokens + kPageTokens - 1) / kPageTokens; }

}  // namespace octet
