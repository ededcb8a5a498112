// kernels/cpu/fp4_panels_impl.h — the products of fp4_panels.h over the registers of one instruction set. Included once
// by each fp4_panels_*.cpp, after the primitives that it is written in:
//
//   Ints, Floats                 one register; kVecs of either hold the 16 rows of a panel
//   kDirectTokens                most tokens for which codes are expanded in registers
//   kDirectPanels                panels at once then
//   kTileTokens                  tokens that share an expanded panel at once
//   for_parts(codes, f)          expands a column in kColumnParts parts: f(v, offset of activations, weights), for the
//                                rows of register v
//   for_expanded_parts(in, f)    the same from what for_parts gave
//   Sum, begin_sum(correction)   the exact sum of a group for the rows of a register, and where it begins
//   multiply_add(w, x, sum)      sum + weights times the activations at x
//   scale_add(sum, scales, total)  total + float(sum) * scales
//   load_scales<format>(p, out)  kVecs registers; E4M3 scales 2^-8 as large
//   fill(a), multiply(a, b), store(p, a)  on Floats
//   prepare_group(x, begin, k, out), read(p, bytes)
//
// Everything has internal linkage (cpu_kernels.h says why).
#pragma once

#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {
namespace {

/// How far ahead of the arithmetic each panel is fetched. Measured (docs/performance/cpu.md): 1 and 2 KiB lose a tenth,
/// 8 KiB gain nothing.
constexpr int64_t kAheadBytes = 4096;
constexpr int64_t kGroupColumns = kActivationGroup / kPanelColumns;  // columns whose sum is exact
constexpr int64_t kBlockGroups = kPanelBlock / kActivationGroup;
constexpr int64_t kColumnElements = kPanelColumns * 2;  // bytes of activations of a column

void prepare(const float* x, int64_t k, uint8_t* out) {
  for (int64_t begin = 0; begin < panel_blocks(k) * kPanelBlock; begin += kActivationGroup) {
    float last[kActivationGroup] = {};
    const float* from = x + begin;
    if (begin + kActivationGroup > k) {
      for (int64_t i = begin; i < k; ++i) last[i - begin] = x[i];
      from = last;
    }
    prepare_group(from, begin, k, out);
  }
}

inline const uint8_t* token_row(const PanelsArgs& a, int64_t t) {
  return a.x + (a.rows == nullptr ? t : int64_t{a.rows[t]}) * a.x_row_bytes;
}

/// Tokens' activations and their scales.
template <int kTokens>
struct Activations {
  Activations(const PanelsArgs& a, int64_t token) {
    for (int t = 0; t < kTokens; ++t) {
      x[t] = token_row(a, token + t);
      scales[t] = reinterpret_cast<const float*>(x[t] + prepared_scales(a.k));
      corrections[t] = reinterpret_cast<const int32_t*>(x[t] + prepared_corrections(a.k));
    }
  }
  const uint8_t* x[kTokens];
  const float* scales[kTokens];
  const int32_t* corrections[kTokens];
};

template <int kTokens>
using Sums = Sum[kTokens][kVecs];
template <int kTokens>
using Totals = Floats[kTokens][kVecs];

template <int kTokens>
inline void begin_group(const Activations<kTokens>& tokens, int64_t group, Sums<kTokens>& sums) {
  for (int t = 0; t < kTokens; ++t) {
    for (Sum& v : sums[t]) v = begin_sum(tokens.corrections[t] + group);
  }
}

template <int kTokens>
inline void clear(Totals<kTokens>& totals) {
  for (auto& of_token : totals) {
    for (Floats& v : of_token) v = Floats{};
  }
}

/// Ends a group: totals += sums * scales * activation scales.
template <int kTokens>
inline void add_group(const Sums<kTokens>& sums, const Floats* scales, const Activations<kTokens>& tokens,
                      int64_t group, Totals<kTokens>& totals) {
  for (int t = 0; t < kTokens; ++t) {
    const Floats of_token = fill(tokens.scales[t][group]);
    for (int v = 0; v < kVecs; ++v) totals[t][v] = scale_add(sums[t][v], multiply(scales[v], of_token), totals[t][v]);
  }
}

template <int kTokens>
inline void store_rows(const Totals<kTokens>& totals, int64_t y_stride, float* y) {
  for (int t = 0; t < kTokens; ++t) {
    for (int v = 0; v < kVecs; ++v) store(y + t * y_stride + v * (kPanelRows / kVecs), totals[t][v]);
  }
}

/// One block of one panel, its codes expanded in registers. first: the block's first group in the row.
template <Fp4Format kFormat, int kTokens>
inline void direct_block(const uint8_t* block, const uint8_t* ahead, const Activations<kTokens>& tokens, int64_t first,
                         Totals<kTokens>& totals) {
  constexpr int64_t kGroupsPerScale = group_columns(kFormat) / kActivationGroup;
  Floats scales[kVecs];
#pragma GCC unroll 4
  for (int64_t group = 0; group < kBlockGroups; ++group) {
    // A few lines at a time: more would wait for a free place among the loads under way.
    constexpr int64_t kLines = (block_bytes(kFormat) + 63) / 64;
    for (int64_t line = group * kLines / kBlockGroups; line < (group + 1) * kLines / kBlockGroups; ++line) {
      __builtin_prefetch(ahead + line * 64);
    }
    Sums<kTokens> sums;
    begin_group<kTokens>(tokens, first + group, sums);
#pragma GCC unroll 2
    for (int64_t c = group * kGroupColumns; c < (group + 1) * kGroupColumns; ++c) {
      const int64_t x_at = first * kActivationGroup * 2 + c * kColumnElements;
      for_parts(block + c * kColumnBytes, [&](int v, int64_t element, Ints w) {
        for (int t = 0; t < kTokens; ++t) sums[t][v] = multiply_add(w, tokens.x[t] + x_at + element, sums[t][v]);
      });
    }
    if (group % kGroupsPerScale == 0) {
      load_scales<kFormat>(block + kBlockCodeBytes + group / kGroupsPerScale * kPanelRows, scales);
    }
    add_group<kTokens>(sums, scales, tokens, first + group, totals);
  }
}

/// kPanels panels for kTokens tokens. next: what to fetch after them.
template <Fp4Format kFormat, int kPanels, int kTokens>
void direct_tile(const PanelsArgs& a, const uint8_t* panel, const uint8_t* next, float* y) {
  const Activations<kTokens> tokens(a, 0);
  const int64_t stride = panel_bytes(kFormat, a.k);
  const int64_t blocks = panel_blocks(a.k);
  Totals<kTokens> totals[kPanels];
  for (auto& of_panel : totals) clear<kTokens>(of_panel);
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t at = b * block_bytes(kFormat);
    const uint8_t* ahead = at + kAheadBytes < stride ? panel + at + kAheadBytes : next + (at + kAheadBytes - stride);
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      direct_block<kFormat, kTokens>(panel + p * stride + at, ahead + p * stride, tokens, b * kBlockGroups, totals[p]);
    }
  }
  for (int p = 0; p < kPanels; ++p) store_rows<kTokens>(totals[p], a.y_stride, y + p * kPanelRows);
}

/// All panels for kTokens tokens, several at once: several streams keep more of the memory busy than one.
template <Fp4Format kFormat, int kPanels, int kTokens>
void direct(const PanelsArgs& a) {
  const int64_t stride = panel_bytes(kFormat, a.k);
  int64_t p = 0;
  for (; p + kPanels <= a.num_panels; p += kPanels) {
    const uint8_t* panel = a.panels + p * stride;
    const bool last = p + 2 * kPanels > a.num_panels && a.next != nullptr;
    direct_tile<kFormat, kPanels, kTokens>(a, panel, last ? a.next : panel + kPanels * stride, a.y + p * kPanelRows);
  }
  for (; p < a.num_panels; ++p) {
    const uint8_t* panel = a.panels + p * stride;
    direct_tile<kFormat, 1, kTokens>(a, panel, panel + stride, a.y + p * kPanelRows);
  }
}

/// Expands a panel into a.scratch: for each group its weights in the order of for_parts, then its scales.
template <Fp4Format kFormat>
void expand_panel(const PanelsArgs& a, const uint8_t* panel) {
  constexpr int64_t kGroupsPerScale = group_columns(kFormat) / kActivationGroup;
  uint8_t* out = a.scratch;
  for (int64_t b = 0; b < panel_blocks(a.k); ++b, panel += block_bytes(kFormat)) {
    for (int64_t line = 0; line < block_bytes(kFormat); line += 64) __builtin_prefetch(panel + kAheadBytes + line);
    for (int64_t group = 0; group < kBlockGroups; ++group) {
      for (int64_t c = group * kGroupColumns; c < (group + 1) * kGroupColumns; ++c) {
        for_parts(panel + c * kColumnBytes, [&](int, int64_t, Ints w) {
          *reinterpret_cast<Ints*>(out) = w;
          out += sizeof(Ints);
        });
      }
      Floats scales[kVecs];
      load_scales<kFormat>(panel + kBlockCodeBytes + group / kGroupsPerScale * kPanelRows, scales);
      for (const Floats& v : scales) {
        store(reinterpret_cast<float*>(out), v);
        out += sizeof(Floats);
      }
    }
  }
}

/// The expanded panel for tokens [token, token + kTokens).
template <int kTokens>
void expanded_tile(const PanelsArgs& a, int64_t token, float* y) {
  const Activations<kTokens> tokens(a, token);
  Totals<kTokens> totals;
  clear<kTokens>(totals);
  const uint8_t* in = a.scratch;
  for (int64_t group = 0; group < panel_blocks(a.k) * kBlockGroups; ++group) {
    Sums<kTokens> sums;
    begin_group<kTokens>(tokens, group, sums);
    for (int64_t c = 0; c < kGroupColumns; ++c) {
      const int64_t x_at = (group * kGroupColumns + c) * kColumnElements;
      for_expanded_parts(reinterpret_cast<const Ints*>(in), [&](int v, int64_t element, Ints w) {
        for (int t = 0; t < kTokens; ++t) sums[t][v] = multiply_add(w, tokens.x[t] + x_at + element, sums[t][v]);
      });
      in += kColumnParts * static_cast<int64_t>(sizeof(Ints));
    }
    add_group<kTokens>(sums, reinterpret_cast<const Floats*>(in), tokens, group, totals);
    in += kVecs * static_cast<int64_t>(sizeof(Floats));
  }
  store_rows<kTokens>(totals, a.y_stride, y + token * a.y_stride);
}

/// Many tokens: each panel is expanded once.
template <Fp4Format kFormat>
void expanded(const PanelsArgs& a) {
  for (int64_t p = 0; p < a.num_panels; ++p) {
    expand_panel<kFormat>(a, a.panels + p * panel_bytes(kFormat, a.k));
    float* y = a.y + p * kPanelRows;
    int64_t t = 0;
    for (; t + kTileTokens <= a.num_tokens; t += kTileTokens) expanded_tile<kTileTokens>(a, t, y);
    for (; t + 2 <= a.num_tokens; t += 2) expanded_tile<2>(a, t, y);
    for (; t < a.num_tokens; ++t) expanded_tile<1>(a, t, y);
  }
}

template <Fp4Format kFormat>
void panels_of(const PanelsArgs& a) {
  if (a.num_tokens > kDirectTokens) return expanded<kFormat>(a);
  if (a.num_tokens == 1) return direct<kFormat, kDirectPanels, 1>(a);
  if (a.num_tokens == 2) return direct<kFormat, kDirectPanels, 2>(a);
  if constexpr (kDirectTokens >= 4) {
    if (a.num_tokens == 3) return direct<kFormat, kDirectPanels, 3>(a);
    if (a.num_tokens == 4) return direct<kFormat, kDirectPanels, 4>(a);
  }
}

void panels(const PanelsArgs& a) {
  return a.format == Fp4Format::nvfp4 ? panels_of<Fp4Format::nvfp4>(a) : panels_of<Fp4Format::mxfp4>(a);
}

constexpr PanelKernels panel_table(const char* name) {
  return {.name = name, .prepare = prepare, .prepare_group = prepare_group, .panels = panels, .read = read};
}

}  // namespace
}  // namespace octet::cpu
