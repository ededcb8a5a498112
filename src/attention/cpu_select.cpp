#include "attention/cpu_select.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "kernels/cpu/parallel.h"

namespace octet::cpu {
namespace {

static_assert(kPageTokens == kKeyBlock, "one page of the cache is one block of keys");

constexpr int64_t kPieceKeys = 8 * kKeyBlock;       // keys that one item scores
constexpr int64_t kScoreFloats = int64_t{1} << 22;  // 16 MiB of scores at a time, or one row if that is more

/// The top_k best of scores [n], ascending, into keys. Returns the gap to the best rejected one if with_margin.
float choose(const float* scores, int64_t n, int64_t top_k, bool with_margin, uint64_t* ranks, int32_t* keys) {
  for (int64_t key = 0; key < n; ++key) ranks[key] = key_rank(scores[key], key);
  std::nth_element(ranks, ranks + top_k - 1, ranks + n, std::greater<>());
  const uint64_t last = ranks[top_k - 1];
  const uint64_t rejected = with_margin ? *std::max_element(ranks + top_k, ranks + n) : 0;
  for (int64_t key = 0; key < n; ++key) {
    if (key_rank(scores[key], key) >= last) *keys++ = static_cast<int32_t>(key);
  }
  const auto score_of = [&](uint64_t rank) {
    return scores[std::numeric_limits<uint32_t>::max() - (rank & 0xffffffff)];
  };
  return with_margin ? score_of(last) - score_of(rejected) : 0.0f;
}

}  // namespace

uint64_t key_rank(float score, int64_t key) {
  uint32_t order = 0;
  if (!std::isnan(score)) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes +0
    order = (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
  }
  return (uint64_t{order} << 32) | (std::numeric_limits<uint32_t>::max() - static_cast<uint32_t>(key));
}

void KeySelector::collect_rows(const KeyIndexer& indexer, int64_t num_rows, std::span<const AttentionSpan> spans,
                               KeySelection& selection) {
  rows_.clear();
  max_keys_ = 0;
  selection.offsets.assign(static_cast<size_t>(num_rows) + 1, 0);
  for (const AttentionSpan& span : spans) {
    for (int64_t i = 0; i < span.query_len; ++i) {
      const Row row{.row = span.first_row + i, .position = span.position + i, .cache = span.cache};
      const int64_t visible = row.position + 1;
      selection.offsets[static_cast<size_t>(row.row) + 1] = std::min(visible, indexer.top_k);
      max_keys_ = std::max(max_keys_, visible);
      if (visible > indexer.top_k) rows_.push_back(row);
    }
  }
  std::partial_sum(selection.offsets.begin(), selection.offsets.end(), selection.offsets.begin());
  selection.keys.resize(static_cast<size_t>(selection.offsets.back()));
  for (const AttentionSpan& span : spans) {
    for (int64_t i = 0; i < span.query_len && span.position + i < indexer.top_k; ++i) {
      const auto begin = selection.keys.begin() + selection.offsets[static_cast<size_t>(span.first_row + i)];
      std::iota(begin, begin + span.position + i + 1, 0);
    }
  }
}

void KeySelector::select(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                         std::span<const AttentionSpan> spans, KeySelection& selection, std::vector<float>* margins) {
  if (margins) margins->assign(static_cast<size_t>(q.rows), std::numeric_limits<float>::infinity());
  selection.offsets.clear();
  selection.keys.clear();
  selection.all_keys = std::all_of(spans.begin(), spans.end(), [&](const AttentionSpan& span) {
    return span.position + span.query_len <= indexer.top_k;
  });
  if (selection.all_keys) return;
  collect_rows(indexer, q.rows, spans, selection);

  const auto threads = static_cast<size_t>(threads_.num_threads());
  const size_t block = static_cast<size_t>(std::max<int64_t>(kScoreFloats / max_keys_, 1));
  const auto row_keys = static_cast<size_t>(max_keys_);
  scores_.resize(std::max(scores_.size(), std::min(block, rows_.size()) * row_keys));
  dots_.resize(std::max(dots_.size(), threads * static_cast<size_t>(indexer.num_heads * kKeyBlock)));
  ranks_.resize(std::max(ranks_.size(), threads * row_keys));
  for (size_t first = 0; first < rows_.size(); first += block) {
    const size_t count = std::min(block, rows_.size() - first);
    score_rows(indexer, q, head_weights, first, count);
    const double work_ns = estimated_ns(static_cast<int64_t>(count) * max_keys_ * 32, 0);
    for_items(threads_, static_cast<int64_t>(count), work_ns, threads_.num_threads(), [&](int thread, int64_t i) {
      const Row& row = rows_[first + static_cast<size_t>(i)];
      const auto t = static_cast<size_t>(row.row);
      const float margin =
          choose(scores_of(static_cast<size_t>(i)), row.position + 1, indexer.top_k, margins != nullptr,
                 ranks_.data() + thread * max_keys_, selection.keys.data() + selection.offsets[t]);
      if (margins) (*margins)[t] = margin;
    });
  }
}

void KeySelector::score_rows(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                             size_t first, size_t count) {
  pieces_.clear();
  int64_t keys = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t visible = rows_[first + i].position + 1;
    for (int64_t begin = 0; begin < visible; begin += kPieceKeys) pieces_.push_back({.row = i, .begin = begin});
    keys += visible;
  }
  const double work_ns = estimated_ns(0, 2 * keys * indexer.num_heads * indexer.head_dim);
  const auto pieces = static_cast<int64_t>(pieces_.size());
  for_items(threads_, pieces, work_ns, threads_.num_threads(), [&](int thread, int64_t item) {
    const Piece& piece = pieces_[static_cast<size_t>(item)];
    score_piece(indexer, q, head_weights, rows_[first + piece.row], piece.begin,
                dots_.data() + thread * indexer.num_heads * kKeyBlock, scores_of(piece.row));
  });
}

void KeySelector::score_piece(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
                              const Row& row, int64_t begin, float* dots, float* scores) const {
  const auto scale = static_cast<float>(
      1.0 / std::sqrt(static_cast<double>(indexer.num_heads) * static_cast<double>(indexer.head_dim)));
  const int64_t end = std::min(begin + kPieceKeys, row.position + 1);
  for (int64_t key = begin; key < end; key += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, end - key);
    kernels_.rows({.w = {.code = Code::f32,
                         .k = indexer.head_dim,
                         .codes = reinterpret_cast<const uint8_t*>(row.cache.row(key)),
                         .code_row_bytes = row.cache.row_width * static_cast<int64_t>(sizeof(float)),
                         .factor = scale},
                   .begin = 0,
                   .end = count,
                   .x = q.row(row.row),
                   .x_stride = indexer.head_dim,
                   .num_tokens = indexer.num_heads,
                   .y = dots,
                   .y_stride = kKeyBlock});
    kernels_.relu_sum(dots, kKeyBlock, head_weights.row(row.row), indexer.num_heads, scores + key, count);
  }
}

}  // namespace octet::cpu
