#include "tensor/hardware.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "base/error.h"

namespace octet {
namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kGiB = 1024 * kMiB;

/// A row of the tables below: DeviceInfo without its string, so that the tables need no construction at start-up.
struct Gpu {
  std::string_view name;
  GpuFeatures features;
  int64_t memory_bytes;
  int64_t cache_bytes;
  double read_gbs;
};

struct Processor {
  std::string_view name;
  CpuFeatures features;
  int32_t num_threads;
  int64_t memory_bytes;
  int64_t cache_bytes;
  double read_gbs;
};

// Shared memory that a block may opt in to, by generation (CUDA Programming Guide, technical specifications a compute
// capability): 227 KiB on sm_90 and sm_100, 99 KiB on sm_120 and sm_121.
constexpr int64_t kLargeSharedMemory = 227 * kKiB;
constexpr int64_t kSmallSharedMemory = 99 * kKiB;

// clang-format off
constexpr std::array kGpus = {
    //  name             capability, SMs, shared memory       memory            L2          read GB/s
    Gpu{"h200",         { 90, 132, kLargeSharedMemory},  150'109'880'320,   60 * kMiB,  4550},  // all measured on one
    Gpu{"h100",         { 90, 132, kLargeSharedMemory},   80 * kGiB,        50 * kMiB,  3350},  // SXM5
    Gpu{"b200",         {100, 148, kLargeSharedMemory},  180 * kGiB,       126 * kMiB,  7700},
    Gpu{"rtx-pro-6000", {120, 188, kSmallSharedMemory},   96 * kGiB,       128 * kMiB,  1792},
    Gpu{"rtx-5090",     {120, 170, kSmallSharedMemory},   32 * kGiB,        96 * kMiB,  1792},
    Gpu{"gb10",         {121,  48, kSmallSharedMemory},  119 * kGiB,        24 * kMiB,   273},  // shared with its CPU
};

constexpr CpuFeatures kAvx2{.avx2_fma = true};
constexpr CpuFeatures kZen5{.avx2_fma = true, .avx512 = true, .avx512_vbmi = true, .avx512_vnni = true,
                            .avx512_bf16 = true};
constexpr CpuFeatures kSapphireRapids{.avx2_fma = true, .avx512 = true, .avx512_vbmi = true, .avx512_vnni = true,
                                      .avx512_bf16 = true, .amx_bf16_int8 = true};

constexpr std::array kProcessors = {
    //        name           instruction sets  cores   memory     last cache   read GB/s
    Processor{"avx2-8c",     kAvx2,               8,    32 * kGiB,   32 * kMiB,    51.2},  // desktop, 2 x DDR4-3200
    Processor{"avx512-16c",  kZen5,              16,    64 * kGiB,   64 * kMiB,    89.6},  // desktop, 2 x DDR5-5600
    Processor{"amx-48c",     kSapphireRapids,    48,   512 * kGiB,  105 * kMiB,   307.2},  // server, 8 x DDR5-4800
};
// clang-format on

constexpr auto kNames = [] {
  std::array<std::string_view, kGpus.size() + kProcessors.size()> names;
  size_t count = 0;
  for (const Gpu& gpu : kGpus) names[count++] = gpu.name;
  for (const Processor& processor : kProcessors) names[count++] = processor.name;
  return names;
}();

std::string_view widest_instruction_set(const CpuFeatures& f) {
  if (f.amx_bf16_int8) return "AMX";
  if (f.avx512_bf16) return "AVX-512 with BF16";
  if (f.avx512) return "AVX-512";
  return f.avx2_fma ? "AVX2" : "portable code";
}

}  // namespace

std::span<const std::string_view> hardware_names() { return kNames; }

DeviceInfo find_hardware(std::string_view name) {
  if (name == "this") return this_cpu();
  for (const Gpu& gpu : kGpus) {
    if (gpu.name != name) continue;
    return {.name = std::string(gpu.name),
            .kind = DeviceKind::cuda,
            .memory_bytes = gpu.memory_bytes,
            .cache_bytes = gpu.cache_bytes,
            .read_gbs = gpu.read_gbs,
            .gpu = gpu.features};
  }
  for (const Processor& processor : kProcessors) {
    if (processor.name != name) continue;
    return {.name = std::string(processor.name),
            .kind = DeviceKind::cpu,
            .num_threads = processor.num_threads,
            .memory_bytes = processor.memory_bytes,
            .cache_bytes = processor.cache_bytes,
            .read_gbs = processor.read_gbs,
            .cpu = processor.features};
  }
  std::ostringstream known;
  for (const std::string_view one : kNames) known << one << ", ";
  fail(ErrorCode::bad_usage, "--hardware: expected ", known.str(), "or this, got \"", name, "\"");
}

std::string describe(const DeviceInfo& device) {
  if (device.kind == DeviceKind::cuda) return device.name + ", sm_" + std::to_string(device.gpu.compute_capability);
  return device.name + ", " + std::string(widest_instruction_set(device.cpu));
}

}  // namespace octet
