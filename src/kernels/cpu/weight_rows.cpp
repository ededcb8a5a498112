#include "kernels/cpu/weight_rows.h"

#include <array>
#include <bit>
#include <vector>

#include "base/error.h"
#include "numerics/dequantize.h"

namespace octet::cpu {
namespace {

using ScaleValues = std::array<float, 256>;

template <float (*kValue)(uint8_t)>
const ScaleValues& scale_values() {
  static const ScaleValues values = [] {
    ScaleValues v{};
    for (size_t i = 0; i < v.size(); ++i) v[i] = kValue(static_cast<uint8_t>(i));
    return v;
  }();
  return values;
}

bool is_plain(const WeightFormat& f) {
  return f.scale == ScaleType::none && (f.code == CodeType::f32 || f.code == CodeType::f16 || f.code == CodeType::bf16);
}

Code code_of(CodeType code) {
  switch (code) {
    case CodeType::f16:
      return Code::f16;
    case CodeType::bf16:
      return Code::bf16;
    case CodeType::fp4_e2m1:
      return Code::e2m1;
    default:
      return Code::f32;
  }
}

WeightRows bind(const WeightView& w) {
  WeightRows r;
  r.code = code_of(w.format.code);
  r.k = w.k;
  r.codes = reinterpret_cast<const uint8_t*>(w.codes);
  r.code_row_bytes = w.code_row_bytes;
  r.factor = w.format.global == GlobalScale::multiply ? w.global_scale : 1.0f / w.global_scale;
  if (r.code != Code::e2m1) return r;
  r.scales = reinterpret_cast<const uint8_t*>(w.scales);
  r.scale_row_bytes = w.scale_row_bytes;
  r.scale_shift = std::countr_zero(static_cast<uint32_t>(w.format.block_columns));
  r.scale_values =
      w.format.scale == ScaleType::e4m3 ? scale_values<e4m3_value>().data() : scale_values<e8m0_value>().data();
  return r;
}

}  // namespace

bool reads_in_place(const WeightFormat& f) {
  if (f.zero_points || f.permuted) return false;
  if (is_plain(f)) return true;
  return f.code == CodeType::fp4_e2m1 && (f.scale == ScaleType::e4m3 || f.scale == ScaleType::e8m0) &&
         f.block_rows == 1 && f.block_columns >= 16 && std::has_single_bit(static_cast<uint32_t>(f.block_columns));
}

CpuWeight::CpuWeight(const WeightView& w) : view_(w) {
  if (reads_in_place(w.format)) rows_ = bind(w);
}

void CpuWeight::rows(const CpuKernels& kernels, RowsArgs args, bool with_bias) const {
  if (rows_) {
    args.w = *rows_;
    kernels.rows(args);
  } else {
    RowsArgs part = args;
    part.w = WeightRows{.code = Code::f32,
                        .k = view_.k,
                        .codes = reinterpret_cast<const uint8_t*>(args.panel),
                        .code_row_bytes = view_.k * 4};
    for (int64_t n = args.begin; n < args.end; n += args.panel_rows) {
      const int64_t count = std::min(args.panel_rows, args.end - n);
      expand(kernels, n, n + count, args.panel);
      part.begin = 0;
      part.end = count;
      part.y = args.y + (n - args.begin);
      kernels.rows(part);
    }
  }
  if (!with_bias || view_.bias == nullptr) return;
  for (int64_t n = args.begin; n < args.end; ++n) {
    const float bias = bias_value(view_, n);
    for (int64_t t = 0; t < args.num_tokens; ++t) args.y[t * args.y_stride + n - args.begin] += bias;
  }
}

void CpuWeight::expand(const CpuKernels& kernels, int64_t begin, int64_t end, float* out) const {
  if (rows_) {
    kernels.expand(*rows_, begin, end, out);
    if (rows_->factor == 1.0f) return;
    for (int64_t i = 0; i < (end - begin) * view_.k; ++i) out[i] *= rows_->factor;
    return;
  }
  std::vector<double> row(static_cast<size_t>(view_.k));
  for (int64_t n = begin; n < end; ++n, out += view_.k) {
    dequantize_row(view_, n, row.data());
    std::transform(row.begin(), row.end(), out, [](double v) { return static_cast<float>(v); });
  }
}

}  // namespace octet::cpu
