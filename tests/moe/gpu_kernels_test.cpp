// GPU kernels as data: the rules by which they are refused, and the arithmetic in the reasons.
#include <gtest/gtest.h>

#include <set>

#include "moe/experts/gpu/kernels.h"
#include "moe/experts/shapes.h"
#include "support/error_of.h"
#include "tensor/hardware.h"

namespace octet {
namespace {

using testing::contains;

Refusal refusal_of(std::string_view backend, const MoeProblem& problem, std::string_view hardware) {
  const ExpertBackendEntry* entry = find_expert_backend(backend);
  if (entry == nullptr) {
    ADD_FAILURE() << backend << " is not in the table";
    return {};
  }
  const std::optional<Refusal> refusal = entry->refuse(problem, find_hardware(hardware));
  EXPECT_TRUE(refusal) << backend;
  return refusal.value_or(Refusal{});
}

void expect_refused(std::string_view backend, const MoeProblem& problem, std::string_view hardware, Refusal::Code code,
                    const std::string& part) {
  const Refusal refusal = refusal_of(backend, problem, hardware);
  EXPECT_EQ(to_string(refusal.code), to_string(code)) << backend << ": " << refusal.reason;
  EXPECT_TRUE(contains(refusal.reason, part)) << backend;
}

constexpr auto kAbsent = Refusal::Code::not_built;
constexpr auto kShared = Refusal::Code::shared_memory;

TEST(GpuKernels, TheTileOfTheKnownCrashKeepsOnlyTheStageCountThatFits) {
  const MoeProblem problem = find_moe_shape("glm5-tp8");
  for (const char* hardware : {"rtx-pro-6000", "rtx-5090", "gb10"}) {
    expect_refused("cutlass.nvfp4_128x256x128_s2_sm120", problem, hardware, kAbsent, "kernel not in this build");
    // CUTLASS's own error names the same 102,400 against 101,376 bytes.
    expect_refused("cutlass.nvfp4_128x256x128_s3_sm120", problem, hardware, kShared,
                   "3 stages x 27648 (A: 8192 codes + 1024 scales, B: 16384 + 2048) + 17408 epilogue + 2048 barriers = "
                   "102400 bytes");
    expect_refused("cutlass.nvfp4_128x256x128_s3_sm120", problem, hardware, kShared, "101376 a block");
    expect_refused("cutlass.nvfp4_128x256x128_s4_sm120", problem, hardware, kShared, "= 130048 bytes");
  }
}

TEST(GpuKernels, TilesOfSm120FitWithTheStagesThatArePublished) {
  const MoeProblem problem = find_moe_shape("glm5");
  const struct {
    const char* tile;
    int stages;
    bool fits;
  } cases[] = {{"128x128x128", 3, true},  {"128x128x128", 4, true},  {"128x128x128", 5, false},
               {"128x128x256", 2, true},  {"128x128x256", 3, false}, {"256x128x128", 2, true},
               {"256x128x128", 3, false}, {"128x256x256", 2, false}};
  for (const auto& c : cases) {
    const std::string name = std::string("cutlass.nvfp4_") + c.tile + "_s" + std::to_string(c.stages) + "_sm120";
    expect_refused(name, problem, "rtx-pro-6000", c.fits ? kAbsent : kShared, c.fits ? "kernel not" : "101376");
  }
}

TEST(GpuKernels, ATileOf128By128By128With4StagesTakesThePublishedBytes) {
  for (const gpu_kernels::Kernel& kernel : gpu_kernels::kKernels) {
    if (kernel.name != "cutlass.nvfp4_128x128x128_s4_sm120") continue;
    EXPECT_EQ(gpu_kernels::shared_memory_bytes(kernel, kNvfp4Weight), 87'040);
    return;
  }
  FAIL() << "the tile is not in the table";
}

TEST(GpuKernels, AnotherGenerationIsRefusedByArchitectureBeforeAnythingElse) {
  MoeProblem problem = find_moe_shape("glm5-tp8");
  problem.shape.top_k = 100;
  problem.numerics = NumericsClass::int8;
  const auto code = Refusal::Code::instruction_set;
  expect_refused("cutlass.nvfp4_128x256x256_s3_sm100", problem, "h200", code,
                 "needs sm_100 to sm_103, device is sm_90");
  expect_refused("cutlass.nvfp4_128x256x128_s3_sm120", problem, "b200", code, "device is sm_100");
  expect_refused("cuda.fp4_tiles_sm90", problem, "rtx-5090", code, "needs sm_90, device is sm_120");
  expect_refused("cuda.fp4_rows", problem, "avx2-8c", code, "the device is a CPU: avx2-8c");
}

TEST(GpuKernels, ANumericsClassTakesOnlyKernelsOfItsActivations) {
  MoeProblem problem = find_moe_shape("glm5-tp8");
  expect_refused("cuda.fp4_rows", problem, "h200", kAbsent, "kernel not in this build");
  expect_refused("cuda.fp8_tiles_sm90", problem, "h200", Refusal::Code::numerics_class, "8-bit activations");
  problem.numerics = NumericsClass::int8;
  expect_refused("cuda.fp4_rows", problem, "h200", Refusal::Code::numerics_class, "16-bit activations");
  expect_refused("cuda.fp8_tiles_sm90", problem, "h200", kAbsent, "kernel not in this build");
}

TEST(GpuKernels, FourBitActivationsAreSaidToHaveNoClassYet) {
  expect_refused("cutlass.nvfp4_128x256x256_s3_sm100", find_moe_shape("glm5"), "b200", kAbsent, "no numerics class");
}

TEST(GpuKernels, FormatsAndActivationsThatAreNotReadAreNamed) {
  const MoeProblem mxfp4 = find_moe_shape("gpt-oss-20b");
  expect_refused("triton.mxfp4_64x256x128_s4_sm90", mxfp4, "h200", kAbsent, "kernel not");
  expect_refused("cutlass.nvfp4_128x128x128_s3_sm120", mxfp4, "gb10", Refusal::Code::format, "reads NVFP4, not MXFP4");
  expect_refused("triton.mxfp4_64x256x128_s4_sm90", find_moe_shape("glm5"), "h200", Refusal::Code::format,
                 "reads MXFP4, not NVFP4");
  MoeProblem bf16 = find_moe_shape("glm5");
  bf16.gate_up = bf16.down = kBf16Weight;
  expect_refused("triton.bf16_128x128x64_s4", bf16, "h200", kAbsent, "kernel not");
  expect_refused("triton.bf16_128x128x64_s4", bf16, "rtx-5090", kShared, "4 stages x 32768");
  bf16.activation = Activation::clamped_swiglu;
  expect_refused("triton.bf16_128x128x64_s3", bf16, "h200", Refusal::Code::activation, "clamped_swiglu");
  MoeProblem permuted = find_moe_shape("glm5");
  permuted.down.permuted = true;
  expect_refused("cuda.fp4_rows", permuted, "h200", Refusal::Code::format, "permuted");
}

TEST(GpuKernels, LimitsOfShapeAndRoutingAreCheckedWithTheirNumbers) {
  MoeProblem problem = find_moe_shape("glm5");
  problem.shape.num_tokens = 64;
  expect_refused("cuda.fp4_rows", problem, "h200", kAbsent, "kernel not");
  problem.shape.num_tokens = 65;
  expect_refused("cuda.fp4_rows", problem, "h200", Refusal::Code::shape, "at most 64 tokens, got 65");
  problem.shape.num_tokens = 1;
  problem.shape.top_k = 33;
  expect_refused("cuda.fp4_rows", problem, "h200", Refusal::Code::routing, "at most 32 experts a token");
  problem = find_moe_shape("glm5");
  problem.shape.expert_width = 2080;
  expect_refused("cuda.fp4_tiles_sm90", problem, "h200", Refusal::Code::shape,
                 "expert width 2080 is not a multiple of 64");
  problem = find_moe_shape("glm5");
  problem.shape.hidden = 6100;
  expect_refused("cuda.fp4_tiles_sm90", problem, "h200", Refusal::Code::shape, "hidden size 6100");
}

TEST(GpuKernels, EveryOneIsAbsentFromThisBuildOnSomeDeviceSoThatNoRuleIsDeadWeight) {
  std::vector<MoeProblem> problems;
  for (const std::string_view name : moe_shape_names()) problems.push_back(find_moe_shape(name));
  MoeProblem other = problems.front();
  other.gate_up = other.down = kBf16Weight;
  problems.push_back(other);
  other.gate_up =
      other.down = {.code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 128, .block_columns = 128};
  other.numerics = NumericsClass::int8;
  problems.push_back(other);
  const std::set<std::string_view> never_fit = {
      "cutlass.nvfp4_128x128x128_s5_sm120", "cutlass.nvfp4_128x128x256_s3_sm120", "cutlass.nvfp4_128x256x128_s3_sm120",
      "cutlass.nvfp4_128x256x128_s4_sm120", "cutlass.nvfp4_256x128x128_s3_sm120", "cutlass.nvfp4_128x256x256_s2_sm120"};
  for (const gpu_kernels::Kernel& kernel : gpu_kernels::kKernels) {
    bool reached = false;
    for (const std::string_view hardware : hardware_names()) {
      for (const MoeProblem& problem : problems) {
        const std::optional<Refusal> refusal = gpu_kernels::refuse(kernel, problem, find_hardware(hardware));
        ASSERT_TRUE(refusal) << kernel.name;
        reached = reached || refusal->code == kAbsent;
      }
    }
    EXPECT_EQ(reached, never_fit.count(kernel.name) == 0) << kernel.name;
  }
}

TEST(GpuKernels, MakingOneFailsWithItsName) {
  const std::string message = testing::error_of(ErrorCode::unsupported, [] {
    find_expert_backend("cuda.fp4_rows")->make(find_moe_shape("glm5"), find_hardware("h200"), {});
  });
  EXPECT_TRUE(contains(message, "cuda.fp4_rows"));
}

}  // namespace
}  // namespace octet
