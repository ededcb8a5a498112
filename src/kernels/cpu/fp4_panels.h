// kernels/cpu/fp4_panels.h — products with repacked FP4 weights, which read memory front to back.
//
// A panel is 16 rows of a weight. It is a sequence of blocks of 64 columns:
//
//   block = column | column | ... (8 of them) | scales of group 0 | scales of group 1 | ...
//   column = 8 columns of k: 16 rows x 4 bytes, the checkpoint's own bytes of each row side by side
//   scales = 16 rows x 1 byte
//
// so that one 64-byte register holds 16 rows and an accumulator needs no sum over its lanes. Rows and columns that the
// weight does not have are zero. Repacking moves bytes only (kernels/cpu/fp4_pack.h).
//
// Activations become 16-bit integers with one scale for each 16 columns: the largest of them is 32639 steps, so each is
// off by at most half of one of those. Codes are looked up as the integers 2 * value. A sum over 16 columns is
// then exact, whatever the instructions, and so is its conversion to float (12 * 32639 * 16 < 2^24). What is left is
// one fused multiply-add for each 16 columns, in ascending k:  total += float(sum) * (scale * activation scale). All
// instruction sets agree bit for bit, and a token has the same bits in every batch.
//
// Like cpu_kernels.h this header holds plain data only, because files with instruction sets of their own include it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octet::cpu {

inline constexpr int64_t kPanelRows = 16;
inline constexpr int64_t kPanelColumns = 8;  // k of a column: 64 bytes of codes
inline constexpr int64_t kPanelBlock = 64;   // k of a block
inline constexpr int64_t kActivationGroup = 16;
/// The largest of 16 activations in steps: 127 * 256 + 127, so that both of its bytes are signed.
inline constexpr int32_t kActivationSteps = 32639;
inline constexpr int64_t kReadAheadBytes = 4096;  // of the read probe
inline constexpr int64_t kColumnBytes = 64;
inline constexpr int64_t kBlockCodeBytes = kPanelBlock / kPanelColumns * kColumnBytes;

/// The two forms of FP4 weights that the panels take.
enum class Fp4Format : uint8_t { nvfp4, mxfp4 };  // E4M3 scales on 16 columns, E8M0 scales on 32

constexpr int64_t group_columns(Fp4Format f) { return f == Fp4Format::nvfp4 ? 16 : 32; }
constexpr int64_t block_bytes(Fp4Format f) { return kBlockCodeBytes + kPanelBlock / group_columns(f) * kPanelRows; }
constexpr int64_t panel_blocks(int64_t k) { return (k + kPanelBlock - 1) / kPanelBlock; }
constexpr int64_t panel_bytes(Fp4Format f, int64_t k) { return panel_blocks(k) * block_bytes(f); }

/// y[t, 16 p + r] = Σ_k x[row(t), k] * e2m1(code) * scale for every panel p, row r and token t, without the weight's
/// global scale. NaN scales count as numbers: the packer keeps account of them.
struct PanelsArgs {
  Fp4Format format = Fp4Format::nvfp4;
  const uint8_t* panels = nullptr;
  int64_t num_panels = 0;
  int64_t k = 0;                  // K
  const uint8_t* x = nullptr;     // rows that prepare() wrote
  int64_t x_row_bytes = 0;        // from one row to the next
  const int32_t* rows = nullptr;  // row(t); null: t
  int64_t num_tokens = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  uint8_t* scratch = nullptr;     // [scratch_bytes(K)] for more than a few tokens; aligned to 64 bytes
  const uint8_t* next = nullptr;  // what this thread will read afterwards, to be fetched ahead; may be null
};

struct PanelKernels {
  const char* name;  // "avx512_vbmi", "avx512_vnni", "avx512", "avx2"

  /// Brings activations x [k] into the form that `panels` reads: prepared_bytes(k) bytes, aligned to 4. NaN or infinity
  /// makes its scale NaN. 16 activations below 2^-100 count as zeros.
  void (*prepare)(const float* x, int64_t k, uint8_t* out);

  /// The same for 16 activations in the middle of a row: columns [begin, begin + 16) of k, begin a multiple of 16.
  void (*prepare_group)(const float* x, int64_t begin, int64_t k, uint8_t* out);

  void (*panels)(const PanelsArgs&);

  /// The sum of all 64-bit words of [p, p + bytes), read as 1, 2 or 4 streams side by side: the memory read probe.
  /// bytes is a multiple of 4096.
  uint64_t (*read)(const uint8_t* p, int64_t bytes, int32_t streams);
};

/// Largest error of a prepared activation, as a share of the largest of its 16 columns.
inline constexpr double kActivationError = 0.5 / kActivationSteps;

/// Where the scales of a prepared row begin.
constexpr int64_t prepared_scales(int64_t k) { return panel_blocks(k) * kPanelBlock * 2; }
/// Where an integer for each scale begins, which some kernels need.
constexpr int64_t prepared_corrections(int64_t k) {
  return prepared_scales(k) + panel_blocks(k) * (kPanelBlock / kActivationGroup) * 4;
}
constexpr int64_t prepared_bytes(int64_t k) {
  return prepared_corrections(k) + panel_blocks(k) * (kPanelBlock / kActivationGroup) * 4;
}
/// An expanded panel: 16-bit codes, and a float for each row and 16 columns.
constexpr int64_t scratch_bytes(int64_t k) {
  return panel_blocks(k) * kPanelRows * (kPanelBlock * 2 + kPanelBlock / kActivationGroup * 4);
}

/// Kernels of one instruction set; null if this build has none (another architecture).
const PanelKernels* avx2_panel_kernels();
const PanelKernels* avx512_panel_kernels();
const PanelKernels* avx512_vnni_panel_kernels();
const PanelKernels* avx512_vbmi_panel_kernels();

}  // namespace octet::cpu
