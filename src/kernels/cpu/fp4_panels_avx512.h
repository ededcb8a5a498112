// kernels/cpu/fp4_panels_avx512.h — primitives that the AVX-512 panels share, with BF16 or without.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {
namespace {

using Vec = __m512;
constexpr int kVecs = 1;
constexpr int64_t kDirectTokens = 4;
constexpr int kDirectPanels = 4;
constexpr int kTileTokens = 8;

inline Vec zero() { return _mm512_setzero_ps(); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline void store_rows(const Vec* sums, float* y) { _mm512_storeu_ps(y, sums[0]); }

template <Fp4Format kFormat>
inline void load_scales(const uint8_t* p, Vec* out) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (kFormat == Fp4Format::nvfp4) {
    // The bits of an E4M3 number, moved up by 7, are the F16 number 2^-8 times as large, subnormal ones included; the
    // mask drops copies of the sign.
    const __m256i moved = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    const __m256i half = _mm256_and_si256(moved, _mm256_set1_epi16(static_cast<int16_t>(0xbf80)));
    out[0] = _mm512_cvtph_ps(half);
  } else {
    // 2^-127 is subnormal: the exponent 0 with the highest bit of the fraction.
    const __m512i exponents = _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23);
    out[0] = _mm512_castsi512_ps(_mm512_max_epu32(exponents, _mm512_set1_epi32(0x00400000)));
  }
}

uint64_t read(const uint8_t* p, int64_t bytes) {
  constexpr int kStreams = 4;
  constexpr int64_t kAhead = 2048;
  const int64_t part = bytes / kStreams;
  __m512i sum[kStreams] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                           _mm512_setzero_si512()};
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < kStreams; ++s) {
      __builtin_prefetch(p + s * part + i + kAhead);
      sum[s] = _mm512_add_epi64(sum[s], _mm512_loadu_si512(p + s * part + i));
    }
  }
  const __m512i all = _mm512_add_epi64(_mm512_add_epi64(sum[0], sum[1]), _mm512_add_epi64(sum[2], sum[3]));
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(all));
}

}  // namespace
}  // namespace octet::cpu
