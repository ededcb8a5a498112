// The panels in AVX2 with FMA and F16C. Codes become bytes by a lookup and 16-bit words by a shift or a mask:
//
//   32 bytes of codes = 8 rows x 4 bytes; low nibbles are columns 0 2 4 6 of a row, high ones 1 3 5 7
//   bytes moved up:  columns (0, 4) or (1, 5) of each row as words, times 256
//   bytes masked:    columns (2, 6) or (3, 7)
//
// The factor of 256 is taken back with the activations' scales; sums of 16 columns keep below 2^31 (12 * 256 * 32767 *
// 16).
#include <immintrin.h>

#include "kernels/cpu/fp4_group_scale.h"
#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {
namespace {

using Ints = __m256i;
using Floats = __m256;
using Sum = Ints;
constexpr int kVecs = 2;
constexpr int64_t kColumnParts = 8;
constexpr int64_t kDirectTokens = 2;
constexpr int kDirectPanels = 2;
constexpr int kTileTokens = 2;

inline Sum begin_sum(const int32_t*) { return _mm256_setzero_si256(); }
inline Floats fill(float a) { return _mm256_set1_ps(a); }
inline Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline void store(float* p, Floats a) { _mm256_storeu_ps(p, a); }
inline Floats scale_add(Ints sum, Floats scales, Floats total) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scales, total);
}

/// Parts of the nibbles in `codes` for the rows of register v: activations at `first` and first + 8.
template <class F>
inline void expand_nibbles(__m256i codes, int v, int64_t first, const F& f) {
  const __m256i table =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12));
  const __m256i bytes = _mm256_shuffle_epi8(table, codes);
  f(v, first, _mm256_slli_epi16(bytes, 8));
  f(v, first + 8, _mm256_and_si256(bytes, _mm256_set1_epi16(static_cast<int16_t>(0xff00))));
}

template <class F>
inline void for_parts(const uint8_t* codes, const F& f) {
  const __m256i nibble = _mm256_set1_epi8(15);
  for (int v = 0; v < 2; ++v) {
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes) + v);
    expand_nibbles(_mm256_and_si256(c, nibble), v, 0, f);
    expand_nibbles(_mm256_and_si256(_mm256_srli_epi16(c, 4), nibble), v, 4, f);
  }
}

template <class F>
inline void for_expanded_parts(const Ints* in, const F& f) {
  constexpr int64_t kActivations[] = {0, 8, 4, 12};
  for (int v = 0; v < 2; ++v) {
    for (int i = 0; i < 4; ++i) f(v, kActivations[i], in[4 * v + i]);
  }
}

inline Ints multiply_add(Ints w, const uint8_t* x, Ints sum) {
  int32_t pair = 0;
  __builtin_memcpy(&pair, x, 4);
  return _mm256_add_epi32(sum, _mm256_madd_epi16(w, _mm256_set1_epi32(pair)));
}

inline __m256 powers_of_two(__m128i bytes) {
  // 2^-127 is subnormal: the exponent 0 with the highest bit of the fraction.
  const __m256i exponents = _mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 23);
  return _mm256_castsi256_ps(_mm256_max_epu32(exponents, _mm256_set1_epi32(0x00400000)));
}

template <Fp4Format kFormat>
inline void load_scales(const uint8_t* p, Floats* out) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (kFormat == Fp4Format::nvfp4) {
    // As F16 numbers 2^-8 times as large (fp4_panels_avx512.h).
    const __m256i moved = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    const __m256i half = _mm256_and_si256(moved, _mm256_set1_epi16(static_cast<int16_t>(0xbf80)));
    out[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(half));
    out[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1));
  } else {
    out[0] = powers_of_two(bytes);
    out[1] = powers_of_two(_mm_srli_si128(bytes, 8));
  }
}

inline int32_t largest(__m256i a) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
  return _mm_cvtsi128_si32(m);
}

void prepare_group(const float* x, int64_t begin, int64_t k, uint8_t* out) {
  const __m256 low = _mm256_loadu_ps(x);
  const __m256 high = _mm256_loadu_ps(x + 8);
  // Bits of magnitudes compare like integers, with NaN above all.
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  const GroupScale scale(largest(_mm256_max_epi32(_mm256_and_si256(_mm256_castps_si256(low), magnitude),
                                                  _mm256_and_si256(_mm256_castps_si256(high), magnitude))));
  const __m256 steps = _mm256_set1_ps(scale.steps);
  const __m256i words =
      _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(low, steps)), _mm256_cvtps_epi32(_mm256_mul_ps(high, steps)));
  // Columns 0-3 8-11 | 4-7 12-15: a column and the fourth after it lie in the same place of the two halves.
  const __m128i first = _mm256_castsi256_si128(words);
  const __m128i fourth = _mm256_extracti128_si256(words, 1);
  __m128i* to = reinterpret_cast<__m128i*>(out + begin * 2);
  _mm_storeu_si128(to, _mm_unpacklo_epi16(first, fourth));
  _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(first, fourth));
  store_scale(scale.step * 0x1p-8f, begin, k, out);  // for_parts gives 256 times the codes
}

template <int kStreams>
uint64_t read_streams(const uint8_t* p, int64_t bytes) {
  const int64_t part = bytes / kStreams;
  __m256i sum[kStreams];
  for (__m256i& v : sum) v = _mm256_setzero_si256();
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < kStreams; ++s) {
      const auto* at = reinterpret_cast<const __m256i*>(p + s * part + i);
      __builtin_prefetch(p + s * part + i + kReadAheadBytes);
      sum[s] = _mm256_add_epi64(sum[s], _mm256_add_epi64(_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)));
    }
  }
  for (int s = 1; s < kStreams; ++s) sum[0] = _mm256_add_epi64(sum[0], sum[s]);
  uint64_t words[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), sum[0]);
  return words[0] + words[1] + words[2] + words[3];
}

uint64_t read(const uint8_t* p, int64_t bytes, int32_t streams) {
  if (streams == 1) return read_streams<1>(p, bytes);
  return streams == 2 ? read_streams<2>(p, bytes) : read_streams<4>(p, bytes);
}

}  // namespace
}  // namespace octet::cpu

// After the primitives, which it is written in.
#include "kernels/cpu/fp4_panels_impl.h"

namespace octet::cpu {
namespace {
constexpr PanelKernels kKernels = panel_table("avx2");
}  // namespace

const PanelKernels* avx2_panel_kernels() { return &kKernels; }

}  // namespace octet::cpu
