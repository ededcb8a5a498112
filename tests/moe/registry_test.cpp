// Choosing an expert backend: by rule, by name, and refusing with every reason.

#include <gtest/gtest.h>

#include "moe/experts/experts.h"
#include "support/error_of.h"

namespace octet {
namespace {

MoeProblem nvfp4_problem() {
  return {.shape = {.num_tokens = 1, .hidden = 256, .expert_width = 128, .num_experts = 64, .top_k = 8},
          .gate_up = kNvfp4Weight,
          .down = kNvfp4Weight};
}

DeviceInfo gpu() {
  DeviceInfo device;
  device.name = "h200";
  device.kind = DeviceKind::cuda;
  return device;
}

std::string refusal_of(const MoeProblem& problem, const DeviceInfo& device, std::string_view forced) {
  return testing::error_of(ErrorCode::unsupported, [&] { choose_expert_backend(problem, device, forced); });
}

TEST(ChooseExpertBackend, TheSmallestBoundWins) {
  EXPECT_EQ(choose_expert_backend(nvfp4_problem(), this_cpu(), "").name, "cpu.rows");
  EXPECT_EQ(choose_expert_backend(nvfp4_problem(), this_cpu(), "auto").name, "cpu.rows");
}

TEST(ChooseExpertBackend, AFormatThatTheFastBackendRefusesGoesToTheReference) {
  MoeProblem problem = nvfp4_problem();
  problem.down.permuted = true;
  EXPECT_EQ(choose_expert_backend(problem, this_cpu(), "").name, "reference");
}

TEST(ChooseExpertBackend, AForcedNameOrAliasRunsOrFailsButIsNeverReplaced) {
  EXPECT_EQ(choose_expert_backend(nvfp4_problem(), this_cpu(), "reference").name, "reference");
  EXPECT_EQ(choose_expert_backend(nvfp4_problem(), this_cpu(), "cpu").name, "cpu.rows");
  MoeProblem problem = nvfp4_problem();
  problem.down.permuted = true;
  const std::string message = refusal_of(problem, this_cpu(), "cpu.rows");
  EXPECT_TRUE(testing::contains(message, "cpu.rows: refused:"));
  EXPECT_TRUE(testing::contains(message, "reference: not what \"cpu.rows\" names"));
}

TEST(ChooseExpertBackend, AnAliasWithoutABackendInThisBuildListsThemAll) {
  const std::string message = refusal_of(nvfp4_problem(), this_cpu(), "marlin");
  for (const ExpertBackendEntry& entry : expert_backends()) {
    EXPECT_TRUE(testing::contains(message, std::string(entry.name)));
  }
}

TEST(ChooseExpertBackend, NothingRunsOnADeviceThatThisBuildHasNoCodeFor) {
  EXPECT_TRUE(testing::contains(refusal_of(nvfp4_problem(), gpu(), ""), "h200"));
}

TEST(ListExpertBackends, KeepsTableOrderWithABoundOrAReasonEach) {
  const std::vector<BackendCandidate> candidates = list_expert_backends(nvfp4_problem(), gpu());
  ASSERT_EQ(candidates.size(), expert_backends().size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_EQ(candidates[i].entry, &expert_backends()[i]);
    EXPECT_GT(candidates[i].bound_us, 0);
    ASSERT_TRUE(candidates[i].refusal.has_value());
    EXPECT_FALSE(candidates[i].refusal->reason.empty());
  }
}

TEST(FindExpertBackend, KnowsExactNamesOnly) {
  EXPECT_NE(find_expert_backend("cpu.rows"), nullptr);
  EXPECT_EQ(find_expert_backend("cpu"), nullptr);
}

}  // namespace
}  // namespace octet
