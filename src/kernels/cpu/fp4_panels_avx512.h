// kernels/cpu/fp4_panels_avx512.h — primitives that all AVX-512 panels share.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/fp4_group_scale.h"
#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {
namespace {

using Ints = __m512i;
using Floats = __m512;
constexpr int kVecs = 1;
constexpr int64_t kDirectTokens = 4;
constexpr int kDirectPanels = 2;
constexpr int kTileTokens = 8;

inline Floats fill(float a) { return _mm512_set1_ps(a); }
inline Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline void store(float* p, Floats a) { _mm512_storeu_ps(p, a); }
inline Floats scale_add(Ints sum, Floats scales, Floats total) {
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scales, total);
}

/// The same four bytes in every row.
inline Ints four_bytes(const uint8_t* x) {
  int32_t bytes = 0;
  __builtin_memcpy(&bytes, x, 4);
  return _mm512_set1_epi32(bytes);
}

/// 16 activations as whole numbers of steps.
struct Steps {
  explicit Steps(const float* x) : Steps(_mm512_loadu_ps(x)) {}
  // Bits of magnitudes compare like integers, with NaN above all.
  explicit Steps(__m512 x)
      : scale(_mm512_reduce_max_epi32(_mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)))),
        // Not NaN or infinity times zero: those convert to -2^31, which does not fit what follows.
        values(_mm512_maskz_cvtps_epi32(scale.steps > 0 ? 0xffff : 0, _mm512_mul_ps(x, _mm512_set1_ps(scale.steps)))) {}
  GroupScale scale;
  __m512i values;
};

template <Fp4Format kFormat>
inline void load_scales(const uint8_t* p, Floats* out) {
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

template <int kStreams>
uint64_t read_streams(const uint8_t* p, int64_t bytes) {
  const int64_t part = bytes / kStreams;
  __m512i sum[kStreams];
  for (__m512i& v : sum) v = _mm512_setzero_si512();
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < kStreams; ++s) {
      __builtin_prefetch(p + s * part + i + kReadAheadBytes);
      sum[s] = _mm512_add_epi64(sum[s], _mm512_loadu_si512(p + s * part + i));
    }
  }
  for (int s = 1; s < kStreams; ++s) sum[0] = _mm512_add_epi64(sum[0], sum[s]);
  return static_cast<uint64_t>(_mm512_reduce_add_epi64(sum[0]));
}

uint64_t read(const uint8_t* p, int64_t bytes, int32_t streams) {
  if (streams == 1) return read_streams<1>(p, bytes);
  return streams == 2 ? read_streams<2>(p, bytes) : read_streams<4>(p, bytes);
}

}  // namespace
}  // namespace octet::cpu
