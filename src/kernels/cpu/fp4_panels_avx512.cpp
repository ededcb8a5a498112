// The panels in AVX-512.
#include <immintrin.h>

#include "kernels/cpu/fp4_panels.h"
// After the header, in which the constants are.
#include "kernels/cpu/fp4_panels_avx512_words.h"

namespace octet::cpu {
namespace {

inline Ints multiply_add(Ints w, const uint8_t* x, Ints sum) {
  return _mm512_add_epi32(sum, _mm512_madd_epi16(w, four_bytes(x)));
}

}  // namespace
}  // namespace octet::cpu

// After the primitives, which it is written in.
#include "kernels/cpu/fp4_panels_impl.h"

namespace octet::cpu {
namespace {
constexpr PanelKernels kKernels = panel_table("avx512");
}  // namespace

const PanelKernels* avx512_panel_kernels() { return &kKernels; }

}  // namespace octet::cpu
