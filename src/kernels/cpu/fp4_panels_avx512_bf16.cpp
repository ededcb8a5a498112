// The panels in AVX-512 with BF16: codes become bf16 by a table lookup, two columns of k meet in one dot product.
#include <immintrin.h>

#include "kernels/cpu/fp4_panels.h"
// After the header, in which the constants are.
#include "kernels/cpu/fp4_panels_avx512.h"

namespace octet::cpu {
namespace {

constexpr int64_t kElementBytes = 2;
constexpr int64_t kExpandedBytes = 2;

/// bf16 of the 16 codes, twice: the permutation looks at five bits of an index, the fifth belongs to another code.
inline __m512i code_table() {
  const __m256i values = _mm256_setr_epi16(0, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0,
                                           static_cast<int16_t>(0x8000), static_cast<int16_t>(0xbf00),
                                           static_cast<int16_t>(0xbf80), static_cast<int16_t>(0xbfc0),
                                           static_cast<int16_t>(0xc000), static_cast<int16_t>(0xc040),
                                           static_cast<int16_t>(0xc080), static_cast<int16_t>(0xc0c0));
  return _mm512_broadcast_i64x4(values);
}

/// Part i holds columns i and i + 4 of every row, the i-th nibbles of its two 16-bit words.
template <class F>
inline void for_parts(const uint8_t* codes, const F& f) {
  const __m512i table = code_table();
  const __m512i c = _mm512_loadu_si512(codes);
  f(0, 0, _mm512_castsi512_ps(_mm512_permutexvar_epi16(c, table)));
  f(0, 4, _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_srli_epi16(c, 4), table)));
  f(0, 8, _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_srli_epi16(c, 8), table)));
  f(0, 12, _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_srli_epi16(c, 12), table)));
}

template <class F>
inline void for_expanded_parts(const Vec* in, const F& f) {
  for (int i = 0; i < 4; ++i) f(0, 4 * i, in[i]);
}

inline Vec multiply_add(Vec w, const uint8_t* x, Vec sum) {
  int32_t pair = 0;
  __builtin_memcpy(&pair, x, 4);
  return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, w), __builtin_bit_cast(__m512bh, _mm512_set1_epi32(pair)));
}

void prepare(const float* x, int64_t k, uint8_t* out) {
  const __m256i order = _mm256_setr_epi16(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
  for (int64_t i = 0; i < k; i += 16) {
    const auto here = static_cast<__mmask16>(k - i < 16 ? (1u << (k - i)) - 1 : 0xffffu);
    const __m256i bits = __builtin_bit_cast(__m256i, _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(here, x + i)));
    const __m256i pairs = _mm256_permutexvar_epi16(order, bits);
    if (k - i > 8) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * kElementBytes), pairs);
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * kElementBytes), _mm256_castsi256_si128(pairs));
    }
  }
}

}  // namespace
}  // namespace octet::cpu

// After the primitives, which it is written in.
#include "kernels/cpu/fp4_panels_impl.h"

namespace octet::cpu {
namespace {
constexpr PanelKernels kKernels = panel_table("avx512_bf16", 0x1p-8f);
}  // namespace

const PanelKernels* avx512_bf16_panel_kernels() { return &kKernels; }

}  // namespace octet::cpu
