// What cpu.rows says of itself to selection.
#include <gtest/gtest.h>

#include "moe/experts/cpu/rows.h"
#include "moe/experts/reference/reference.h"

namespace octet {
namespace {

TEST(CpuRowsSelectionTest, RefusesOtherDevicesAndFormatsWithTheReason) {
  MoeProblem problem;
  problem.gate_up = problem.down = kNvfp4Weight;
  EXPECT_FALSE(cpu_rows::refuse(problem, this_cpu()));
  DeviceInfo cuda = this_cpu();
  cuda.kind = DeviceKind::cuda;
  EXPECT_EQ(cpu_rows::refuse(problem, cuda)->code, Refusal::Code::instruction_set);
  problem.down.permuted = true;
  EXPECT_EQ(cpu_rows::refuse(problem, this_cpu())->code, Refusal::Code::format);
  problem.down = {.code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 128, .block_columns = 128};
  EXPECT_EQ(cpu_rows::refuse(problem, this_cpu())->code, Refusal::Code::format);
  problem.down = kNvfp4Weight;
  problem.numerics = NumericsClass::int8;
  EXPECT_EQ(cpu_rows::refuse(problem, this_cpu())->code, Refusal::Code::numerics_class);
  problem.numerics = NumericsClass::exact16;
  problem.activation = Activation::clamped_swiglu;
  EXPECT_EQ(cpu_rows::refuse(problem, this_cpu())->code, Refusal::Code::activation);
  EXPECT_EQ(reference_experts::refuse(problem, this_cpu())->code, Refusal::Code::activation);
}

TEST(CpuRowsSelectionTest, PredictionIsTheTimeToReadTheExpectedExperts) {
  MoeProblem problem;
  problem.gate_up = problem.down = kNvfp4Weight;
  problem.shape = {.num_tokens = 1, .hidden = 256, .expert_width = 128, .num_experts = 64, .top_k = 8};
  DeviceInfo device;
  device.read_gbs = 20;
  // 8 experts of 3 * 256 * 128 weights of 9/16 byte.
  EXPECT_NEAR(cpu_rows::predicted_us(problem, device), 8 * 3 * 256 * 128 * 0.5625 / 20e3, 1e-9);
  problem.shape.num_tokens = 100000;
  EXPECT_NEAR(cpu_rows::predicted_us(problem, device), 64 * 3 * 256 * 128 * 0.5625 / 20e3, 1e-9);
  device.read_gbs = 0;
  EXPECT_LT(cpu_rows::predicted_us(problem, device), reference_experts::predicted_us(problem, device));
}

}  // namespace
}  // namespace octet
