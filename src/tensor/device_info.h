// tensor/device_info.h — what a device can do, as plain data. Selection reads this and never asks the device itself, so
// it also works for hardware that is not present.
#pragma once

#include <cstdint>
#include <string>

namespace octet {

enum class DeviceKind : uint8_t { cpu, cuda };

/// Instruction sets of an x86-64 processor that octet has code for.
struct CpuFeatures {
  bool avx2_fma = false;  // AVX2, FMA and F16C
  bool avx512 = false;    // AVX-512 F, BW, VL, DQ
  bool avx512_vbmi = false;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_bf16_int8 = false;
};

/// What selection needs to know of a GPU.
struct GpuFeatures {
  int32_t compute_capability = 0;           // ten times major, plus minor: 90 for sm_90, 120 for sm_120
  int32_t num_sms = 0;                      // streaming multiprocessors
  int64_t shared_memory_a_block_bytes = 0;  // the most that one block may opt in to
};

struct DeviceInfo {
  std::string name;  // as `--hardware` spells it, or the processor's own name for this machine
  DeviceKind kind = DeviceKind::cpu;
  int32_t num_threads = 1;   // CPU: hardware threads that octet may use
  int64_t memory_bytes = 0;  // usable: the cgroup limit or the available memory; of a GPU, its own memory
  int64_t cache_bytes = 0;   // last-level cache
  double read_gbs = 0;       // streaming read rate, 1e9 bytes a second; 0: not measured
  CpuFeatures cpu;
  GpuFeatures gpu;
};

/// This machine's processor. Features come from cpuid and from what the operating system saves (xgetbv).
DeviceInfo this_cpu();

}  // namespace octet
