// kernels/cpu/fp4_panels_impl.h — the products of fp4_panels.h over the registers of one instruction set. Included once
// by each fp4_panels_*.cpp, after the primitives that it is written in:
//
//   Vec                          one register of floats; kVecs of them accumulate the 16 rows of a panel
//   kElementBytes                of a prepared activation
//   kDirectTokens, kTileTokens   most tokens for which codes are expanded in registers; tokens of a tile otherwise
//   zero(), fma(a, b, c)         on Vec
//   for_parts(codes, f)          expands a column: f(accumulator, byte offset of its activations, weights)
//   multiply_add(w, x, sum)      sum + weights times the activations at x
//   load_scales<format>(p, out)  kVecs registers that match the accumulators
//   store_rows(sums, y)          16 floats
//
// Everything has internal linkage (cpu_kernels.h says why).
#pragma once

#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {
namespace {

/// How far ahead of the arithmetic a panel is fetched, in blocks: about 2 KiB a panel.
constexpr int64_t kAheadBlocks = 4;
constexpr int64_t kColumnParts = kPanelRows * kPanelColumns * kExpandedBytes / static_cast<int64_t>(sizeof(Vec));
constexpr int64_t kColumnElements = kPanelColumns * kElementBytes;  // bytes of activations of a column

/// Fetches block `b` of `count` panels, or of what follows them.
template <Fp4Format kFormat, int kCount>
inline void fetch(const uint8_t* panel, int64_t stride, const uint8_t* next, int64_t b, int64_t blocks) {
  const uint8_t* from = b < blocks ? panel + b * block_bytes(kFormat) : next + (b - blocks) * block_bytes(kFormat);
  for (int p = 0; p < kCount; ++p) {
    for (int64_t line = 0; line < block_bytes(kFormat); line += 64) __builtin_prefetch(from + p * stride + line);
  }
}

/// kPanels panels for kTokens tokens, expanding codes in registers.
template <Fp4Format kFormat, int kPanels, int kTokens>
void direct_tile(const PanelsArgs& a, const uint8_t* panel, const uint8_t* next, const uint8_t* const* x, float* y) {
  constexpr int64_t kBlock = block_bytes(kFormat);
  constexpr int64_t kColumns = group_columns(kFormat) / kPanelColumns;
  const int64_t stride = panel_bytes(kFormat, a.k);
  const int64_t blocks = panel_blocks(a.k);
  Vec total[kPanels][kTokens][kVecs];
  for (auto& of_panel : total) {
    for (auto& of_token : of_panel) {
      for (Vec& v : of_token) v = zero();
    }
  }
  for (int64_t b = 0; b < blocks; ++b) {
    fetch<kFormat, kPanels>(panel, stride, next, b + kAheadBlocks, blocks);
    for (int64_t group = 0; group < kPanelBlock / group_columns(kFormat); ++group) {
      const int64_t x_at = (b * kPanelBlock + group * group_columns(kFormat)) * kElementBytes;
      for (int p = 0; p < kPanels; ++p) {
        const uint8_t* block = panel + p * stride + b * kBlock;
        Vec sum[kTokens][kVecs];
        for (auto& of_token : sum) {
          for (Vec& v : of_token) v = zero();
        }
        for (int64_t c = 0; c < kColumns; ++c) {
          for_parts(block + (group * kColumns + c) * kColumnBytes, [&](int v, int64_t element, Vec w) {
            for (int t = 0; t < kTokens; ++t) {
              sum[t][v] = multiply_add(w, x[t] + x_at + c * kColumnElements + element, sum[t][v]);
            }
          });
        }
        Vec scales[kVecs];
        load_scales<kFormat>(block + kBlockCodeBytes + group * kPanelRows, scales);
        for (int t = 0; t < kTokens; ++t) {
          for (int v = 0; v < kVecs; ++v) total[p][t][v] = fma(sum[t][v], scales[v], total[p][t][v]);
        }
      }
    }
  }
  for (int p = 0; p < kPanels; ++p) {
    for (int t = 0; t < kTokens; ++t) store_rows(total[p][t], y + t * a.y_stride + p * kPanelRows);
  }
}

inline const uint8_t* token_row(const PanelsArgs& a, int64_t t) {
  return a.x + (a.rows == nullptr ? t : int64_t{a.rows[t]}) * a.x_row_bytes;
}

/// All panels for tokens [0, kTokens), several panels at once: several streams keep more of the memory busy than one.
template <Fp4Format kFormat, int kPanels, int kTokens>
void direct(const PanelsArgs& a) {
  const uint8_t* x[kTokens];
  for (int t = 0; t < kTokens; ++t) x[t] = token_row(a, t);
  const int64_t stride = panel_bytes(kFormat, a.k);
  int64_t p = 0;
  for (; p + kPanels <= a.num_panels; p += kPanels) {
    const uint8_t* panel = a.panels + p * stride;
    const bool last = p + 2 * kPanels > a.num_panels && a.next != nullptr;
    direct_tile<kFormat, kPanels, kTokens>(a, panel, last ? a.next : panel + kPanels * stride, x,
                                           a.y + p * kPanelRows);
  }
  for (; p < a.num_panels; ++p) {
    const uint8_t* panel = a.panels + p * stride;
    direct_tile<kFormat, 1, kTokens>(a, panel, panel + stride, x, a.y + p * kPanelRows);
  }
}

/// Expands a panel into a.scratch: each group's weights in the order of for_parts, followed by its scales.
template <Fp4Format kFormat>
void expand_panel(const PanelsArgs& a, const uint8_t* panel) {
  Vec* out = reinterpret_cast<Vec*>(a.scratch);
  for (int64_t b = 0; b < panel_blocks(a.k); ++b, panel += block_bytes(kFormat)) {
    fetch<kFormat, 1>(panel, 0, panel, kAheadBlocks, kAheadBlocks + 1);
    for (int64_t group = 0; group < kPanelBlock / group_columns(kFormat); ++group) {
      const int64_t columns = group_columns(kFormat) / kPanelColumns;
      for (int64_t c = 0; c < columns; ++c) {
        for_parts(panel + (group * columns + c) * kColumnBytes, [&](int, int64_t, Vec w) { *out++ = w; });
      }
      load_scales<kFormat>(panel + kBlockCodeBytes + group * kPanelRows, out);
      out += kVecs;
    }
  }
}

/// The expanded panel for tokens [t, t + kTokens).
template <Fp4Format kFormat, int kTokens>
void expanded_tile(const PanelsArgs& a, int64_t token, float* y) {
  const uint8_t* x[kTokens];
  for (int t = 0; t < kTokens; ++t) x[t] = token_row(a, token + t);
  Vec total[kTokens][kVecs];
  for (auto& of_token : total) {
    for (Vec& v : of_token) v = zero();
  }
  const Vec* in = reinterpret_cast<const Vec*>(a.scratch);
  constexpr int64_t kColumns = group_columns(kFormat) / kPanelColumns;
  const int64_t groups = panel_blocks(a.k) * (kPanelBlock / group_columns(kFormat));
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t x_at = group * group_columns(kFormat) * kElementBytes;
    Vec sum[kTokens][kVecs];
    for (auto& of_token : sum) {
      for (Vec& v : of_token) v = zero();
    }
    for (int64_t c = 0; c < kColumns; ++c) {
      for_expanded_parts(in + c * kColumnParts, [&](int v, int64_t element, Vec w) {
        for (int t = 0; t < kTokens; ++t) {
          sum[t][v] = multiply_add(w, x[t] + x_at + c * kColumnElements + element, sum[t][v]);
        }
      });
    }
    in += kColumns * kColumnParts;
    for (int t = 0; t < kTokens; ++t) {
      for (int v = 0; v < kVecs; ++v) total[t][v] = fma(sum[t][v], in[v], total[t][v]);
    }
    in += kVecs;
  }
  for (int t = 0; t < kTokens; ++t) store_rows(total[t], y + (token + t) * a.y_stride);
}

/// Many tokens: each panel is expanded once.
template <Fp4Format kFormat>
void expanded(const PanelsArgs& a) {
  for (int64_t p = 0; p < a.num_panels; ++p) {
    expand_panel<kFormat>(a, a.panels + p * panel_bytes(kFormat, a.k));
    float* y = a.y + p * kPanelRows;
    int64_t t = 0;
    for (; t + kTileTokens <= a.num_tokens; t += kTileTokens) expanded_tile<kFormat, kTileTokens>(a, t, y);
    if constexpr (kTileTokens > 2) {
      for (; t + 2 <= a.num_tokens; t += 2) expanded_tile<kFormat, 2>(a, t, y);
    }
    for (; t < a.num_tokens; ++t) expanded_tile<kFormat, 1>(a, t, y);
  }
}

template <Fp4Format kFormat>
void panels_of(const PanelsArgs& a) {
  if (a.num_tokens > kDirectTokens) return expanded<kFormat>(a);
  if (a.num_tokens == 1) return direct<kFormat, kDirectPanels, 1>(a);
  if constexpr (kDirectTokens >= 4) {
    if (a.num_tokens == 2) return direct<kFormat, kDirectPanels, 2>(a);
    if (a.num_tokens == 3) return direct<kFormat, kDirectPanels / 2, 3>(a);
    if (a.num_tokens == 4) return direct<kFormat, kDirectPanels / 2, 4>(a);
  }
}

void panels(const PanelsArgs& a) {
  return a.format == Fp4Format::nvfp4 ? panels_of<Fp4Format::nvfp4>(a) : panels_of<Fp4Format::mxfp4>(a);
}

constexpr PanelKernels panel_table(const char* name, float activation_error) {
  constexpr int64_t kScales = kVecs * static_cast<int64_t>(sizeof(Vec)) / 16;  // NVFP4 has the more scales
  return {.name = name,
          .activation_error = activation_error,
          .element_bytes = kElementBytes,
          .scratch_bytes_k = kPanelRows * kExpandedBytes + kScales,
          .prepare = prepare,
          .panels = panels,
          .read = read};
}

}  // namespace
}  // namespace octet::cpu
