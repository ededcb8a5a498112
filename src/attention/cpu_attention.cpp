// Attention over the paged cache with the vector kernels. Numerics class exact16: float throughout.
//
// Latent attention runs in the absorbed form for prompts, too, so that the bits of a row do not depend on how its
// prompt was cut:  q'_h = W_UK_h^T q_nope_h,  score = scale * [q'_h | q_pe_h] · [c | k_pe],  o_h = W_UV_h Σ_t p_t c_t.

#include <algorithm>
#include <string>

#include "attention/attention.h"
#include "attention/cpu_select.h"
#include "attention/cpu_softmax.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/weight_rows.h"

namespace octet {
namespace {

using cpu::ceil_div;
using cpu::CpuKernels;
using cpu::CpuWeight;
using cpu::kKeyBlock;

constexpr int64_t kTokenBlock = 32;  // rows of one span that share a read of each key page and of W_UK, W_UV
constexpr int64_t kLatentHeads = 8;  // heads of an item: 32 x 8 rows of 576 + 512 floats stay near the L2 cache

/// Rows [first, first + count) of a span for heads [first_head, first_head + num_heads).
struct Item {
  const AttentionSpan* span = nullptr;
  int64_t first = 0;
  int64_t count = 0;
  int64_t first_head = 0;
  int64_t num_heads = 0;
};

/// Where the parts of one thread's scratch begin, in floats.
struct ScratchLayout {
  ScratchLayout(int64_t num_heads, const cpu::AttentionDims& dims, int64_t gathered_width, int64_t panel_size) {
    const int64_t rows = kTokenBlock * num_heads;
    max = take(rows);
    sum = take(rows);
    keep = take(num_heads);
    scores = take(num_heads * kKeyBlock);
    z = take(rows * dims.value_width);
    q = take(gathered_width == 0 ? 0 : rows * dims.key_width);
    gathered = take(gathered_width * kKeyBlock);
    panel = take(panel_size);
  }
  int64_t max, sum, keep, scores, z, q, gathered, panel;
  int64_t total = 0;

 private:
  int64_t take(int64_t floats) {
    const int64_t begin = total;
    total += cpu::round_up(floats, 16);  // parts begin at a cache line
    return begin;
  }
};

class CpuAttention final : public AttentionBackend {
 public:
  CpuAttention(ThreadPool& threads, const DeviceInfo& device)
      : threads_(threads),
        kernels_(cpu::kernels_for(cpu::best_isa(device.cpu))),
        name_(std::string("cpu.") + kernels_.name),
        selector_(threads, kernels_) {}

  std::string_view name() const override { return name_; }

  void latent(const LatentAttention& a, View2<const float> q, std::span<const AttentionSpan> spans,
              const KeySelection& selection, View2<float> out) override {
    const CpuWeight kv_b(a.kv_b);
    const cpu::AttentionDims dims{.key_width = a.latent + a.rope, .value_width = a.latent, .scale = a.scale};
    split(spans, a.num_heads, kLatentHeads);
    const int64_t panel = std::max(a.nope * a.latent, cpu::panel_floats(a.latent));
    const ScratchLayout layout(kLatentHeads, dims, dims.key_width, panel);
    float* scratch = scratch_for(layout);
    const double work_ns = estimated_ns(stored_bytes(a.kv_b), spans, a.num_heads, dims);
    for_items(work_ns, [&](int thread, const Item& item) {
      latent_item(a, dims, kv_b, q, item, selection, layout, scratch + thread * layout.total, out);
    });
  }

  void grouped(const GroupedAttention& a, View2<const float> q, std::span<const AttentionSpan> spans,
               View2<float> out) override {
    const int64_t group = a.num_q_heads / a.num_kv_heads;
    const cpu::AttentionDims dims{.key_width = a.head_dim, .value_width = a.head_dim, .scale = a.scale};
    split(spans, a.num_kv_heads, 1);
    const ScratchLayout layout(group, dims, 0, 0);
    float* scratch = scratch_for(layout);
    const double work_ns = estimated_ns(0, spans, a.num_q_heads, dims);
    for_items(work_ns, [&](int thread, const Item& item) {
      grouped_item(a, dims, q, item, layout, scratch + thread * layout.total, out);
    });
  }

  void select_keys(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                   std::span<const AttentionSpan> spans, KeySelection& selection,
                   std::vector<float>* margins) override {
    selector_.select(indexer, q, head_weights, spans, selection, margins);
  }

 private:
  /// Fills items_: every span cut into token blocks and heads, at most `most` heads an item, and fewer where there
  /// would be fewer items than threads. Heads are independent, so the cut does not change bits.
  void split(std::span<const AttentionSpan> spans, int64_t num_heads, int64_t most) {
    int64_t blocks = 0;
    for (const AttentionSpan& span : spans) blocks += ceil_div(span.query_len, kTokenBlock);
    const int64_t pieces = ceil_div(threads_.num_threads(), std::max<int64_t>(blocks, 1));
    const int64_t heads = std::min(most, ceil_div(num_heads, pieces));
    items_.clear();
    for (const AttentionSpan& span : spans) {
      for (int64_t first = 0; first < span.query_len; first += kTokenBlock) {
        for (int64_t head = 0; head < num_heads; head += heads) {
          items_.push_back({.span = &span,
                            .first = first,
                            .count = std::min(kTokenBlock, span.query_len - first),
                            .first_head = head,
                            .num_heads = std::min(heads, num_heads - head)});
        }
      }
    }
  }

  template <class Body>
  void for_items(double work_ns, const Body& body) {
    cpu::for_items(threads_, static_cast<int64_t>(items_.size()), work_ns, threads_.num_threads(),
                   [&](int thread, int64_t i) { body(thread, items_[static_cast<size_t>(i)]); });
  }

  static double estimated_ns(int64_t weight_bytes, std::span<const AttentionSpan> spans, int64_t num_heads,
                             const cpu::AttentionDims& dims) {
    int64_t pairs = 0;
    for (const AttentionSpan& span : spans) pairs += span.query_len * (span.position + span.query_len);
    return cpu::estimated_ns(weight_bytes, 2 * pairs * num_heads * (dims.key_width + dims.value_width));
  }

  float* scratch_for(const ScratchLayout& layout) {
    const int64_t bytes = threads_.num_threads() * layout.total * static_cast<int64_t>(sizeof(float));
    if (scratch_.bytes() < bytes) scratch_ = Buffer(bytes);
    return scratch_.as<float>();
  }

  static cpu::SoftmaxState state_at(const ScratchLayout& layout, float* scratch, int64_t row, int64_t value_width) {
    return {.max = scratch + layout.max + row,
            .sum = scratch + layout.sum + row,
            .z = scratch + layout.z + row * value_width,
            .scores = scratch + layout.scores,
            .keep = scratch + layout.keep};
  }

  void latent_item(const LatentAttention& a, const cpu::AttentionDims& dims, const CpuWeight& kv_b,
                   View2<const float> q, const Item& item, const KeySelection& selection, const ScratchLayout& layout,
                   float* scratch, View2<float> out) const {
    float* absorbed = scratch + layout.q;  // [count, num_heads, latent + rope]
    absorb_queries(a, kv_b, q, item, scratch + layout.panel, absorbed);
    begin_softmax(dims, item.count * item.num_heads, state_at(layout, scratch, 0, dims.value_width));
    const auto queries_of = [&](int64_t i) {
      return cpu::QueryRows{
          .q = absorbed + i * item.num_heads * dims.key_width, .stride = dims.key_width, .count = item.num_heads};
    };
    const auto state_of = [&](int64_t i) { return state_at(layout, scratch, i * item.num_heads, dims.value_width); };
    if (selection.all_keys) {
      for_pages(item, /*window=*/0, [&](int64_t i, int64_t begin, int64_t count) {
        const float* keys = item.span->cache.row(begin);
        add_block(kernels_, dims, queries_of(i),
                  {.keys = keys, .values = keys, .stride = item.span->cache.row_width, .count = count}, state_of(i));
      });
    } else {
      for (int64_t i = 0; i < item.count; ++i) {
        const auto row = static_cast<size_t>(item.span->first_row + item.first + i);
        const std::span<const int32_t> keys(selection.keys.data() + selection.offsets[row],
                                            selection.keys.data() + selection.offsets[row + 1]);
        add_selected(dims, item.span->cache, keys, queries_of(i), scratch + layout.gathered, state_of(i));
      }
    }
    float* z = scratch + layout.z;
    end_softmax(dims, item.count * item.num_heads, state_of(0), z, dims.value_width);
    expand_values(a, kv_b, z, item, scratch + layout.panel, out);
  }

  /// absorbed[i, h] = [W_UK_h^T q_nope | q_pe] of the item's rows and heads.
  void absorb_queries(const LatentAttention& a, const CpuWeight& kv_b, View2<const float> q, const Item& item,
                      float* panel, float* absorbed) const {
    const int64_t key_width = a.latent + a.rope;
    for (int64_t h = 0; h < item.num_heads; ++h) {
      const int64_t head = item.first_head + h;
      const int64_t row = head * (a.nope + a.value);
      const float* from = q.row(item.span->first_row + item.first) + head * (a.nope + a.rope);
      kv_b.expand(kernels_, row, row + a.nope, panel);
      kernels_.weighted_sum({.x = from,
                             .x_stride = q.stride,
                             .num_tokens = item.count,
                             .rows = panel,
                             .row_stride = a.latent,
                             .num_rows = a.nope,
                             .y = absorbed + h * key_width,
                             .y_stride = item.num_heads * key_width,
                             .width = a.latent});
      for (int64_t i = 0; i < item.count; ++i) {
        std::copy_n(from + i * q.stride + a.nope, a.rope, absorbed + (i * item.num_heads + h) * key_width + a.latent);
      }
    }
  }

  /// out[i, h] = W_UV_h z[i, h].
  void expand_values(const LatentAttention& a, const CpuWeight& kv_b, const float* z, const Item& item, float* panel,
                     View2<float> out) const {
    for (int64_t h = 0; h < item.num_heads; ++h) {
      const int64_t head = item.first_head + h;
      const int64_t row = head * (a.nope + a.value) + a.nope;
      kv_b.rows(kernels_,
                {.begin = row,
                 .end = row + a.value,
                 .x = z + h * a.latent,
                 .x_stride = item.num_heads * a.latent,
                 .num_tokens = item.count,
                 .y = out.row(item.span->first_row + item.first) + head * a.value,
                 .y_stride = out.stride,
                 .panel = panel,
                 .panel_rows = cpu::panel_rows(a.latent)},
                /*with_bias=*/false);
    }
  }

  /// Blocks of selected keys, copied together because they lie scattered over the pages.
  void add_selected(const cpu::AttentionDims& dims, const PagedRows& cache, std::span<const int32_t> keys,
                    const cpu::QueryRows& queries, float* gathered, const cpu::SoftmaxState& state) const {
    for (size_t begin = 0; begin < keys.size(); begin += kKeyBlock) {
      const size_t count = std::min(static_cast<size_t>(kKeyBlock), keys.size() - begin);
      for (size_t j = 0; j < count; ++j) {
        std::copy_n(cache.row(keys[begin + j]), dims.key_width, gathered + static_cast<int64_t>(j) * dims.key_width);
      }
      add_block(kernels_, dims, queries,
                {.keys = gathered, .values = gathered, .stride = dims.key_width, .count = static_cast<int64_t>(count)},
                state);
    }
  }

  /// body(i, first key, number of keys) for every row i of the item and every page that it sees, pages ascending. A
  /// page's rows lie together, and all rows of the item use it before the next page is read.
  template <class Body>
  static void for_pages(const Item& item, int64_t window, const Body& body) {
    const int64_t position = item.span->position + item.first;
    const auto first_key = [&](int64_t i) { return window > 0 ? std::max<int64_t>(0, position + i - window + 1) : 0; };
    const int64_t end = position + item.count;
    for (int64_t page = first_key(0) / kKeyBlock * kKeyBlock; page < end; page += kKeyBlock) {
      for (int64_t i = 0; i < item.count; ++i) {
        const int64_t begin = std::max(page, first_key(i));
        const int64_t count = std::min(page + kKeyBlock, position + i + 1) - begin;
        if (count > 0) body(i, begin, count);
      }
    }
  }

  void grouped_item(const GroupedAttention& a, const cpu::AttentionDims& dims, View2<const float> q, const Item& item,
                    const ScratchLayout& layout, float* scratch, View2<float> out) const {
    const int64_t group = a.num_q_heads / a.num_kv_heads;
    const int64_t key_column = item.first_head * a.head_dim;
    const int64_t value_column = (a.num_kv_heads + item.first_head) * a.head_dim;
    const int64_t row = item.span->first_row + item.first;
    const int64_t query_column = item.first_head * group * a.head_dim;
    begin_softmax(dims, item.count * group, state_at(layout, scratch, 0, dims.value_width));
    for_pages(item, a.window, [&](int64_t i, int64_t begin, int64_t count) {
      const float* cached = item.span->cache.row(begin);
      add_block(kernels_, dims, {.q = q.row(row + i) + query_column, .stride = a.head_dim, .count = group},
                {.keys = cached + key_column,
                 .values = cached + value_column,
                 .stride = item.span->cache.row_width,
                 .count = count},
                state_at(layout, scratch, i * group, dims.value_width));
    });
    for (int64_t i = 0; i < item.count; ++i) {
      end_softmax(dims, group, state_at(layout, scratch, i * group, dims.value_width), out.row(row + i) + query_column,
                  a.head_dim);
    }
  }

  ThreadPool& threads_;
  const CpuKernels& kernels_;
  std::string name_;
  cpu::KeySelector selector_;
  std::vector<Item> items_;
  Buffer scratch_;
};

}  // namespace

std::unique_ptr<AttentionBackend> make_cpu_attention(ThreadPool& threads, const DeviceInfo& device) {
  return std::make_unique<CpuAttention>(threads, device);
}

}  // namespace octet
