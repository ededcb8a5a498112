#include "kernels/cpu/fp4_pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "numerics/dequantize.h"

namespace octet::cpu {
namespace {

constexpr int64_t kWordBytes = kPanelColumns / 2;  // one row's codes in a column

/// The `bytes` bytes at p from `at` on, as many as `want`; zeros beyond.
void copy_padded(const std::byte* p, int64_t bytes, int64_t at, int64_t want, uint8_t* out) {
  const int64_t count = std::clamp<int64_t>(bytes - at, 0, want);
  if (count > 0) std::memcpy(out, p + at, static_cast<size_t>(count));
  if (count < want) std::memset(out + count, 0, static_cast<size_t>(want - count));
}

/// One row of a weight into lane `lane` of a panel.
void pack_row(const WeightView& w, Fp4Format format, int64_t row, int64_t lane, uint8_t* panel) {
  const std::byte* codes = w.codes + row * w.code_row_bytes;
  const std::byte* scales = w.scales + row * w.scale_row_bytes;
  const int64_t code_bytes = (w.k + 1) / 2;
  const int64_t num_scales = (w.k + group_columns(format) - 1) / group_columns(format);
  const int64_t columns = kPanelBlock / kPanelColumns;
  const int64_t groups = kPanelBlock / group_columns(format);
  for (int64_t b = 0; b < panel_blocks(w.k); ++b, panel += block_bytes(format)) {
    for (int64_t c = 0; c < columns; ++c) {
      uint8_t* out = panel + c * kColumnBytes + lane * kWordBytes;
      copy_padded(codes, code_bytes, (b * columns + c) * kWordBytes, kWordBytes, out);
      // An odd number of columns leaves half a byte that belongs to none.
      const int64_t last = w.k - (b * columns + c) * kPanelColumns;
      if (last > 0 && last < kPanelColumns && last % 2 == 1) out[last / 2] &= 15;
    }
    for (int64_t g = 0; g < groups; ++g) {
      copy_padded(scales, num_scales, b * groups + g, 1, panel + kBlockCodeBytes + g * kPanelRows + lane);
    }
  }
}

bool is_nan_scale(Fp4Format format, uint8_t scale) {
  return format == Fp4Format::nvfp4 ? (scale & 0x7f) == 0x7f : scale == 0xff;
}

bool has_nan_scale(const WeightView& w, Fp4Format format, int64_t row) {
  const auto* scales = reinterpret_cast<const uint8_t*>(w.scales + row * w.scale_row_bytes);
  const int64_t count = (w.k + group_columns(format) - 1) / group_columns(format);
  return std::any_of(scales, scales + count, [&](uint8_t scale) { return is_nan_scale(format, scale); });
}

}  // namespace

std::optional<Fp4Format> panel_format(const WeightFormat& f) {
  if (f.code != CodeType::fp4_e2m1 || f.block_rows != 1 || f.zero_points || f.permuted) return std::nullopt;
  if (f.scale == ScaleType::e4m3 && f.block_columns == 16) return Fp4Format::nvfp4;
  if (f.scale == ScaleType::e8m0 && f.block_columns == 32) return Fp4Format::mxfp4;
  return std::nullopt;
}

const PanelKernels* panel_kernels_for(const CpuFeatures& features) {
  if (features.avx512_vbmi && features.avx512_vnni) return avx512_vbmi_panel_kernels();
  if (features.avx512 && features.avx512_vnni) return avx512_vnni_panel_kernels();
  if (features.avx512) return avx512_panel_kernels();
  if (features.avx2_fma) return avx2_panel_kernels();
  return nullptr;
}

void pack_panels(const WeightView& w, uint8_t* out, int64_t stride) {
  const std::optional<Fp4Format> format = panel_format(w.format);
  OCTET_CHECK(format.has_value());
  for (int64_t p = 0; p < num_panels(w.n); ++p, out += stride) {
    const int64_t count = std::min(kPanelRows, w.n - p * kPanelRows);
    if (count < kPanelRows) std::memset(out, 0, static_cast<size_t>(panel_bytes(*format, w.k)));
    for (int64_t lane = 0; lane < count; ++lane) pack_row(w, *format, p * kPanelRows + lane, lane, out);
  }
}

void unpack_panels(Fp4Format format, int64_t n, int64_t k, const uint8_t* panels, int64_t stride, std::byte* codes,
                   std::byte* scales) {
  const int64_t code_bytes = (k + 1) / 2;
  const int64_t num_scales = (k + group_columns(format) - 1) / group_columns(format);
  const int64_t block_scales = kPanelBlock / group_columns(format);
  for (int64_t row = 0; row < n; ++row) {
    const uint8_t* panel = panels + row / kPanelRows * stride;
    const int64_t lane = row % kPanelRows;
    for (int64_t i = 0; i < code_bytes; ++i) {
      const int64_t in_block = i % (kPanelBlock / 2);
      const uint8_t* block = panel + i / (kPanelBlock / 2) * block_bytes(format);
      codes[row * code_bytes + i] =
          std::byte{block[in_block / kWordBytes * kColumnBytes + lane * kWordBytes + in_block % kWordBytes]};
    }
    for (int64_t i = 0; i < num_scales; ++i) {
      const uint8_t* block = panel + i / block_scales * block_bytes(format);
      scales[row * num_scales + i] = std::byte{block[kBlockCodeBytes + i % block_scales * kPanelRows + lane]};
    }
  }
}

PanelFinish panel_finish(const WeightView& w) {
  const std::optional<Fp4Format> format = panel_format(w.format);
  OCTET_CHECK(format.has_value());
  PanelFinish finish;
  finish.factor = w.format.global == GlobalScale::multiply ? w.global_scale : 1.0f / w.global_scale;
  if (*format == Fp4Format::nvfp4) finish.factor *= 256.0f;  // the kernels read E4M3 as F16, 2^-8 as large
  const auto bias_of = [&](int64_t row) { return has_nan_scale(w, *format, row) ? std::nanf("") : bias_value(w, row); };
  std::vector<float> bias(static_cast<size_t>(w.n));
  for (int64_t row = 0; row < w.n; ++row) bias[static_cast<size_t>(row)] = bias_of(row);
  if (std::any_of(bias.begin(), bias.end(), [](float v) { return v != 0; })) finish.bias = std::move(bias);
  return finish;
}

void finish_rows(const PanelFinish& finish, int64_t begin, int64_t count, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] *= finish.factor;
  if (finish.bias.empty()) return;
  for (int64_t i = 0; i < count; ++i) y[i] += finish.bias[static_cast<size_t>(begin + i)];
}

}  // namespace octet::cpu
