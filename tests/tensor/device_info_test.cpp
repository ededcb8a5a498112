#include "tensor/device_info.h"

#include <gtest/gtest.h>

#include "base/threads.h"

namespace octet {
namespace {

TEST(ThisCpu, HasANameThreadsAndMemory) {
  const DeviceInfo cpu = this_cpu();
  EXPECT_EQ(cpu.kind, DeviceKind::cpu);
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_EQ(cpu.num_threads, ThreadPool::default_num_threads());
  EXPECT_GT(cpu.memory_bytes, int64_t{64} << 20);
  EXPECT_LT(cpu.memory_bytes, int64_t{1} << 50);
  EXPECT_GE(cpu.cache_bytes, 0);
  EXPECT_LT(cpu.cache_bytes, cpu.memory_bytes);
}

TEST(ThisCpu, AnInstructionSetComesWithThoseThatItBuildsOn) {
  const CpuFeatures f = this_cpu().cpu;
  EXPECT_TRUE(f.avx2_fma || !f.avx512);
  for (const bool extension : {f.avx512_vbmi, f.avx512_vnni, f.avx512_bf16, f.amx_bf16_int8}) {
    EXPECT_TRUE(f.avx512 || !extension);
  }
}

#if defined(__x86_64__)
// The compiler's own detection reads cpuid and xgetbv independently of octet's.
TEST(ThisCpu, FeaturesAreThoseThatTheCompilersRunTimeFinds) {
  __builtin_cpu_init();
  const CpuFeatures f = this_cpu().cpu;
  EXPECT_EQ(f.avx2_fma, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(f.avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"));
  EXPECT_EQ(f.avx512_vbmi, f.avx512 && __builtin_cpu_supports("avx512vbmi"));
  EXPECT_EQ(f.avx512_vnni, f.avx512 && __builtin_cpu_supports("avx512vnni"));
  EXPECT_EQ(f.avx512_bf16, f.avx512 && __builtin_cpu_supports("avx512bf16"));
}
#endif

}  // namespace
}  // namespace octet
