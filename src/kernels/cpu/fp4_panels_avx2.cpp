// The panels in AVX2 with FMA and F16C. Codes become floats by two byte lookups, of the upper two bytes of each float:
//
//   32 bytes of codes = 8 rows x 4 bytes; low nibbles are columns 0 2 4 6 of a row, high ones 1 3 5 7
//   lookups interleaved:  16-bit words (k0, k2, k4, k6) of rows 0 1 | 4 5 and 2 3 | 6 7
//   words as floats:      even words (k0, k4), odd words (k2, k6) of each row, side by side
//
// so an accumulator has two lanes a row, and activations come in pairs (0, 4) (2, 6) (1, 5) (3, 7).
#include <immintrin.h>

#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {
namespace {

using Vec = __m256;
constexpr int kVecs = 4;
constexpr int64_t kElementBytes = 4;
constexpr int64_t kExpandedBytes = 4;
constexpr int64_t kDirectTokens = 1;
constexpr int kDirectPanels = 1;
constexpr int kTileTokens = 2;

inline Vec zero() { return _mm256_setzero_ps(); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }

/// Accumulators v and v + 1, of 8 rows, for the nibbles in `codes`; their activations begin at `element`.
template <class F>
inline void expand_nibbles(__m256i codes, int v, int64_t element, const F& f) {
  // Third and fourth byte of the floats 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
  const __m256i third = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0, -128, -64, 0, 64, -128, -64, 0, 0, -128, -64, 0, 64, -128, -64));
  const __m256i fourth = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 63, 63, 63, 64, 64, 64, 64, -128, -65, -65, -65, -64, -64, -64, -64));
  const __m256i low = _mm256_shuffle_epi8(third, codes);
  const __m256i high = _mm256_shuffle_epi8(fourth, codes);
  const __m256i odd = _mm256_set1_epi32(static_cast<int32_t>(0xffff0000));
  const __m256i first = _mm256_unpacklo_epi8(low, high);
  f(v, element, _mm256_castsi256_ps(_mm256_slli_epi32(first, 16)));
  f(v, element + 8, _mm256_castsi256_ps(_mm256_and_si256(first, odd)));
  const __m256i second = _mm256_unpackhi_epi8(low, high);
  f(v + 1, element, _mm256_castsi256_ps(_mm256_slli_epi32(second, 16)));
  f(v + 1, element + 8, _mm256_castsi256_ps(_mm256_and_si256(second, odd)));
}

template <class F>
inline void for_parts(const uint8_t* codes, const F& f) {
  const __m256i nibble = _mm256_set1_epi8(15);
  for (int half = 0; half < 2; ++half) {
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes) + half);
    expand_nibbles(_mm256_and_si256(c, nibble), 2 * half, 0, f);
    expand_nibbles(_mm256_and_si256(_mm256_srli_epi16(c, 4), nibble), 2 * half, 16, f);
  }
}

template <class F>
inline void for_expanded_parts(const Vec* in, const F& f) {
  for (int half = 0; half < 2; ++half) {
    for (int nibble = 0; nibble < 2; ++nibble) {
      for (int i = 0; i < 4; ++i) f(2 * half + i / 2, 16 * nibble + i % 2 * 8, in[8 * half + 4 * nibble + i]);
    }
  }
}

inline Vec multiply_add(Vec w, const uint8_t* x, Vec sum) {
  double pair = 0;
  __builtin_memcpy(&pair, x, 8);
  return _mm256_fmadd_ps(w, _mm256_castpd_ps(_mm256_set1_pd(pair)), sum);
}

inline void scales_of_rows(__m256 scales, Vec* out) {
  out[0] = _mm256_unpacklo_ps(scales, scales);
  out[1] = _mm256_unpackhi_ps(scales, scales);
}

inline __m256 powers_of_two(__m128i bytes) {
  // 2^-127 is subnormal: the exponent 0 with the highest bit of the fraction.
  const __m256i exponents = _mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 23);
  return _mm256_castsi256_ps(_mm256_max_epu32(exponents, _mm256_set1_epi32(0x00400000)));
}

template <Fp4Format kFormat>
inline void load_scales(const uint8_t* p, Vec* out) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (kFormat == Fp4Format::nvfp4) {
    // As F16 numbers 2^-8 times as large (fp4_panels_avx512.h).
    const __m256i moved = _mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7);
    const __m256i half = _mm256_and_si256(moved, _mm256_set1_epi16(static_cast<int16_t>(0xbf80)));
    scales_of_rows(_mm256_cvtph_ps(_mm256_castsi256_si128(half)), out);
    scales_of_rows(_mm256_cvtph_ps(_mm256_extracti128_si256(half, 1)), out + 2);
  } else {
    scales_of_rows(powers_of_two(bytes), out);
    scales_of_rows(powers_of_two(_mm_srli_si128(bytes, 8)), out + 2);
  }
}

inline void store_rows(const Vec* sums, float* y) {
  _mm256_storeu_ps(y, _mm256_hadd_ps(sums[0], sums[1]));
  _mm256_storeu_ps(y + 8, _mm256_hadd_ps(sums[2], sums[3]));
}

void prepare(const float* x, int64_t k, uint8_t* out) {
  const __m256i order = _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);
  for (int64_t i = 0; i < k; i += 8) {
    float last[8] = {};
    const float* from = x + i;
    if (k - i < 8) {
      for (int64_t j = 0; j < k - i; ++j) last[j] = x[i + j];
      from = last;
    }
    _mm256_storeu_ps(reinterpret_cast<float*>(out + i * kElementBytes),
                     _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), order));
  }
}

uint64_t read(const uint8_t* p, int64_t bytes) {
  constexpr int kStreams = 4;
  constexpr int64_t kAhead = 2048;
  const int64_t part = bytes / kStreams;
  __m256i sum[kStreams] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                           _mm256_setzero_si256()};
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < kStreams; ++s) {
      const auto* at = reinterpret_cast<const __m256i*>(p + s * part + i);
      __builtin_prefetch(p + s * part + i + kAhead);
      sum[s] = _mm256_add_epi64(sum[s], _mm256_add_epi64(_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)));
    }
  }
  const __m256i all = _mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3]));
  uint64_t words[4];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), all);
  return words[0] + words[1] + words[2] + words[3];
}

}  // namespace
}  // namespace octet::cpu

// After the primitives, which it is written in.
#include "kernels/cpu/fp4_panels_impl.h"

namespace octet::cpu {
namespace {
constexpr PanelKernels kKernels = panel_table("avx2", 0.0f);
}  // namespace

const PanelKernels* avx2_panel_kernels() { return &kKernels; }

}  // namespace octet::cpu
