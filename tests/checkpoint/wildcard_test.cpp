#include "checkpoint/wildcard.h"

#include <gtest/gtest.h>

#include <string>

namespace octet {
namespace {

TEST(Wildcard, PlainNamesMatchExactly) {
  EXPECT_TRUE(matches_wildcard("lm_head", "lm_head"));
  EXPECT_FALSE(matches_wildcard("lm_head", "lm_head2"));
  EXPECT_FALSE(matches_wildcard("lm_head", "model.lm_head"));
  EXPECT_TRUE(matches_wildcard("", ""));
  EXPECT_FALSE(matches_wildcard("", "a"));
}

TEST(Wildcard, StarIsAnyRunAndLayerNumbersAreTextNotNumbers) {
  EXPECT_TRUE(matches_wildcard("model.layers.7*", "model.layers.78.mlp"));
  EXPECT_TRUE(matches_wildcard("model.layers.7*", "model.layers.7"));
  EXPECT_FALSE(matches_wildcard("model.layers.1.*", "model.layers.10.mlp"));
  EXPECT_TRUE(matches_wildcard("*.self_attn.*_proj", "model.layers.3.self_attn.indexer.weights_proj"));
  EXPECT_FALSE(matches_wildcard("*.self_attn.*_proj", "model.layers.3.self_attn.q_norm"));
  EXPECT_TRUE(matches_wildcard("*", ""));
}

TEST(Wildcard, QuestionMarkIsOneCharacter) {
  EXPECT_TRUE(matches_wildcard("layer.?", "layer.3"));
  EXPECT_FALSE(matches_wildcard("layer.?", "layer.33"));
  EXPECT_FALSE(matches_wildcard("layer.?", "layer."));
}

TEST(Wildcard, SetsMatchTheirMembersAndRangesOrTheOthers) {
  EXPECT_TRUE(matches_wildcard("layer.[0-2x]", "layer.1"));
  EXPECT_TRUE(matches_wildcard("layer.[0-2x]", "layer.x"));
  EXPECT_FALSE(matches_wildcard("layer.[0-2x]", "layer.3"));
  EXPECT_FALSE(matches_wildcard("layer.[!0-2]", "layer.1"));
  EXPECT_TRUE(matches_wildcard("layer.[!0-2]", "layer.3"));
  EXPECT_TRUE(matches_wildcard("[]]", "]"));
  EXPECT_TRUE(matches_wildcard("[-a]", "-"));
  EXPECT_TRUE(matches_wildcard("[a", "[a"));
}

TEST(Wildcard, ManyStarsOnALongTextTakeNoExponentialTime) {
  const std::string text(20000, 'a');
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(matches_wildcard(pattern + "b", text));
  EXPECT_TRUE(matches_wildcard(pattern, text));
}

}  // namespace
}  // namespace octet
