// kernels/cpu/fp4_panels_avx512_words.h — codes and activations as 16-bit words in AVX-512, for processors without
// VBMI.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/fp4_panels_avx512.h"

namespace octet::cpu {
namespace {

using Sum = Ints;
constexpr int64_t kColumnParts = 4;

inline Sum begin_sum(const int32_t*) { return _mm512_setzero_si512(); }

/// Part i holds columns i and i + 4 of every row: the i-th nibbles of its two 16-bit words. The table stands twice, for
/// the permutation looks at five bits of an index, the fifth of which belongs to another code.
template <class F>
inline void for_parts(const uint8_t* codes, const F& f) {
  const __m512i table =
      _mm512_broadcast_i64x4(_mm256_setr_epi16(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
  const __m512i c = _mm512_loadu_si512(codes);
  f(0, 0, _mm512_permutexvar_epi16(c, table));
  f(0, 4, _mm512_permutexvar_epi16(_mm512_srli_epi16(c, 4), table));
  f(0, 8, _mm512_permutexvar_epi16(_mm512_srli_epi16(c, 8), table));
  f(0, 12, _mm512_permutexvar_epi16(_mm512_srli_epi16(c, 12), table));
}

template <class F>
inline void for_expanded_parts(const Ints* in, const F& f) {
  for (int i = 0; i < 4; ++i) f(0, 4 * i, in[i]);
}

void prepare_group(const float* x, int64_t begin, int64_t k, uint8_t* out) {
  const Steps steps(x);
  const __m256i order = _mm256_setr_epi16(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  const __m256i pairs = _mm256_permutexvar_epi16(order, _mm512_cvtsepi32_epi16(steps.values));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + begin * 2), pairs);
  store_scale(steps.scale.step, begin, k, out);
}

}  // namespace
}  // namespace octet::cpu
