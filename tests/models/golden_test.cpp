// Whole models against the answers of the Hugging Face implementation (tests/data/README.md,
// tests/data/make_variants.py).

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/verify.h"

namespace octet {
namespace {

/// Verifies one checkpoint on all paths and says which number is wrong.
void expect_matches_golden(const std::string& folder) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  ThreadPool threads;
  const VerifyResult result = verify(checkpoint, threads, {.golden_dir = folder + "/golden"});
  ASSERT_EQ(result.golden.size(), 3u);
  for (const GoldenCheck& check : result.golden) {
    EXPECT_TRUE(check.ok) << check.path << ": nmse " << check.max_nmse << ", flips " << check.flips << ", unexplained "
                          << check.unexplained_flips << ", greedy equal " << check.greedy_equal << ", router equal "
                          << check.router_equal;
  }
  for (const BackendCheck& check : result.backends) {
    EXPECT_TRUE(check.ok) << check.name << ": nmse " << check.nmse << " " << check.reason;
  }
  EXPECT_TRUE(result.ok);
}

std::vector<std::string> variants() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(OCTET_SOURCE_DIR "/tests/data/variants")) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class RandomCheckpoints : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomCheckpoints, EveryPathMatchesTheGoldenAnswers) {
  expect_matches_golden(OCTET_SOURCE_DIR "/tests/data/" + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Models, RandomCheckpoints,
                         ::testing::Values("glm5-dsa", "glm52-dsa-shared-index", "qwen3-moe"), test_name);

class Variants : public ::testing::TestWithParam<std::string> {};

TEST_P(Variants, EveryPathMatchesTheGoldenAnswers) {
  expect_matches_golden(OCTET_SOURCE_DIR "/tests/data/variants/" + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Models, Variants, ::testing::ValuesIn(variants()), test_name);

TEST(BundledModel, EveryPathMatchesTheGoldenAnswersSlow) {
  expect_matches_golden(OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4");
}

TEST(Verify, WrongGoldenAnswersAreNotOk) {
  // The answers of one checkpoint judged against the weights of another with the same shapes.
  const std::string folder = OCTET_SOURCE_DIR "/tests/data/variants/";
  const Checkpoint checkpoint = Checkpoint::open(folder + "glm-half-split");
  ThreadPool threads;
  const VerifyResult result = verify(checkpoint, threads, {.golden_dir = folder + "glm-nvfp4/golden"});
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.golden[0].ok);
  EXPECT_GT(result.golden[0].max_nmse, 1e-3);
}

}  // namespace
}  // namespace octet
