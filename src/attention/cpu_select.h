// attention/cpu_select.h — the DSA indexer's choice of keys (attention.h, KeyIndexer) on the CPU.
#pragma once

#include <vector>

#include "attention/attention.h"
#include "kernels/cpu/cpu_kernels.h"

namespace octet::cpu {

/// Scores keys and picks the best; owns the memory for that, which grows with the context.
class KeySelector {
 public:
  KeySelector(ThreadPool& threads, const CpuKernels& kernels) : threads_(threads), kernels_(kernels) {}

  /// AttentionBackend::select_keys.
  void select(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights,
              std::span<const AttentionSpan> spans, KeySelection& selection, std::vector<float>* margins);

 private:
  /// One row of the step and the sequence that it belongs to.
  struct Row {
    int64_t row = 0;
    int64_t position = 0;
    PagedRows cache;
  };
  /// A piece of a row's keys.
  struct Piece {
    size_t row = 0;  // index into rows_
    int64_t begin = 0;
  };

  /// Fills rows_ with the rows that see more than top_k keys, and sizes `selection`.
  void collect_rows(const KeyIndexer& indexer, int64_t num_rows, std::span<const AttentionSpan> spans,
                    KeySelection& selection);
  /// scores_[i] for rows_[first + i], i < count.
  void score_rows(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights, size_t first,
                  size_t count);
  void score_piece(const KeyIndexer& indexer, View2<const float> q, View2<const float> head_weights, const Row& row,
                   int64_t begin, float* dots, float* scores) const;
  float* scores_of(size_t i) { return scores_.data() + static_cast<int64_t>(i) * max_keys_; }

  ThreadPool& threads_;
  const CpuKernels& kernels_;
  std::vector<Row> rows_;
  std::vector<Piece> pieces_;
  std::vector<float> scores_;    // [rows of a block, max_keys_]
  std::vector<float> dots_;      // [threads, Hi, kKeyBlock]
  std::vector<uint64_t> ranks_;  // [threads, max_keys_]
  int64_t max_keys_ = 0;
};

/// A number that is larger the better a key is: by score, then the lower key. NaN is worst, -0 equals +0.
uint64_t key_rank(float score, int64_t key);

}  // namespace octet::cpu
