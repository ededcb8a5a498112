#include "tensor/device_info.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/threads.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace octet {
namespace {

#if defined(__x86_64__)
uint64_t enabled_state() {  // XCR0: which register files the operating system saves
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

CpuFeatures detect_features() {
  CpuFeatures f;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
  const bool osxsave = c & bit_OSXSAVE;
  const bool fma_f16c = (c & bit_FMA) && (c & bit_F16C) && (c & bit_AVX);
  if (!osxsave) return f;
  const uint64_t state = enabled_state();
  const bool ymm = (state & 0x6) == 0x6;
  const bool zmm = (state & 0xe6) == 0xe6;
  const bool tiles = (state & 0x60000) == 0x60000;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
  f.avx2_fma = ymm && fma_f16c && (b & bit_AVX2);
  f.avx512 = zmm && f.avx2_fma && (b & bit_AVX512F) && (b & bit_AVX512BW) && (b & bit_AVX512VL) && (b & bit_AVX512DQ);
  f.avx512_vbmi = f.avx512 && (c & bit_AVX512VBMI);
  f.avx512_vnni = f.avx512 && (c & bit_AVX512VNNI);
  f.amx_bf16_int8 = f.avx512 && tiles && (d & (1u << 22)) && (d & (1u << 24)) && (d & (1u << 25));
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) f.avx512_bf16 = f.avx512 && (a & (1u << 5));
  return f;
}
#else
CpuFeatures detect_features() { return {}; }
#endif

int64_t memory_limit() {
  int64_t available = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t kib = 0;
    if (words >> key >> kib && key == "MemAvailable:") available = kib * 1024;
  }
  int64_t limit = std::numeric_limits<int64_t>::max();
  std::ifstream cgroup("/sys/fs/cgroup/memory.max");  // cgroup v2; "max" leaves limit as it is
  if (int64_t value = 0; cgroup >> value && value > 0) limit = value;
  return std::min(limit, available);
}

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  }
  return "this processor";
}

}  // namespace

DeviceInfo this_cpu() {
  DeviceInfo info;
  info.name = processor_name();
  info.num_threads = ThreadPool::default_num_threads();
  info.memory_bytes = memory_limit();
  info.cache_bytes = std::max<int64_t>(::sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
  info.cpu = detect_features();
  return info;
}

}  // namespace octet
