// Devices by name.
#include "tensor/hardware.h"

#include <gtest/gtest.h>

#include <set>

#include "support/error_of.h"

namespace octet {
namespace {

TEST(Hardware, EveryNameIsADeviceOfThatNameWithPlausibleFigures) {
  for (const std::string_view name : hardware_names()) {
    const DeviceInfo device = find_hardware(name);
    EXPECT_EQ(device.name, name);
    EXPECT_GE(device.memory_bytes, int64_t{16} << 30) << name;
    EXPECT_GT(device.cache_bytes, int64_t{1} << 20) << name;
    EXPECT_LT(device.cache_bytes, device.memory_bytes) << name;
    EXPECT_GT(device.read_gbs, 20) << name;
    const bool gpu = device.kind == DeviceKind::cuda;
    EXPECT_EQ(device.gpu.compute_capability > 0, gpu) << name;
    EXPECT_EQ(device.gpu.num_sms > 0, gpu) << name;
    EXPECT_EQ(device.cpu.avx2_fma, !gpu) << name;
  }
}

TEST(Hardware, NamesAreUnique) {
  const std::set<std::string_view> names(hardware_names().begin(), hardware_names().end());
  EXPECT_EQ(names.size(), hardware_names().size());
}

TEST(Hardware, SharedMemoryOfABlockFollowsTheGeneration) {
  for (const char* name : {"h100", "h200", "b200"}) {
    EXPECT_EQ(find_hardware(name).gpu.shared_memory_a_block_bytes, 232'448) << name;
  }
  for (const char* name : {"rtx-pro-6000", "rtx-5090", "gb10"}) {
    EXPECT_EQ(find_hardware(name).gpu.shared_memory_a_block_bytes, 101'376) << name;
  }
}

TEST(Hardware, ThisIsTheProcessorThatRunsTheTest) {
  EXPECT_EQ(find_hardware("this").name, this_cpu().name);
  EXPECT_EQ(find_hardware("this").kind, DeviceKind::cpu);
}

TEST(Hardware, AnUnknownNameIsBadUsageThatListsTheKnownOnes) {
  const std::string message = testing::error_of(ErrorCode::bad_usage, [] { find_hardware("H200"); });
  EXPECT_TRUE(testing::contains(message, "\"H200\""));
  for (const std::string_view name : hardware_names()) EXPECT_TRUE(testing::contains(message, std::string(name)));
}

TEST(Hardware, DescriptionNamesArchitectureOrInstructionSet) {
  EXPECT_EQ(describe(find_hardware("rtx-pro-6000")), "rtx-pro-6000, sm_120");
  EXPECT_EQ(describe(find_hardware("avx2-8c")), "avx2-8c, AVX2");
}

}  // namespace
}  // namespace octet
