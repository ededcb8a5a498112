// kernels/cpu/fp4_pack.h — FP4 weights repacked into the panels of fp4_panels.h, and back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/fp4_panels.h"
#include "numerics/weight.h"
#include "tensor/device_info.h"

namespace octet::cpu {

/// The panels' name for a format: NVFP4 and MXFP4 in their published block sizes; nullopt for any other.
std::optional<Fp4Format> panel_format(const WeightFormat& format);

/// The best panel kernels for a processor with these features; nullptr if there are none (AVX2 with FMA is the least).
const PanelKernels* panel_kernels_for(const CpuFeatures& features);

/// Panels of one weight: a multiple of 16 rows.
constexpr int64_t num_panels(int64_t n) { return (n + kPanelRows - 1) / kPanelRows; }

/// Writes rows [16 p, 16 p + 16) of w for p = 0, 1, ... to out, out + stride, ... A stride of two panels interleaves
/// two weights.
/// w       of a format that panel_format() knows; pointers need no alignment
/// out     panel_bytes(format, K) each, overwritten; rows and columns that w does not have become zero
void pack_panels(const WeightView& w, uint8_t* out, int64_t stride);

/// The exact inverse: codes [N, ceil(K / 2)] and scales [N, ceil(K / group)] as they were. K may be odd: the nibble
/// beyond it is 0.
void unpack_panels(Fp4Format format, int64_t n, int64_t k, const uint8_t* panels, int64_t stride, std::byte* codes,
                   std::byte* scales);

/// What the panels' sums of one weight still lack.
struct PanelFinish {
  float factor = 1.0f;      // global scale, and what the kernels' form of the scales leaves out
  std::vector<float> bias;  // [N], or empty; NaN where a row has a NaN scale, which the panels take for a number
};

PanelFinish panel_finish(const WeightView& w);

/// y[i] = factor * y[i] + bias[begin + i] for i in [0, count).
void finish_rows(const PanelFinish& finish, int64_t begin, int64_t count, float* y);

}  // namespace octet::cpu
