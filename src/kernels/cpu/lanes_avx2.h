// kernels/cpu/lanes_avx2.h — 16 floats in two AVX2 registers. The other lanes_*.h define the same names.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace octet::cpu {
namespace {

constexpr int kTileTokens = 1;  // token rows of a tile: 4 accumulators of two registers each leave room for the rest
constexpr int kSumColumns = 1;  // vectors of 16 columns that weighted_sum keeps for 4 token rows

struct Lanes {
  __m256 lo, hi;
};

inline Lanes zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline Lanes broadcast(float a) { return {_mm256_set1_ps(a), _mm256_set1_ps(a)}; }
inline Lanes load(const void* p) {
  const float* f = static_cast<const float*>(p);
  return {_mm256_loadu_ps(f), _mm256_loadu_ps(f + 8)};
}
inline void store(float* p, Lanes a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline Lanes add(Lanes a, Lanes b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline Lanes sub(Lanes a, Lanes b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline Lanes mul(Lanes a, Lanes b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Lanes div(Lanes a, Lanes b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
/// a * b + c.
inline Lanes fma(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
/// The larger or smaller; b where either is NaN.
inline Lanes max(Lanes a, Lanes b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Lanes min(Lanes a, Lanes b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
/// Nearest integer, ties to even.
inline Lanes nearest(Lanes a) {
  constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
}

inline __m256 scale_by_power(__m256 a, __m256 n) {
  // Two factors, because 2^n alone may lie outside the normal numbers. The first product is exact.
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(whole, 1);
  const __m256i rest = _mm256_sub_epi32(whole, half);
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256 f = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const __m256 g = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return _mm256_mul_ps(_mm256_mul_ps(a, f), g);
}
/// a * 2^n for integral n in [-250, 250].
inline Lanes scale_by_power(Lanes a, Lanes n) { return {scale_by_power(a.lo, n.lo), scale_by_power(a.hi, n.hi)}; }

inline __m256 widen_bf16(__m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

inline Lanes load_bf16(const uint8_t* p) {
  const __m128i* bits = reinterpret_cast<const __m128i*>(p);
  return {widen_bf16(_mm_loadu_si128(bits)), widen_bf16(_mm_loadu_si128(bits + 1))};
}

inline Lanes load_f16(const uint8_t* p) {
  const __m128i* bits = reinterpret_cast<const __m128i*>(p);
  return {_mm256_cvtph_ps(_mm_loadu_si128(bits)), _mm256_cvtph_ps(_mm_loadu_si128(bits + 1))};
}

/// Values of 16 E2M1 codes in 8 bytes, the low nibble first.
inline Lanes load_e2m1(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m128i nibble = _mm_set1_epi8(15);
  const __m128i low = _mm_and_si128(bytes, nibble);
  const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
  const __m128i doubled = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  const __m128i twice = _mm_shuffle_epi8(doubled, _mm_unpacklo_epi8(low, high));
  const __m256 half = _mm256_set1_ps(0.5f);
  return {_mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(twice)), half),
          _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(twice, 8))), half)};
}

/// out[0..4) = sums over the lanes of a, b, c, d, in the tree of cpu_kernels.h.
inline void sums(Lanes a, Lanes b, Lanes c, Lanes d, float* out) {
  const __m256 a8 = _mm256_add_ps(a.lo, a.hi);
  const __m256 b8 = _mm256_add_ps(b.lo, b.hi);
  const __m256 c8 = _mm256_add_ps(c.lo, c.hi);
  const __m256 d8 = _mm256_add_ps(d.lo, d.hi);
  const __m256 ab = _mm256_add_ps(_mm256_permute2f128_ps(a8, b8, 0x20), _mm256_permute2f128_ps(a8, b8, 0x31));
  const __m256 cd = _mm256_add_ps(_mm256_permute2f128_ps(c8, d8, 0x20), _mm256_permute2f128_ps(c8, d8, 0x31));
  // [a c | b d], two partial sums each.
  const __m256 h = _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
  const __m256 s = _mm256_add_ps(h, _mm256_permute_ps(h, 0xb1));
  const __m128 ac = _mm256_castps256_ps128(s);
  const __m128 bd = _mm256_extractf128_ps(s, 1);
  const __m128 acbd = _mm_shuffle_ps(ac, bd, 0x88);
  _mm_storeu_ps(out, _mm_permute_ps(acbd, 0xd8));
}

}  // namespace
}  // namespace octet::cpu
