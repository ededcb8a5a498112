// The panels in AVX-512 with VBMI and VNNI. Codes become the bytes 2 * value + 12, which have no sign, and activations
// two signed bytes, so that one instruction multiplies and adds four columns:
//
//   Σ 2 value * x  =  256 * Σ byte * upper(x)  +  Σ byte * lower(x)  -  12 * Σ x
//
// The last term, the same for all rows, is where a group's sum begins. Of the instructions, a byte lookup needs no mask
// and, for low nibbles, no shift: 7 for 128 weights and a token, where 16-bit words take 11.
#include <immintrin.h>

#include "kernels/cpu/fp4_panels.h"
// After the header, in which the constants are.
#include "kernels/cpu/fp4_panels_avx512.h"

namespace octet::cpu {
namespace {

constexpr int64_t kColumnParts = 2;
constexpr int32_t kCodeOffset = 12;

struct Sum {
  __m512i lower, upper;
};

inline Sum begin_sum(const int32_t* correction) { return {_mm512_set1_epi32(*correction), _mm512_setzero_si512()}; }

inline Floats scale_add(const Sum& sum, Floats scales, Floats total) {
  return scale_add(_mm512_add_epi32(_mm512_slli_epi32(sum.upper, 8), sum.lower), scales, total);
}

/// The low nibbles of every row, columns 0 2 4 6, then the high ones, 1 3 5 7. The lookup sees six bits of an index, so
/// the table stands four times.
template <class F>
inline void for_parts(const uint8_t* codes, const F& f) {
  const __m512i table =
      _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
  const __m512i c = _mm512_loadu_si512(codes);
  f(0, 0, _mm512_permutexvar_epi8(c, table));
  f(0, 8, _mm512_permutexvar_epi8(_mm512_srli_epi16(c, 4), table));
}

template <class F>
inline void for_expanded_parts(const Ints* in, const F& f) {
  f(0, 0, in[0]);
  f(0, 8, in[1]);
}

inline Sum multiply_add(Ints w, const uint8_t* x, const Sum& sum) {
  return {_mm512_dpbusd_epi32(sum.lower, w, four_bytes(x + 4)), _mm512_dpbusd_epi32(sum.upper, w, four_bytes(x))};
}

void prepare_group(const float* x, int64_t begin, int64_t k, uint8_t* out) {
  const Steps steps(x);
  const __m512i upper = _mm512_srai_epi32(_mm512_add_epi32(steps.values, _mm512_set1_epi32(128)), 8);
  const __m512i lower = _mm512_sub_epi32(steps.values, _mm512_slli_epi32(upper, 8));
  const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
  const __m128i uppers = _mm_shuffle_epi8(_mm512_cvtepi32_epi8(upper), order);
  const __m128i lowers = _mm_shuffle_epi8(_mm512_cvtepi32_epi8(lower), order);
  __m128i* to = reinterpret_cast<__m128i*>(out + begin * 2);
  _mm_storeu_si128(to, _mm_unpacklo_epi32(uppers, lowers));
  _mm_storeu_si128(to + 1, _mm_unpackhi_epi32(uppers, lowers));
  store_scale(steps.scale.step, begin, k, out);
  const int32_t correction = -kCodeOffset * _mm512_reduce_add_epi32(steps.values);
  __builtin_memcpy(out + prepared_corrections(k) + begin / kActivationGroup * 4, &correction, 4);
}

}  // namespace
}  // namespace octet::cpu

// After the primitives, which it is written in.
#include "kernels/cpu/fp4_panels_impl.h"

namespace octet::cpu {
namespace {
constexpr PanelKernels kKernels = panel_table("avx512_vbmi");
}  // namespace

const PanelKernels* avx512_vbmi_panel_kernels() { return &kKernels; }

}  // namespace octet::cpu
