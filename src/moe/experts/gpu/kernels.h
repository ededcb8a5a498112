// moe/experts/gpu/kernels.h — expert kernels for NVIDIA GPUs, as data: where each could run and what it needs there.
//
// Selection thus answers for GPUs already, by the same rules and arithmetic, while the kernels themselves come later: a
// description whose rules all pass is refused with "kernel not in this build". A pipelined kernel keeps `stages` tiles
// of both operands in shared memory; each number of stages is a backend of its own, so that none is chosen in silence.
#pragma once

#include <array>

#include "moe/experts/experts.h"

namespace octet::gpu_kernels {

/// What a block computes at a time: rows (tokens) x columns (outputs), in steps of k.
struct Tile {
  int32_t rows, columns, k;
};

/// Which weights a kernel reads.
enum class Weights : uint8_t { fp4, nvfp4, mxfp4, fp8_blocks_or_fp4, fp8_blocks, bf16 };

/// Beyond the tile, what the shared memory of a block holds, in bytes.
struct Extra {
  int64_t epilogue;  // output on its way to memory; 0 where it reuses the stages
  int64_t barriers;  // of the pipeline, and padding to the alignment of the stages
};

struct Limits {
  int64_t most_tokens = 0;       // 0: any
  int32_t most_top_k = 32;       // one lane of a warp a chosen expert
  int32_t columns_multiple = 1;  // of the outputs of both products: I and H
  int32_t k_multiple = 1;        // of the inputs of both products: H and I
  bool clamped_swiglu = false;   // besides silu
};

struct Kernel {
  std::string_view name;
  int32_t lowest_capability, highest_capability;  // inclusive
  Weights weights;
  WeightFormat activations;
  Tile tile;
  int32_t stages;
  Extra extra;
  Limits limits;
};

inline constexpr WeightFormat kFp8Activations{
    .code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 1, .block_columns = 128};

// Published figures of the CUTLASS grouped product on sm_120: 87,040 bytes in all for 128 x 128 x 128 with 4 stages, of
// them 11,264 epilogue (NVIDIA/cutlass issue 2692), and 102,400 for 128 x 256 x 128 with the 3 stages that its
// automatic count picks, 1,024 more than a block can have (issues 3096 and 3144).
inline constexpr Extra kSm120Narrow{.epilogue = 11264, .barriers = 2048};
inline constexpr Extra kSm120Wide{.epilogue = 17408, .barriers = 2048};
inline constexpr Limits kCutlassLimits{.columns_multiple = 8, .k_multiple = 32};

// clang-format off
inline constexpr std::array kKernels = {
    // name                                      capability  weights                     activations      tile             stages  epilogue, barriers  limits
    Kernel{"cuda.fp4_rows",                      90, 121, Weights::fp4,               kBf16Weight,     { 16, 128, 128}, 6, { 8192, 1024}, {.most_tokens = 64, .columns_multiple = 16, .k_multiple = 64, .clamped_swiglu = true}},
    Kernel{"cuda.fp4_tiles_sm90",                90,  90, Weights::fp4,               kBf16Weight,     {128, 128, 128}, 4, {32768, 1024}, {.columns_multiple = 64, .k_multiple = 64, .clamped_swiglu = true}},
    Kernel{"cuda.fp8_tiles_sm90",                90,  90, Weights::fp8_blocks_or_fp4, kFp8Activations, {128, 128, 128}, 4, {32768, 1024}, {.columns_multiple = 64, .k_multiple = 128}},
    Kernel{"cutlass.nvfp4_128x256x256_s3_sm100", 100, 103, Weights::nvfp4, kNvfp4Weight, {128, 256, 256}, 3, {32768, 2048}, kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x128x128_s3_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 128, 128}, 3, kSm120Narrow, kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x128x128_s4_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 128, 128}, 4, kSm120Narrow, kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x128x128_s5_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 128, 128}, 5, kSm120Narrow, kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x128x256_s2_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 128, 256}, 2, kSm120Narrow, kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x128x256_s3_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 128, 256}, 3, kSm120Narrow, kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x256x128_s2_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 256, 128}, 2, kSm120Wide,   kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x256x128_s3_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 256, 128}, 3, kSm120Wide,   kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x256x128_s4_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 256, 128}, 4, kSm120Wide,   kCutlassLimits},
    Kernel{"cutlass.nvfp4_256x128x128_s2_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {256, 128, 128}, 2, kSm120Wide,   kCutlassLimits},
    Kernel{"cutlass.nvfp4_256x128x128_s3_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {256, 128, 128}, 3, kSm120Wide,   kCutlassLimits},
    Kernel{"cutlass.nvfp4_128x256x256_s2_sm120", 120, 121, Weights::nvfp4, kNvfp4Weight, {128, 256, 256}, 2, kSm120Wide,   kCutlassLimits},
    // Triton reuses the stages for its epilogue and keeps its few barriers there.
    Kernel{"triton.mxfp4_64x256x128_s4_sm90",    90,  90, Weights::mxfp4,      kBf16Weight,     { 64, 256, 128}, 4, {}, {.k_multiple = 32, .clamped_swiglu = true}},
    Kernel{"triton.bf16_128x128x64_s3",          80, 121, Weights::bf16,       kBf16Weight,     {128, 128,  64}, 3, {}, {.k_multiple = 16}},
    Kernel{"triton.bf16_128x128x64_s4",          80, 121, Weights::bf16,       kBf16Weight,     {128, 128,  64}, 4, {}, {.k_multiple = 16}},
    Kernel{"triton.fp8_128x128x128_s3",          89, 121, Weights::fp8_blocks, kFp8Activations, {128, 128, 128}, 3, {}, {.k_multiple = 128}},
};
// clang-format on

/// Shared memory of one block with weights of that format, in bytes.
int64_t shared_memory_bytes(const Kernel& kernel, const WeightFormat& weights);

/// By architecture, numerics class, formats, activation, routing, shape and shared memory, in this order; at the end,
/// for want of a kernel. Kernels that multiply 4-bit activations belong to no numerics class yet and pass that rule.
std::optional<Refusal> refuse(const Kernel& kernel, const MoeProblem& problem, const DeviceInfo& device);

/// The time to read the experts once.
double predicted_us(const Kernel& kernel, const MoeProblem& problem, const DeviceInfo& device);

/// Throws Error(unsupported): there are no kernels yet.
std::unique_ptr<ExpertLayer> make(const Kernel& kernel);

/// The line of the table of backends for kKernels[kIndex].
template <size_t kIndex>
constexpr ExpertBackendEntry entry() {
  return {.name = kKernels[kIndex].name,
          .refuse = [](const MoeProblem& p, const DeviceInfo& d) { return refuse(kKernels[kIndex], p, d); },
          .predicted_us = [](const MoeProblem& p, const DeviceInfo& d) { return predicted_us(kKernels[kIndex], p, d); },
          .packed = [](const MoeProblem&) { return PackedWeights{}; },
          .make = [](const MoeProblem&, const DeviceInfo&, ExpertWeights) { return make(kKernels[kIndex]); }};
}

}  // namespace octet::gpu_kernels
