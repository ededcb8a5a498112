// kernels/cpu/lanes_avx512.h — 16 floats in one AVX-512 register. The other lanes_*.h define the same names.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace octet::cpu {
namespace {

constexpr int kTileTokens =
    4;  // token rows of a tile: 4 x 4 accumulators, 4 weights and an activation fit 32 registers
constexpr int kSumColumns = 2;  // vectors of 16 columns that weighted_sum keeps for 4 token rows

struct Lanes {
  __m512 v;
};

inline Lanes zero() { return {_mm512_setzero_ps()}; }
inline Lanes broadcast(float a) { return {_mm512_set1_ps(a)}; }
inline Lanes load(const void* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Lanes a) { _mm512_storeu_ps(p, a.v); }
inline Lanes add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Lanes sub(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Lanes mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Lanes div(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
/// a * b + c.
inline Lanes fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
/// The larger or smaller; b where either is NaN.
inline Lanes max(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Lanes min(Lanes a, Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }
/// Nearest integer, ties to even.
inline Lanes nearest(Lanes a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
/// a * 2^n for integral n.
inline Lanes scale_by_power(Lanes a, Lanes n) { return {_mm512_scalef_ps(a.v, n.v)}; }

inline Lanes load_bf16(const uint8_t* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}

inline Lanes load_f16(const uint8_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}

/// Values of 16 E2M1 codes in 8 bytes, the low nibble first.
inline Lanes load_e2m1(const uint8_t* p) {
  int32_t first = 0, second = 0;
  __builtin_memcpy(&first, p, 4);
  __builtin_memcpy(&second, p + 4, 4);
  const __m512i words = _mm512_mask_set1_epi32(_mm512_set1_epi32(first), 0xff00, second);
  const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  const __m512 values = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f, -1.5f,
                                       -2.0f, -3.0f, -4.0f, -6.0f);
  // The permutation looks at the lowest four bits of each index only.
  return {_mm512_permutexvar_ps(_mm512_srlv_epi32(words, shifts), values)};
}

/// out[0..4) = sums over the lanes of a, b, c, d, in the tree of cpu_kernels.h.
inline void sums(Lanes a, Lanes b, Lanes c, Lanes d, float* out) {
  const __m512 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a.v, b.v, 0x44), _mm512_shuffle_f32x4(a.v, b.v, 0xee));
  const __m512 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c.v, d.v, 0x44), _mm512_shuffle_f32x4(c.v, d.v, 0xee));
  // One quarter of the register for each of a, b, c, d.
  const __m512 q = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
  const __m512 h = _mm512_add_ps(q, _mm512_permute_ps(q, 0x4e));
  const __m512 s = _mm512_add_ps(h, _mm512_permute_ps(h, 0xb1));
  const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  _mm_storeu_ps(out, _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, s)));
}

}  // namespace
}  // namespace octet::cpu
