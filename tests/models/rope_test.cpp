// Rotary frequencies against independently computed numbers.

#include "models/rope.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace octet {
namespace {

Rope rope_of(const std::string& json, int64_t width, int64_t max_positions = 4096) {
  const Json config = parse_json(json, "config.json", ErrorCode::bad_config);
  return read_rope(ConfigReader(config, "config.json"), width, 1e4, max_positions);
}

/// f_0, f_11, f_15, f_20 and f_31 of a rope of width 64.
void expect_frequencies(const Rope& rope, const std::array<double, 5>& expected) {
  const std::array<size_t, 5> index = {0, 11, 15, 20, 31};
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(rope.frequencies[index[i]] / expected[i], 1, 2e-6) << "f_" << index[i];
}

TEST(Rope, YarnMatchesDeepSeekV3) {
  const Rope rope = rope_of(R"({"rope_theta": 10000, "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32,
      "beta_slow": 1, "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 4096}})",
                            64);
  expect_frequencies(rope, {1, 3.90069266e-2, 8.33450895e-3, 7.90569415e-4, 3.33380358e-6});
  EXPECT_DOUBLE_EQ(rope.attention_factor, 1);
  EXPECT_NEAR(rope.softmax_factor, 1.873854, 1e-6);
}

TEST(Rope, YarnMatchesKimiK2) {
  const Rope rope =
      rope_of(R"({"rope_parameters": {"rope_theta": 50000, "rope_type": "yarn", "factor": 32, "beta_fast": 1,
      "beta_slow": 1, "mscale": 1, "mscale_all_dim": 1, "original_max_position_embeddings": 4096}})",
              64);
  expect_frequencies(rope, {1, 2.42509670e-2, 6.27130338e-3, 3.61404677e-5, 8.76441291e-7});
}

TEST(Rope, YarnWithoutTruncationMatchesGptOss) {
  const Rope rope =
      rope_of(R"({"rope_theta": 150000, "rope_scaling": {"rope_type": "yarn", "factor": 32, "beta_fast": 32,
      "beta_slow": 1, "original_max_position_embeddings": 4096, "truncate": false}})",
              64);
  expect_frequencies(rope, {1, 1.15920493e-2, 1.05260210e-3, 1.81883367e-5, 3.02351143e-7});
  EXPECT_NEAR(rope.attention_factor, 1.34657359, 1e-8);
  EXPECT_DOUBLE_EQ(rope.softmax_factor, 1);
}

TEST(Rope, ExplicitAttentionFactorWins) {
  const Rope rope = rope_of(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4, "attention_factor": 0.75,
      "original_max_position_embeddings": 32}})",
                            32);
  EXPECT_DOUBLE_EQ(rope.attention_factor, 0.75);
}

TEST(Rope, BaseOfRopeParametersBeatsTheOneOutside) {
  const Rope inside =
      rope_of(R"({"rope_theta": 5, "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"}})", 4);
  EXPECT_NEAR(inside.frequencies[1], 1e-3, 1e-9);
  EXPECT_NEAR(rope_of(R"({"rope_theta": 1000000})", 4).frequencies[1], 1e-3, 1e-9);
  EXPECT_NEAR(rope_of("{}", 4).frequencies[1], 1e-2, 1e-8);
}

TEST(Rope, LinearDividesFrequencies) {
  const Rope rope = rope_of(R"({"rope_scaling": {"rope_type": "linear", "factor": 8}})", 4);
  EXPECT_FLOAT_EQ(rope.frequencies[0], 0.125f);
}

TEST(Rope, UnknownTypeIsRefusedWithTheTypesThatWork) {
  const std::string message = testing::error_of(
      ErrorCode::unsupported, [] { rope_of(R"({"rope_scaling": {"rope_type": "longrope", "factor": 8}})", 4); });
  EXPECT_TRUE(testing::contains(message, "longrope"));
  EXPECT_TRUE(testing::contains(message, "yarn"));
}

TEST(Rope, TableRotatesBothPairings) {
  // d = 4, base 10000, position 3, x = [1, 2, 3, 4].
  Arena arena(1 << 12);
  const std::vector<int64_t> positions = {3};
  const RopeTable table = make_rope_table(rope_of("{}", 4), positions, arena);
  ThreadPool threads(1);
  const std::unique_ptr<Ops> ops = make_reference_ops(threads);
  std::vector<float> half = {1, 2, 3, 4}, interleaved = half;
  ops->rope(View2<float>(half.data(), 1, 4), 1, 0, table, RopeTable::Pairing::half_split);
  ops->rope(View2<float>(interleaved.data(), 1, 4), 1, 0, table, RopeTable::Pairing::interleaved);
  const std::vector<float> expected_half = {-1.413353f, 1.879118f, -2.828857f, 4.058191f};
  const std::vector<float> expected_interleaved = {-1.272233f, -1.838865f, 2.878668f, 4.088187f};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(half[i], expected_half[i], 2e-6);
    EXPECT_NEAR(interleaved[i], expected_interleaved[i], 2e-6);
  }
}

}  // namespace
}  // namespace octet
