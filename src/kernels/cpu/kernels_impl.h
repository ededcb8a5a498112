// kernels/cpu/kernels_impl.h — the kernels of cpu_kernels.h over the 16 lanes of one instruction set. Included once by
// each kernels_*.cpp, after its lanes_*.h. Everything has internal linkage (cpu_kernels.h says why).
#pragma once

#include "kernels/cpu/cpu_kernels.h"

namespace octet::cpu {
namespace {

constexpr int64_t kLanes = 16;
constexpr int kRows = static_cast<int>(kRowsPerTile);

/// The first n < 16 floats at p, then zeros.
inline Lanes load_first(const float* p, int64_t n) {
  float buffer[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return load(buffer);
}

inline void store_first(float* p, Lanes a, int64_t n) {
  float buffer[kLanes];
  store(buffer, a);
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}

inline float lane_sum(Lanes a) {
  float out[kRows];
  sums(a, a, a, a, out);
  return out[0];
}

/// exp(x), within about 1 ulp; 0 below -104, infinity above 88.73, NaN for NaN. x = n ln 2 + r with |r| <= ln 2 / 2,
/// and exp(r) = 1 + r + r^2 q(r) with the minimax polynomial of the Cephes library (expf).
inline Lanes exp(Lanes x) {
  const Lanes bounded = min(broadcast(89.0f), max(broadcast(-104.0f), x));
  const Lanes n = nearest(mul(bounded, broadcast(1.44269504f)));
  Lanes r = fma(n, broadcast(-0.693359375f), bounded);  // the first part of ln 2 has few bits, so this is exact
  r = fma(n, broadcast(2.12194440e-4f), r);
  Lanes q = broadcast(1.9875691500e-4f);
  q = fma(q, r, broadcast(1.3981999507e-3f));
  q = fma(q, r, broadcast(8.3334519073e-3f));
  q = fma(q, r, broadcast(4.1665795894e-2f));
  q = fma(q, r, broadcast(1.6666665459e-1f));
  q = fma(q, r, broadcast(5.0000001201e-1f));
  const Lanes p = add(broadcast(1.0f), fma(q, mul(r, r), r));
  return scale_by_power(p, n);
}

inline float exp(float x) {
  float out[kLanes];
  store(out, exp(broadcast(x)));
  return out[0];
}

// ---- weights -------------------------------------------------------------------------------------------------------

constexpr int64_t code_bytes(Code code, int64_t columns) {
  switch (code) {
    case Code::f32:
      return columns * 4;
    case Code::f16:
    case Code::bf16:
      return columns * 2;
    case Code::e2m1:
      return (columns + 1) / 2;
  }
  return 0;
}

/// One weight row: its codes and, for e2m1, its scales.
struct Row {
  const uint8_t* codes;
  const uint8_t* scales;
};

inline Row row_of(const WeightRows& w, int64_t n) {
  return {w.codes + n * w.code_row_bytes, w.scales + n * w.scale_row_bytes};
}

/// Columns [k, k + 16) given where their codes lie.
template <Code kCode>
inline Lanes load_codes(const WeightRows& w, const uint8_t* codes, const uint8_t* scales, int64_t k) {
  if constexpr (kCode == Code::f32) return load(codes);
  if constexpr (kCode == Code::f16) return load_f16(codes);
  if constexpr (kCode == Code::bf16) return load_bf16(codes);
  if constexpr (kCode == Code::e2m1)
    return mul(load_e2m1(codes), broadcast(w.scale_values[scales[k >> w.scale_shift]]));
}

template <Code kCode>
inline Lanes load_columns(const WeightRows& w, Row row, int64_t k) {
  return load_codes<kCode>(w, row.codes + code_bytes(kCode, k), row.scales, k);
}

/// The last columns [k, K) of a row, fewer than 16, then zeros. Reads nothing beyond the row.
template <Code kCode>
inline Lanes load_last_columns(const WeightRows& w, Row row, int64_t k) {
  uint8_t codes[kLanes * 4] = {};
  const int64_t begin = code_bytes(kCode, k);
  const int64_t count = code_bytes(kCode, w.k) - begin;
  for (int64_t i = 0; i < count; ++i) codes[i] = row.codes[begin + i];
  // An odd number of FP4 columns leaves half a byte that belongs to no column.
  if (kCode == Code::e2m1 && w.k % 2 == 1) codes[count - 1] &= 15;
  return load_codes<kCode>(w, codes, row.scales, k);
}

template <Code kCode>
void expand_code(const WeightRows& w, int64_t begin, int64_t end, float* out) {
  for (int64_t n = begin; n < end; ++n, out += w.k) {
    const Row row = row_of(w, n);
    int64_t k = 0;
    for (; k + kLanes <= w.k; k += kLanes) store(out + k, load_columns<kCode>(w, row, k));
    if (k < w.k) store_first(out + k, load_last_columns<kCode>(w, row, k), w.k - k);
  }
}

void expand(const WeightRows& w, int64_t begin, int64_t end, float* out) {
  switch (w.code) {
    case Code::f32:
      return expand_code<Code::f32>(w, begin, end, out);
    case Code::f16:
      return expand_code<Code::f16>(w, begin, end, out);
    case Code::bf16:
      return expand_code<Code::bf16>(w, begin, end, out);
    case Code::e2m1:
      return expand_code<Code::e2m1>(w, begin, end, out);
  }
}

// ---- products ------------------------------------------------------------------------------------------------------

/// How far ahead a single token's pass over the weights prefetches; the hardware's own prefetch restarts at each row.
constexpr int64_t kPrefetchBytes = 1024;

/// out[t][i] = Σ_k x[t][k] * w[n + i, k] for kTokens token rows and 4 weight rows. Rows from `end` on repeat the last
/// one.
template <Code kCode, int kTokens>
inline void tile(const WeightRows& w, int64_t n, int64_t end, const float* const* x, float (*out)[kRows]) {
  Row rows[kRows];
  for (int i = 0; i < kRows; ++i) rows[i] = row_of(w, n + i < end ? n + i : end - 1);
  Lanes sum[kTokens][kRows];
  for (int t = 0; t < kTokens; ++t) {
    for (int i = 0; i < kRows; ++i) sum[t][i] = zero();
  }
  int64_t k = 0;
  for (; k + kLanes <= w.k; k += kLanes) {
    Lanes weights[kRows];
    for (int i = 0; i < kRows; ++i) {
      weights[i] = load_columns<kCode>(w, rows[i], k);
      if constexpr (kTokens == 1) __builtin_prefetch(rows[i].codes + code_bytes(kCode, k) + kPrefetchBytes);
    }
    for (int t = 0; t < kTokens; ++t) {
      const Lanes xs = load(x[t] + k);
      for (int i = 0; i < kRows; ++i) sum[t][i] = fma(xs, weights[i], sum[t][i]);
    }
  }
  if (k < w.k) {
    for (int i = 0; i < kRows; ++i) {
      const Lanes weights = load_last_columns<kCode>(w, rows[i], k);
      for (int t = 0; t < kTokens; ++t) sum[t][i] = fma(load_first(x[t] + k, w.k - k), weights, sum[t][i]);
    }
  }
  for (int t = 0; t < kTokens; ++t) sums(sum[t][0], sum[t][1], sum[t][2], sum[t][3], out[t]);
}

inline const float* token_row(const RowsArgs& a, int64_t t) {
  return a.x + (a.x_rows == nullptr ? t : int64_t{a.x_rows[t]}) * a.x_stride;
}

/// Weight rows [begin, end) of w, w's row 0 being row `origin` of the matrix, for token rows [t, t + kTokens).
template <Code kCode, int kTokens>
void tiles(const RowsArgs& a, const WeightRows& w, int64_t origin, int64_t begin, int64_t end, int64_t t) {
  const float* x[kTokens];
  for (int i = 0; i < kTokens; ++i) x[i] = token_row(a, t + i);
  for (int64_t n = begin; n < end; n += kRows) {
    float out[kTokens][kRows];
    tile<kCode, kTokens>(w, n, end, x, out);
    const int64_t count = end - n < kRows ? end - n : kRows;
    for (int i = 0; i < kTokens; ++i) {
      float* y = a.y + (t + i) * a.y_stride + (origin + n - a.begin);
      for (int64_t j = 0; j < count; ++j) y[j] = a.w.factor * out[i][j];
    }
  }
}

/// All token rows for weight rows [begin, end) of float rows.
void float_rows(const RowsArgs& a, const WeightRows& w, int64_t origin, int64_t begin, int64_t end) {
  int64_t t = 0;
  for (; t + kTileTokens <= a.num_tokens; t += kTileTokens) {
    tiles<Code::f32, kTileTokens>(a, w, origin, begin, end, t);
  }
  if constexpr (kTileTokens > 2) {
    for (; t + 2 <= a.num_tokens; t += 2) tiles<Code::f32, 2>(a, w, origin, begin, end, t);
  }
  for (; t < a.num_tokens; ++t) tiles<Code::f32, 1>(a, w, origin, begin, end, t);
}

void rows(const RowsArgs& a) {
  if (a.w.code == Code::f32) return float_rows(a, a.w, 0, a.begin, a.end);
  if (a.num_tokens == 1) {
    if (a.w.code == Code::f16) return tiles<Code::f16, 1>(a, a.w, 0, a.begin, a.end, 0);
    if (a.w.code == Code::bf16) return tiles<Code::bf16, 1>(a, a.w, 0, a.begin, a.end, 0);
    return tiles<Code::e2m1, 1>(a, a.w, 0, a.begin, a.end, 0);
  }
  // Several tokens: expand some rows once and use them for every token. Same values, same order, same bits.
  WeightRows panel;
  panel.k = a.w.k;
  panel.codes = reinterpret_cast<const uint8_t*>(a.panel);
  panel.code_row_bytes = a.w.k * 4;
  for (int64_t n = a.begin; n < a.end; n += a.panel_rows) {
    const int64_t end = n + a.panel_rows < a.end ? n + a.panel_rows : a.end;
    expand(a.w, n, end, a.panel);
    float_rows(a, panel, n, 0, end - n);
  }
}

/// Columns [c, c + 16 * kColumns) of kTokens rows of y.
template <int kTokens, int kColumns>
inline void sum_columns(const WeightedSumArgs& a, int64_t t, int64_t c) {
  Lanes sum[kTokens][kColumns];
  for (int i = 0; i < kTokens; ++i) {
    const float* y = a.y + (t + i) * a.y_stride + c;
    for (int j = 0; j < kColumns; ++j) {
      sum[i][j] = a.keep == nullptr ? zero() : mul(broadcast(a.keep[t + i]), load(y + j * kLanes));
    }
  }
  for (int64_t r = 0; r < a.num_rows; ++r) {
    Lanes row[kColumns];
    for (int j = 0; j < kColumns; ++j) row[j] = load(a.rows + r * a.row_stride + c + j * kLanes);
    for (int i = 0; i < kTokens; ++i) {
      const Lanes x = broadcast(a.x[(t + i) * a.x_stride + r]);
      for (int j = 0; j < kColumns; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kTokens; ++i) {
    for (int j = 0; j < kColumns; ++j) store(a.y + (t + i) * a.y_stride + c + j * kLanes, sum[i][j]);
  }
}

/// The last columns [c, width), fewer than 16, of row t of y.
inline void sum_last_columns(const WeightedSumArgs& a, int64_t t, int64_t c) {
  float* y = a.y + t * a.y_stride + c;
  const int64_t count = a.width - c;
  Lanes sum = a.keep == nullptr ? zero() : mul(broadcast(a.keep[t]), load_first(y, count));
  for (int64_t r = 0; r < a.num_rows; ++r) {
    sum = fma(broadcast(a.x[t * a.x_stride + r]), load_first(a.rows + r * a.row_stride + c, count), sum);
  }
  store_first(y, sum, count);
}

template <int kTokens>
void sum_rows(const WeightedSumArgs& a, int64_t t) {
  int64_t c = 0;
  for (; c + kSumColumns * kLanes <= a.width; c += kSumColumns * kLanes) sum_columns<kTokens, kSumColumns>(a, t, c);
  for (; c + kLanes <= a.width; c += kLanes) sum_columns<kTokens, 1>(a, t, c);
  for (int i = 0; i < kTokens && c < a.width; ++i) sum_last_columns(a, t + i, c);
}

void weighted_sum(const WeightedSumArgs& a) {
  int64_t t = 0;
  for (; t + 4 <= a.num_tokens; t += 4) sum_rows<4>(a, t);
  for (; t < a.num_tokens; ++t) sum_rows<1>(a, t);
}

// ---- attention -----------------------------------------------------------------------------------------------------

float softmax_block(float* scores, int64_t n, float* max_score, float* sum) {
  constexpr float kMinusInfinity = -__builtin_huge_valf();
  for (int64_t i = n; i % kLanes != 0; ++i) scores[i] = kMinusInfinity;
  Lanes top = broadcast(*max_score);
  for (int64_t i = 0; i < n; i += kLanes) top = max(load(scores + i), top);
  float tops[kLanes];
  store(tops, top);
  for (int width = 8; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) tops[i] = tops[i] > tops[i + width] ? tops[i] : tops[i + width];
  }
  Lanes total = zero();
  for (int64_t i = 0; i < n; i += kLanes) {
    const Lanes p = exp(sub(load(scores + i), broadcast(tops[0])));
    store(scores + i, p);
    total = add(total, p);
  }
  const float correction = exp(*max_score - tops[0]);
  *max_score = tops[0];
  *sum = *sum * correction + lane_sum(total);
  return correction;
}

void relu_sum(const float* dots, int64_t dots_stride, const float* weights, int64_t heads, float* out, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t count = n - i;
    Lanes sum = zero();
    for (int64_t h = 0; h < heads; ++h) {
      const float* p = dots + h * dots_stride + i;
      const Lanes dot = count < kLanes ? load_first(p, count) : load(p);
      sum = fma(broadcast(weights[h]), max(zero(), dot), sum);
    }
    if (count < kLanes) {
      store_first(out + i, sum, count);
    } else {
      store(out + i, sum);
    }
  }
}

// ---- rows of activations -------------------------------------------------------------------------------------------

inline Lanes silu_mul(Lanes gate, Lanes up) {
  const Lanes one = broadcast(1.0f);
  return mul(div(gate, add(one, exp(sub(zero(), gate)))), up);
}

void silu_mul(const float* gate, const float* up, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, silu_mul(load(gate + i), load(up + i)));
  if (i < n) store_first(y + i, silu_mul(load_first(gate + i, n - i), load_first(up + i, n - i)), n - i);
}

/// Σ (x[i] - shift)^2.
inline float sum_squares(const float* x, float shift, int64_t n) {
  Lanes sum = zero();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes d = sub(load(x + i), broadcast(shift));
    sum = fma(d, d, sum);
  }
  float total = lane_sum(sum);
  for (; i < n; ++i) total += (x[i] - shift) * (x[i] - shift);
  return total;
}

inline float sum_elements(const float* x, int64_t n) {
  Lanes sum = zero();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum = add(sum, load(x + i));
  float total = lane_sum(sum);
  for (; i < n; ++i) total += x[i];
  return total;
}

void rms_norm(const float* x, const float* weight, float eps, float* y, int64_t n) {
  const float inverse = 1.0f / __builtin_sqrtf(sum_squares(x, 0.0f, n) / static_cast<float>(n) + eps);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store(y + i, mul(load(weight + i), mul(load(x + i), broadcast(inverse))));
  }
  for (; i < n; ++i) y[i] = weight[i] * (x[i] * inverse);
}

void layer_norm(const float* x, const float* weight, const float* bias, float eps, float* y, int64_t n) {
  const float mean = sum_elements(x, n) / static_cast<float>(n);
  const float inverse = 1.0f / __builtin_sqrtf(sum_squares(x, mean, n) / static_cast<float>(n) + eps);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes normal = mul(sub(load(x + i), broadcast(mean)), broadcast(inverse));
    store(y + i, add(mul(load(weight + i), normal), load(bias + i)));
  }
  for (; i < n; ++i) y[i] = weight[i] * ((x[i] - mean) * inverse) + bias[i];
}

constexpr CpuKernels table(const char* name) {
  return {.name = name,
          .rows = rows,
          .expand = expand,
          .weighted_sum = weighted_sum,
          .softmax_block = softmax_block,
          .relu_sum = relu_sum,
          .silu_mul = silu_mul,
          .rms_norm = rms_norm,
          .layer_norm = layer_norm};
}

}  // namespace
}  // namespace octet::cpu
