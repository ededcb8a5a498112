// The panels in AVX-512 without BF16: codes become floats by a table lookup, one fused multiply-add a column of k.
#include <immintrin.h>

#include "kernels/cpu/fp4_panels.h"
// After the header, in which the constants are.
#include "kernels/cpu/fp4_panels_avx512.h"

namespace octet::cpu {
namespace {

constexpr int64_t kElementBytes = 4;
constexpr int64_t kExpandedBytes = 4;

inline Vec lookup(__m512i codes) {
  const Vec values = _mm512_setr_ps(0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, -0.0f, -0.5f, -1.0f, -1.5f, -2.0f,
                                    -3.0f, -4.0f, -6.0f);
  return _mm512_permutexvar_ps(codes, values);  // looks at the lowest four bits only
}

/// Part i holds column i of every row.
template <class F>
inline void for_parts(const uint8_t* codes, const F& f) {
  const __m512i c = _mm512_loadu_si512(codes);
  f(0, 0, lookup(c));
  f(0, 4, lookup(_mm512_srli_epi32(c, 4)));
  f(0, 8, lookup(_mm512_srli_epi32(c, 8)));
  f(0, 12, lookup(_mm512_srli_epi32(c, 12)));
  f(0, 16, lookup(_mm512_srli_epi32(c, 16)));
  f(0, 20, lookup(_mm512_srli_epi32(c, 20)));
  f(0, 24, lookup(_mm512_srli_epi32(c, 24)));
  f(0, 28, lookup(_mm512_srli_epi32(c, 28)));
}

template <class F>
inline void for_expanded_parts(const Vec* in, const F& f) {
  for (int i = 0; i < 8; ++i) f(0, 4 * i, in[i]);
}

inline Vec multiply_add(Vec w, const uint8_t* x, Vec sum) {
  float value = 0;
  __builtin_memcpy(&value, x, 4);
  return _mm512_fmadd_ps(w, _mm512_set1_ps(value), sum);
}

void prepare(const float* x, int64_t k, uint8_t* out) {
  for (int64_t i = 0; i < k; i += 8) {
    const auto here = static_cast<__mmask8>(k - i < 8 ? (1u << (k - i)) - 1 : 0xffu);
    _mm256_storeu_ps(reinterpret_cast<float*>(out + i * kElementBytes), _mm256_maskz_loadu_ps(here, x + i));
  }
}

}  // namespace
}  // namespace octet::cpu

// After the primitives, which it is written in.
#include "kernels/cpu/fp4_panels_impl.h"

namespace octet::cpu {
namespace {
constexpr PanelKernels kKernels = panel_table("avx512", 0.0f);
}  // namespace

const PanelKernels* avx512_panel_kernels() { return &kKernels; }

}  // namespace octet::cpu
