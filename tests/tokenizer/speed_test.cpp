// Time that grows with the text only, whatever the text is. Processor time, so that a busy machine changes little.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "small_tokenizer.h"
#include "tokenizer/normalizer.h"

namespace octet {
namespace {

constexpr size_t kMegabyte = 1 << 20;
constexpr const char* kFiles[] = {"/models/tiny-glm5-nvfp4/tokenizer.json", "/tests/tokenizer/data/qwen3_style.json",
                                  "/tests/tokenizer/data/deepseek_style.json",
                                  "/tests/tokenizer/data/gpt_oss_style.json"};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string repeat(std::string_view part) {
  std::string text;
  while (text.size() < kMegabyte) text += part;
  return text;
}

std::string random_letters() {
  std::mt19937 random(1);
  std::string text(kMegabyte, ' ');
  for (char& c : text) c = static_cast<char>('a' + random() % 26);
  return text;
}

void expect_quick_round_trip(const Tokenizer& tokenizer, const std::string& text) {
  const double begin_s = cpu_seconds();
  const std::vector<TokenId> ids = tokenizer.encode(text);
  EXPECT_LT(cpu_seconds() - begin_s, 1.0 * OCTET_TIME_ALLOWANCE) << text.substr(0, 8);
  EXPECT_EQ(tokenizer.decode(ids), text);
}

TEST(OneMegabyte, WithoutSpacesOrOfSpacesTokenizesInUnderASecondAndComesBack) {
  const Tokenizer tokenizer = Tokenizer::load(std::string(OCTET_SOURCE_DIR) + kFiles[0]);
  for (const std::string& text : {random_letters(), repeat("a"), repeat(" ")}) expect_quick_round_trip(tokenizer, text);
}

TEST(OneMegabyte, OfAnyKindInAnyStyleTokenizesInUnderASecondAndComesBackSlow) {
  const std::vector<std::string> texts = {
      random_letters(), repeat("a"),    repeat("A"),  repeat(" "),      repeat("\n"),      repeat("0"),    repeat("!"),
      repeat(" a"),     repeat("the "), repeat("'s"), repeat("\u4e2d"), repeat(" ") + "x", repeat("<|us"), repeat("<")};
  for (const char* file : kFiles) {
    SCOPED_TRACE(file);
    const Tokenizer tokenizer = Tokenizer::load(std::string(OCTET_SOURCE_DIR) + file);
    for (const std::string& text : texts) expect_quick_round_trip(tokenizer, text);
  }
}

TEST(OneMegabyte, OfCombiningMarksNormalizesInUnderASecond) {
  const Normalizer nfc({Normalizer::Form::nfc});
  const std::string text = "a" + repeat("\u0301\u0323");  // out of canonical order all the way
  const double begin_s = cpu_seconds();
  const std::string normalized = nfc.apply(text);
  EXPECT_LT(cpu_seconds() - begin_s, 1.0 * OCTET_TIME_ALLOWANCE);
  EXPECT_EQ(normalized.substr(0, 3), "\u1ea1");  // a with the dot below, which goes first
}

// A vocabulary of 150,000 tokens, each made by one merge, as large as those of the published models.
std::string large_tokenizer() {
  Json document = test::small_tokenizer();
  Json& vocab = document["model"]["vocab"];
  Json& merges = document["model"]["merges"];
  std::mt19937 random(9);
  std::vector<std::string> tokens;
  for (const auto& [spelling, id] : vocab.items()) tokens.push_back(spelling);
  document["added_tokens"] = Json::array();
  for (int id = 259; id < 150'000;) {
    const std::string& left = tokens[random() % tokens.size()];
    const std::string& right = tokens[random() % 256];
    if (left.size() > 12 || vocab.contains(left + right)) continue;
    merges.push_back(Json::array({left, right}));
    vocab[left + right] = id++;
    tokens.push_back(left + right);
  }
  return document.dump();
}

TEST(LoadTime, OfALargeVocabularyIsUnderASecond) {
  const std::string json = large_tokenizer();
  const double begin_s = cpu_seconds();
  const Tokenizer tokenizer = Tokenizer::parse(json, "tokenizer.json");
  EXPECT_LT(cpu_seconds() - begin_s, 1.0 * OCTET_TIME_ALLOWANCE);
  EXPECT_EQ(tokenizer.vocab_size(), 150'000);
}

TEST(LoadTime, OfTheBundledTokenizerIsUnder50Milliseconds) {
  const double begin_s = cpu_seconds();
  const Tokenizer tokenizer = Tokenizer::load(std::string(OCTET_SOURCE_DIR) + kFiles[0]);
  EXPECT_LT(cpu_seconds() - begin_s, 0.05 * OCTET_TIME_ALLOWANCE);
  EXPECT_EQ(tokenizer.vocab_size(), 8192);
}

}  // namespace
}  // namespace octet
