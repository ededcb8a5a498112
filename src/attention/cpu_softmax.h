// attention/cpu_softmax.h — softmax-weighted sums over keys that arrive in blocks.
//
// Blocks begin at multiples of kKeyBlock keys of what a row may see, whatever the chunking of a prompt, so that a row's
// bits depend on its own keys alone.
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"

namespace octet::cpu {

/// Widths and scale of one attention: score = scale * q · key.
struct AttentionDims {
  int64_t key_width = 0;
  int64_t value_width = 0;
  float scale = 0;
};

/// Up to kKeyBlock keys and their values; both have `stride` elements from one to the next.
struct KeyBlock {
  const float* keys = nullptr;
  const float* values = nullptr;
  int64_t stride = 0;
  int64_t count = 0;
};

/// Query rows of one position, all of which see the same keys.
struct QueryRows {
  const float* q = nullptr;  // [count, key_width], `stride` elements apart
  int64_t stride = 0;
  int64_t count = 0;
};

/// Running state of those rows, and room to work.
struct SoftmaxState {
  float* max = nullptr;     // [rows] largest score so far
  float* sum = nullptr;     // [rows] Σ exp(score - max)
  float* z = nullptr;       // [rows, value_width] Σ exp(score - max) value
  float* scores = nullptr;  // [rows, kKeyBlock] scratch
  float* keep = nullptr;    // [rows] scratch
};

/// The state before the first block.
void begin_softmax(const AttentionDims& dims, int64_t rows, const SoftmaxState& state);

/// Takes one more block into account.
void add_block(const CpuKernels& kernels, const AttentionDims& dims, const QueryRows& queries, const KeyBlock& block,
               const SoftmaxState& state);

/// z[r] / sum[r] into out, `out_stride` elements from one row to the next; out may be z.
void end_softmax(const AttentionDims& dims, int64_t rows, const SoftmaxState& state, float* out, int64_t out_stride);

}  // namespace octet::cpu
