#include "tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <thread>

#include "small_tokenizer.h"

namespace octet {
namespace {

using test::parse;
using test::small_tokenizer;

std::vector<int32_t> values(const std::vector<TokenId>& ids) {
  std::vector<int32_t> out;
  for (const TokenId id : ids) out.push_back(id.value);
  return out;
}
using Ids = std::vector<int32_t>;

TEST(Tokenizer, MergesFollowTheirRankInBothSpellingsOfTheFile) {
  const Tokenizer tokenizer = parse(small_tokenizer());
  EXPECT_EQ(values(tokenizer.encode("abc")), (Ids{257}));
  EXPECT_EQ(values(tokenizer.encode("ab abc")), (Ids{256, ' ', 257}));  // "a b" ranks before the space's merge
  EXPECT_EQ(values(tokenizer.encode(" aab")), (Ids{258, 256}));
}

TEST(Tokenizer, EmptyTextHasNoIds) { EXPECT_TRUE(parse(small_tokenizer()).encode("").empty()); }

TEST(Tokenizer, SpecialTokensInTextAreTextWhenNotMatched) {
  const Tokenizer tokenizer = parse(small_tokenizer());
  EXPECT_EQ(values(tokenizer.encode("<s><tool>")), (Ids{259, 260}));
  EXPECT_EQ(values(tokenizer.encode("<s><tool>", {.match_special_tokens = false})), (Ids{'<', 's', '>', 260}));
}

TEST(Tokenizer, SkipSpecialLeavesOutSpecialTokensOnly) {
  const Tokenizer tokenizer = parse(small_tokenizer());
  const std::vector<TokenId> ids = tokenizer.encode("<s>a<tool>b<s>");
  EXPECT_EQ(tokenizer.decode(ids), "<s>a<tool>b<s>");
  EXPECT_EQ(tokenizer.decode(ids, {.skip_special = true}), "a<tool>b");
}

TEST(Tokenizer, FindTakesPlainTextAndGivesTheId) {
  const Tokenizer tokenizer = parse(small_tokenizer());
  EXPECT_EQ(tokenizer.find(" a"), TokenId{258});
  EXPECT_EQ(tokenizer.find("<tool>"), TokenId{260});
  EXPECT_EQ(tokenizer.find("\n"), TokenId{'\n'});
  EXPECT_EQ(tokenizer.find("zz"), std::nullopt);
}

TEST(Tokenizer, IdsOutsideTheVocabularyStandForNothing) {
  const Tokenizer tokenizer = parse(small_tokenizer());
  EXPECT_EQ(tokenizer.vocab_size(), 261);
  const std::vector<TokenId> ids = {TokenId{-1}, TokenId{'x'}, TokenId{261}, TokenId{INT32_MAX}};
  EXPECT_EQ(tokenizer.decode(ids), "x");
  EXPECT_EQ(tokenizer.token_bytes(TokenId{261}), "");
  EXPECT_FALSE(tokenizer.is_special(TokenId{261}));
}

TEST(Tokenizer, AGapBetweenIdsStandsForNothing) {
  Json document = small_tokenizer();
  document["added_tokens"][1]["id"] = 300;
  const Tokenizer tokenizer = parse(document);
  EXPECT_EQ(tokenizer.vocab_size(), 301);
  EXPECT_EQ(tokenizer.token_bytes(TokenId{280}), "");
  EXPECT_EQ(values(tokenizer.encode("<tool>")), (Ids{300}));
}

TEST(Tokenizer, BytesThatAreNotUtf8EncodeAsReplacementCharacters) {
  const Tokenizer tokenizer = parse(small_tokenizer());
  EXPECT_EQ(tokenizer.encode("a\xFF\xE4\xB8z\xED\xA0\x80"), tokenizer.encode("a\uFFFD\uFFFDz\uFFFD\uFFFD\uFFFD"));
}

TEST(Tokenizer, EveryByteSurvivesARoundTripThroughItsToken) {
  const Tokenizer tokenizer = parse(small_tokenizer());
  for (int byte = 0; byte < 256; ++byte) {
    const std::string_view bytes = tokenizer.token_bytes(TokenId{byte});
    ASSERT_EQ(bytes.size(), 1u);
    EXPECT_EQ(static_cast<unsigned char>(bytes[0]), byte);
  }
}

TEST(Tokenizer, TemplateAddsItsTokensOnlyWhenAsked) {
  Json document = small_tokenizer();
  const auto special = [](const char* id) { return Json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}}; };
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  document["post_processor"] = {{"type", "TemplateProcessing"},
                                {"single", {special("bos"), text, special("eos")}},
                                {"special_tokens", {{"bos", {{"ids", {259}}}}, {"eos", {{"ids", {260, 259}}}}}}};
  const Tokenizer tokenizer = parse(document);
  EXPECT_EQ(values(tokenizer.encode("x")), (Ids{'x'}));
  EXPECT_EQ(values(tokenizer.encode("x", {.add_special_tokens = true})), (Ids{259, 'x', 260, 259}));
}

TEST(Tokenizer, IgnoreMergesTakesAWholePieceThatMergesCannotMake) {
  Json document = small_tokenizer();
  document["model"]["vocab"]["xyz"] = 300;
  EXPECT_EQ(values(parse(document).encode("xyz xyz")), (Ids{'x', 'y', 'z', ' ', 'x', 'y', 'z'}));
  document["model"]["ignore_merges"] = true;
  EXPECT_EQ(values(parse(document).encode("xyz xyz")), (Ids{300, ' ', 'x', 'y', 'z'}));
}

TEST(Tokenizer, BytesWithoutATokenAreDroppedOrUnknown) {
  Json document = small_tokenizer();
  document["model"]["vocab"].erase("q");
  EXPECT_EQ(values(parse(document).encode("aqqb")), (Ids{256}));
  document["model"]["vocab"]["<unk>"] = 301;
  document["model"]["unk_token"] = "<unk>";
  EXPECT_EQ(values(parse(document).encode("aqqb")), (Ids{'a', 301, 301, 'b'}));
  document["model"]["fuse_unk"] = true;
  EXPECT_EQ(values(parse(document).encode("aqqb")), (Ids{'a', 301, 'b'}));
}

TEST(Tokenizer, AnAddedTokenMayRepeatATokenOfTheModel) {
  Json document = small_tokenizer();
  document["added_tokens"][0]["id"] = 257;
  document["added_tokens"][0]["content"] = "abc";
  const Tokenizer tokenizer = parse(document);
  EXPECT_EQ(values(tokenizer.encode("xabcx")), (Ids{'x', 257, 'x'}));
  EXPECT_TRUE(tokenizer.is_special(TokenId{257}));
}

TEST(Tokenizer, ManyThreadsGetTheSameIds) {
  const Tokenizer tokenizer = Tokenizer::load(OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4/tokenizer.json");
  const std::string text = "[gMASK]<sop><|user|>What's a 12345 walrus?\n\n  caf\u00e9<|assistant|>";
  const std::vector<TokenId> expected = tokenizer.encode(text);
  std::vector<int> mismatches(4, 0);
  std::vector<std::thread> threads;
  for (int& count : mismatches) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) count += tokenizer.encode(text) != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mismatches, std::vector<int>(4, 0));
}

TEST(Tokenizer, AMovedTokenizerStillFindsItsTokens) {
  Tokenizer first = parse(small_tokenizer());
  const Tokenizer second = std::move(first);
  EXPECT_EQ(second.find("abc"), TokenId{257});
  EXPECT_EQ(values(second.encode("abc<s>")), (Ids{257, 259}));
}

}  // namespace
}  // namespace octet
