// attention/attention.h — attention over the paged cache. Two forms: latent (MLA) and grouped-query.
//
// The rows of the present step are already in the cache when a backend runs. Query row i of a sequence at position p
// sees keys 0..p, or, where a selection is given, the selected ones among them. A row's result depends on its own query
// and the sequence's cache alone: not on chunking, batch or threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/threads.h"
#include "kv_cache/kv_cache.h"
#include "numerics/weight.h"
#include "tensor/buffer.h"
#include "tensor/device_info.h"
#include "tensor/view.h"

namespace octet {

/// Rows [first_row, first_row + query_len) of the step belong to one sequence, from `position` on.
struct AttentionSpan {
  int64_t first_row = 0;
  int64_t query_len = 0;
  int64_t position = 0;
  PagedRows cache;
};

/// Chosen keys of every row of a step: positions keys[offsets[t]] .. keys[offsets[t + 1]), ascending.
/// Rows that see no more keys than the top-k choose all of them.
struct KeySelection {
  std::vector<int64_t> offsets;  // [T + 1]
  std::vector<int32_t> keys;
  bool all_keys = true;  // every row chose all it sees; offsets and keys are then empty
};

/// Multi-head latent attention. Cache row: [c (latent) | rotated k_pe (rope)].
///   score(i, t) = scale * (q_nope_h,i · W_UK_h c_t + q_pe_h,i · k_pe_t),  o_h,i = W_UV_h Σ_t softmax(score)_t c_t
struct LatentAttention {
  int32_t num_heads = 0;  // Hq
  int64_t nope = 0;       // width of a query head's unrotated part
  int64_t rope = 0;       // width of its rotated part
  int64_t value = 0;      // width of a value head
  int64_t latent = 0;     // kv_lora_rank
  float scale = 0;
  WeightView kv_b;  // [Hq * (nope + value), latent]; per head nope rows (W_UK), then value rows (W_UV)
};

/// Grouped-query attention. Cache row: [keys Hkv * D | values Hkv * D].
struct GroupedAttention {
  int32_t num_q_heads = 0;   // Hq
  int32_t num_kv_heads = 0;  // Hkv
  int64_t head_dim = 0;      // D
  float scale = 0;
  int64_t window = 0;  // key t visible to position p only if t > p - window; 0: no window
};

/// The DSA indexer's choice. Cache row: the index key [Di].
///   score(i, t) = Hi^-1/2 Di^-1/2 Σ_h w_i,h relu(q_i,h · k_t); the top_k largest are kept, equal scores: lower t first
struct KeyIndexer {
  int32_t num_heads = 0;  // Hi
  int64_t head_dim = 0;   // Di
  int64_t top_k = 0;
};

class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;
  virtual std::string_view name() const = 0;

  /// q [T, Hq * (nope + rope)], out [T, Hq * value] overwritten.
  virtual void latent(const LatentAttention& a, View2<const float> q, std::span<const AttentionSpan> spans,
                      const KeySelection& selection, View2<float> out) = 0;

  /// q [T, Hq * D], out [T, Hq * D] overwritten.
  virtual void grouped(const GroupedAttention& a, View2<const float> q, std::span<const AttentionSpan> spans,
                       View2<float> out) = 0;

  /// q [T, Hi * Di], head_weights [T, Hi]. Overwrites selection. margins, if not null, gets for every row the gap
  /// between the last chosen and the best rejected score (infinity where all keys are chosen).
  virtual void select_keys(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                           std::span<const AttentionSpan> spans, KeySelection& selection,
                           std::vector<float>* margins) = 0;
};

/// Un-absorbed MLA, plain softmax, double sums.
std::unique_ptr<AttentionBackend> make_reference_attention(ThreadPool& threads);

/// Absorbed MLA and online softmax with the fastest vector code of `device`.
std::unique_ptr<AttentionBackend> make_cpu_attention(ThreadPool& threads, const DeviceInfo& device);

}  // namespace octet
