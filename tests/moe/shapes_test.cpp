// Expert layers by name.
#include "moe/experts/shapes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "moe/experts/bound.h"
#include "support/error_of.h"

namespace octet {
namespace {

TEST(MoeShapes, EveryNameIsALayerWhoseWidthsHoldWholeBlocksOfScales) {
  for (const std::string_view name : moe_shape_names()) {
    const MoeProblem problem = find_moe_shape(name);
    EXPECT_EQ(problem.shape.num_tokens, 1) << name;
    EXPECT_LT(problem.shape.top_k, problem.shape.num_experts) << name;
    EXPECT_EQ(problem.shape.hidden % problem.gate_up.block_columns, 0) << name;
    EXPECT_EQ(problem.shape.expert_width % problem.down.block_columns, 0) << name;
  }
}

TEST(MoeShapes, NamesAreUnique) {
  const std::set<std::string_view> names(moe_shape_names().begin(), moe_shape_names().end());
  EXPECT_EQ(names.size(), moe_shape_names().size());
}

TEST(MoeShapes, ARankOfEightHasAnEighthOfEveryExpert) {
  for (const std::string name : {"glm5", "qwen3-235b-a22b", "deepseek-v3"}) {
    const MoeProblem whole = find_moe_shape(name), part = find_moe_shape(name + "-tp8");
    EXPECT_EQ(whole.ranks.num_ranks, 1);
    EXPECT_EQ(part.ranks.num_ranks, 8);
    EXPECT_EQ(expert_bytes(whole), 8 * expert_bytes(part));
    EXPECT_EQ(whole.shape.num_experts, part.shape.num_experts);
  }
}

TEST(MoeShapes, ParametersInExpertsAreThosePublished) {
  // Layers with experts times parameters of a layer's experts, in 1e9: GLM-5 725, Qwen3-235B 227, gpt-oss-120b 115.
  const auto billions = [](std::string_view name, int layers) {
    const MoeShape s = find_moe_shape(name).shape;
    return static_cast<double>(layers) * s.num_experts * 3e-9 * static_cast<double>(s.hidden * s.expert_width);
  };
  EXPECT_NEAR(billions("glm5", 75), 725, 1);
  EXPECT_NEAR(billions("qwen3-30b-a3b", 48), 29, 0.5);
  EXPECT_NEAR(billions("qwen3-235b-a22b", 94), 227, 1);
  EXPECT_NEAR(billions("deepseek-v3", 58), 654, 1);
  EXPECT_NEAR(billions("gpt-oss-20b", 24), 19.1, 0.1);
  EXPECT_NEAR(billions("gpt-oss-120b", 36), 114.7, 0.1);
}

TEST(MoeShapes, AnUnknownNameIsBadUsageThatListsTheKnownOnes) {
  const std::string message = testing::error_of(ErrorCode::bad_usage, [] { find_moe_shape("glm-5"); });
  EXPECT_TRUE(testing::contains(message, "\"glm-5\""));
  for (const std::string_view name : moe_shape_names()) EXPECT_TRUE(testing::contains(message, std::string(name)));
}

TEST(ExpertReadTime, IsThatOfTheDistinctExpertsThatUniformRoutingVisits) {
  // 4.7 us for the 8 experts of one token of GLM-5 on one of eight H200s.
  MoeProblem problem = find_moe_shape("glm5-tp8");
  EXPECT_NEAR(expert_bytes(problem), 3 * 6144 * 256 * 0.5625, 1e-6);
  DeviceInfo device;
  device.read_gbs = 4550;
  EXPECT_NEAR(expected_experts(problem.shape), 8, 1e-9);
  EXPECT_NEAR(expert_read_us(problem, device), 4.67, 0.01);
  problem.shape.num_tokens = 16;
  EXPECT_NEAR(expected_experts(problem.shape), 256 * (1 - std::pow(1 - 8.0 / 256, 16)), 1e-9);
}

TEST(ExpertReadTime, IsNothingWithoutTokens) {
  MoeProblem problem = find_moe_shape("glm5");
  problem.shape.num_tokens = 0;
  EXPECT_EQ(expert_read_us(problem, {}), 0);
  EXPECT_EQ(expected_experts({}), 0);
}

}  // namespace
}  // namespace octet
