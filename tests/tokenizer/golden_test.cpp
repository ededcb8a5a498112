// Ids against those of the checkpoint's reference and of Python's `tokenizers` (golden.json, by make_golden.py).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace octet {
namespace {

constexpr int64_t kMaxFileBytes = 1 << 24;

std::string source_path(const std::string& relative) { return OCTET_SOURCE_DIR "/" + relative; }

Json read_json(const std::string& relative) {
  return parse_json(read_text_file(source_path(relative), kMaxFileBytes), relative, ErrorCode::bad_file);
}

std::vector<TokenId> ids_of(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : list) ids.push_back(TokenId{id.get<int32_t>()});
  return ids;
}

std::string printed(const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) text += std::to_string(id.value) + " ";
  return text;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, DecodeOptions options) {
  StreamDecoder decoder(tokenizer, options);
  std::string text;
  for (const TokenId id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

TEST(BundledTokenizer, GoldenTextsGiveTheReferenceIdsAndComeBack) {
  const Tokenizer tokenizer = Tokenizer::load(source_path("models/tiny-glm5-nvfp4/tokenizer.json"));
  const Json golden = read_json("models/tiny-glm5-nvfp4/golden/golden.json");
  ASSERT_FALSE(golden.at("prompts").empty());
  for (const Json& prompt : golden.at("prompts")) {
    const std::string text = prompt.at("text");
    const std::vector<TokenId> ids = ids_of(prompt.at("ids"));
    EXPECT_EQ(printed(tokenizer.encode(text)), printed(ids)) << text;
    EXPECT_EQ(tokenizer.decode(ids), text);
    const std::vector<TokenId> greedy = ids_of(prompt.at("greedy_ids"));
    EXPECT_EQ(tokenizer.decode(greedy, {.skip_special = true}), prompt.at("greedy_text"));
    EXPECT_EQ(streamed(tokenizer, greedy, {.skip_special = true}), prompt.at("greedy_text"));
  }
}

TEST(PythonTokenizers, EveryTextAndStyleGivesTheSameIdsAndText) {
  const Json golden = read_json("tests/tokenizer/golden.json");
  const Json& texts = golden.at("texts");
  for (const Json& entry : golden.at("tokenizers")) {
    const std::string file = entry.at("file");
    const Tokenizer tokenizer = Tokenizer::load(source_path(file));
    ASSERT_EQ(entry.at("cases").size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const Json& expected = entry.at("cases")[i];
      const std::string text = texts[i];
      SCOPED_TRACE(file + ": " + texts[i].dump());
      const std::vector<TokenId> ids = ids_of(expected.at("ids"));
      const auto ids_or_same = [&](const char* key) { return expected.contains(key) ? ids_of(expected[key]) : ids; };
      EXPECT_EQ(printed(tokenizer.encode(text)), printed(ids));
      EXPECT_EQ(printed(tokenizer.encode(text, {.add_special_tokens = true})), printed(ids_or_same("with_added")));
      EXPECT_EQ(printed(tokenizer.encode(text, {.match_special_tokens = false})),
                printed(ids_or_same("special_as_text")));
      const std::string decoded = expected.value("decoded", text);
      const std::string skipping = expected.value("decoded_skipping", decoded);
      EXPECT_EQ(tokenizer.decode(ids), decoded);
      EXPECT_EQ(tokenizer.decode(ids, {.skip_special = true}), skipping);
      EXPECT_EQ(streamed(tokenizer, ids, {.skip_special = true}), skipping);
    }
  }
}

}  // namespace
}  // namespace octet
