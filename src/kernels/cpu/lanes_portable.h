// kernels/cpu/lanes_portable.h — 16 floats in an array, for machines without AVX2 and for other architectures. The
// other lanes_*.h define the same names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::cpu {
namespace {

constexpr int kTileTokens = 1;  // token rows of a tile
constexpr int kSumColumns = 1;  // vectors of 16 columns that weighted_sum keeps for 4 token rows

struct Lanes {
  float v[16];
};

template <class F>
inline Lanes lanes_of(F f) {
  Lanes r;
  for (int i = 0; i < 16; ++i) r.v[i] = f(i);
  return r;
}

inline Lanes broadcast(float a) {
  return lanes_of([&](int) { return a; });
}
inline Lanes zero() { return broadcast(0.0f); }
inline Lanes load(const void* p) {
  Lanes r;
  __builtin_memcpy(r.v, p, sizeof(r.v));
  return r;
}
inline void store(float* p, Lanes a) { __builtin_memcpy(p, a.v, sizeof(a.v)); }
inline Lanes add(const Lanes& a, const Lanes& b) {
  return lanes_of([&](int i) { return a.v[i] + b.v[i]; });
}
inline Lanes sub(const Lanes& a, const Lanes& b) {
  return lanes_of([&](int i) { return a.v[i] - b.v[i]; });
}
inline Lanes mul(const Lanes& a, const Lanes& b) {
  return lanes_of([&](int i) { return a.v[i] * b.v[i]; });
}
inline Lanes div(const Lanes& a, const Lanes& b) {
  return lanes_of([&](int i) { return a.v[i] / b.v[i]; });
}
/// a * b + c, rounded twice: a fused operation would be a library call on a machine without it.
inline Lanes fma(const Lanes& a, const Lanes& b, const Lanes& c) {
  return lanes_of([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
}
/// The larger or smaller; b where either is NaN.
inline Lanes max(const Lanes& a, const Lanes& b) {
  return lanes_of([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline Lanes min(const Lanes& a, const Lanes& b) {
  return lanes_of([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
/// Nearest integer, ties to even, for |a| below 2^22: adding 1.5 * 2^23 leaves no bits for a fraction.
inline Lanes nearest(const Lanes& a) {
  return lanes_of([&](int i) { return (a.v[i] + 12582912.0f) - 12582912.0f; });
}

inline float from_bits(uint32_t bits) {
  float f = 0;
  __builtin_memcpy(&f, &bits, sizeof(f));
  return f;
}

/// a * 2^n for integral n in [-250, 250]; NaN where a is NaN. In two factors, because 2^n alone may lie outside the
/// normal numbers. The first product is exact.
inline Lanes scale_by_power(const Lanes& a, const Lanes& n) {
  return lanes_of([&](int i) {
    if (!(n.v[i] >= -250.0f && n.v[i] <= 250.0f)) return a.v[i];  // only where n and a are NaN
    const int32_t whole = static_cast<int32_t>(n.v[i]);
    const int32_t half = whole >> 1;
    const float f = from_bits(static_cast<uint32_t>(half + 127) << 23);
    const float g = from_bits(static_cast<uint32_t>(whole - half + 127) << 23);
    return a.v[i] * f * g;
  });
}

inline uint32_t half_at(const uint8_t* p, int i) {
  uint16_t bits = 0;
  __builtin_memcpy(&bits, p + 2 * i, sizeof(bits));
  return bits;
}

inline Lanes load_bf16(const uint8_t* p) {
  return lanes_of([&](int i) { return from_bits(half_at(p, i) << 16); });
}

inline float f16_to_float(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t rest = bits & 0x7fffu;
  // The exponent's bias changes by 112, for infinity and NaN by twice as much; subnormals are multiples of 2^-24.
  if (rest >= 0x7c00u) return from_bits(sign | ((rest << 13) + (224u << 23)));
  if (rest >= 0x0400u) return from_bits(sign | ((rest << 13) + (112u << 23)));
  const float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

inline Lanes load_f16(const uint8_t* p) {
  return lanes_of([&](int i) { return f16_to_float(half_at(p, i)); });
}

constexpr float kE2m1Values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                   -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

/// Values of 16 E2M1 codes in 8 bytes, the low nibble first.
inline Lanes load_e2m1(const uint8_t* p) {
  return lanes_of([&](int i) { return kE2m1Values[(p[i / 2] >> (i % 2 * 4)) & 15]; });
}

inline float sum(const Lanes& a) {
  float s[8];
  for (int i = 0; i < 8; ++i) s[i] = a.v[i] + a.v[i + 8];
  for (int i = 0; i < 4; ++i) s[i] = s[i] + s[i + 4];
  return (s[0] + s[2]) + (s[1] + s[3]);
}

/// out[0..4) = sums over the lanes of a, b, c, d, in the tree of cpu_kernels.h.
inline void sums(const Lanes& a, const Lanes& b, const Lanes& c, const Lanes& d, float* out) {
  out[0] = sum(a);
  out[1] = sum(b);
  out[2] = sum(c);
  out[3] = sum(d);
}

}  // namespace
}  // namespace octet::cpu
