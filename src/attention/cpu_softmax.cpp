#include "attention/cpu_softmax.h"

#include <algorithm>
#include <limits>

namespace octet::cpu {

void begin_softmax(const AttentionDims& dims, int64_t rows, const SoftmaxState& state) {
  std::fill_n(state.max, rows, -std::numeric_limits<float>::infinity());
  std::fill_n(state.sum, rows, 0.0f);
  std::fill_n(state.z, rows * dims.value_width, 0.0f);
}

void add_block(const CpuKernels& kernels, const AttentionDims& dims, const QueryRows& queries, const KeyBlock& block,
               const SoftmaxState& state) {
  // The keys are weight rows, the queries are token rows.
  kernels.rows({.w = {.code = Code::f32,
                      .k = dims.key_width,
                      .codes = reinterpret_cast<const uint8_t*>(block.keys),
                      .code_row_bytes = block.stride * static_cast<int64_t>(sizeof(float)),
                      .factor = dims.scale},
                .begin = 0,
                .end = block.count,
                .x = queries.q,
                .x_stride = queries.stride,
                .num_tokens = queries.count,
                .y = state.scores,
                .y_stride = kKeyBlock});
  for (int64_t r = 0; r < queries.count; ++r) {
    state.keep[r] = kernels.softmax_block(state.scores + r * kKeyBlock, block.count, state.max + r, state.sum + r);
  }
  kernels.weighted_sum({.x = state.scores,
                        .x_stride = kKeyBlock,
                        .num_tokens = queries.count,
                        .rows = block.values,
                        .row_stride = block.stride,
                        .num_rows = block.count,
                        .keep = state.keep,
                        .y = state.z,
                        .y_stride = dims.value_width,
                        .width = dims.value_width});
}

void end_softmax(const AttentionDims& dims, int64_t rows, const SoftmaxState& state, float* out, int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const float inverse = 1.0f / state.sum[r];
    for (int64_t c = 0; c < dims.value_width; ++c)
      out[r * out_stride + c] = state.z[r * dims.value_width + c] * inverse;
  }
}

}  // namespace octet::cpu
