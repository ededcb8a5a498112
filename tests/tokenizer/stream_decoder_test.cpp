#include "tokenizer/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "small_tokenizer.h"
#include "tokenizer/utf8.h"

namespace octet {
namespace {

constexpr std::string_view kGap = utf8::kReplacement;

class Stream : public testing::Test {
 protected:
  std::string push(int id) { return decoder_.push(TokenId{id}); }
  const Tokenizer tokenizer_ = test::parse(test::small_tokenizer());
  StreamDecoder decoder_{tokenizer_};
};

TEST_F(Stream, ShowsACharacterOnlyWhenItIsWhole) {
  EXPECT_EQ(push('x'), "x");
  EXPECT_EQ(push(0xF0), "");
  EXPECT_EQ(push(0x9F), "");
  EXPECT_EQ(push(0x91), "");
  EXPECT_EQ(push(0x8D), "\U0001F44D");
  EXPECT_EQ(decoder_.finish(), "");
}

TEST_F(Stream, FinishFlushesAnIncompleteCharacterAsOneReplacement) {
  push(0xE4);
  EXPECT_EQ(push(0xB8), "");
  EXPECT_EQ(decoder_.finish(), kGap);
  EXPECT_EQ(decoder_.finish(), "");
}

TEST_F(Stream, BytesThatCannotContinueAreReplacedAtOnce) {
  EXPECT_EQ(push(0xFF), kGap);
  EXPECT_EQ(push(0xE4), "");
  EXPECT_EQ(push('y'), std::string(kGap) + "y");
  EXPECT_EQ(push(0xED), "");  // a surrogate: its second byte is already wrong
  EXPECT_EQ(push(0xA0), std::string(kGap) + std::string(kGap));
}

TEST_F(Stream, SpecialTokensAreSkippedWithoutBreakingACharacter) {
  StreamDecoder skipping(tokenizer_, {.skip_special = true});
  EXPECT_EQ(skipping.push(TokenId{0xC3}), "");
  EXPECT_EQ(skipping.push(TokenId{259}), "");
  EXPECT_EQ(skipping.push(TokenId{0xA9}), "\u00e9");
  EXPECT_EQ(push(259), "<s>");
}

TEST_F(Stream, RandomBytesGiveTheTextOfDecodeInWholeCharacters) {
  std::mt19937 random(3);
  // Few values, so that real characters, overlong forms and surrogates come up often.
  constexpr int kBytes[] = {'a', 0x80, 0x8D, 0x9F, 0xA0, 0xBF, 0xC0, 0xC3, 0xE0, 0xE4, 0xED, 0xF0, 0xF4, 0xF5, 0xFF};
  for (int round = 0; round < 2000; ++round) {
    std::vector<TokenId> ids;
    std::string streamed;
    for (int i = 0; i < 12; ++i) {
      ids.push_back(TokenId{kBytes[random() % std::size(kBytes)]});
      const std::string shown = decoder_.push(ids.back());
      EXPECT_TRUE(utf8::is_valid(shown));
      streamed += shown;
    }
    streamed += decoder_.finish();
    EXPECT_EQ(streamed, tokenizer_.decode(ids));
  }
}

// Expected values from Python: bytes.decode("utf-8", errors="replace").
TEST(ReplaceInvalid, FollowsPython) {
  const auto with_gaps = [](std::string text) {
    for (size_t at = 0; (at = text.find('?', at)) != std::string::npos; at += kGap.size()) text.replace(at, 1, kGap);
    return text;
  };
  const std::pair<std::string_view, const char*> cases[] = {{"\xC0\x80", "??"},
                                                            {"\xE0\x80\x80", "???"},
                                                            {"\xE4\xB8", "?"},
                                                            {"\xE4\xB8z", "?z"},
                                                            {"\xED\xA0\x80", "???"},
                                                            {"\xF0\x80\x80\x80", "????"},
                                                            {"\xF0\x9F\x91", "?"},
                                                            {"\xF0\x9F\x91\xF0", "??"},
                                                            {"\xF4\x90\x80\x80", "????"},
                                                            {"\xF5\x80", "??"},
                                                            {"\x80z\xBF", "?z?"},
                                                            {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBFz", "????z"},
                                                            {"\xC3\xA9", "\u00e9"},
                                                            {"", ""}};
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(utf8::replace_invalid(bytes), with_gaps(expected));
}

}  // namespace
}  // namespace octet
