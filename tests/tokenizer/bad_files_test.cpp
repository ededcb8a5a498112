// Files that are broken, hostile or beyond what octet reads: always an Error that names the place, never a crash.
#include <gtest/gtest.h>

#include <random>

#include "small_tokenizer.h"

namespace octet {
namespace {

using test::parse;
using test::small_tokenizer;

struct BadFile {
  const char* name;
  const char* place;    // JSON pointer into small_tokenizer()
  Json value;           // put there; discarded: the place is removed
  const char* message;  // part of what the user reads
};

void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }

std::string name_of(const testing::TestParamInfo<BadFile>& test) { return test.param.name; }

const Json kRemoved(Json::value_t::discarded);

Json parse_literal(const char* text) { return Json::parse(text); }

Json split(const char* regex) { return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}}; }

void expect_refusal(const BadFile& file, ErrorCode code) {
  Json document = small_tokenizer();
  const Json::json_pointer place(file.place);
  if (file.value.is_discarded()) {
    document[place.parent_pointer()].erase(place.back());
  } else {
    document[place] = file.value;
  }
  try {
    parse(document);
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(to_string(error.code()), to_string(code)) << message;
    EXPECT_NE(message.find(file.message), std::string::npos) << message;
    EXPECT_EQ(message.rfind("tokenizer.json: ", 0), 0u) << message;
  }
}

std::vector<BadFile> contradictions() {
  return {
      {"NoModel", "/model", kRemoved, "a member \"model\""},
      {"ModelIsText", "/model", "BPE", "model: expected an object"},
      {"NotAnObject", "", Json::array(), "expected an object"},
      {"VocabIsList", "/model/vocab", Json::array(), "model.vocab"},
      {"VocabIsEmpty", "/model/vocab", Json::object(), "model.vocab"},
      {"IdIsNegative", "/model/vocab/a", -1, "model.vocab[\"a\"]"},
      {"IdIsTwoToThe31", "/model/vocab/a", int64_t{1} << 31, "2147483648"},
      {"IdIsTwoToThe64", "/model/vocab/a", UINT64_MAX, "model.vocab[\"a\"]"},
      {"IdIsAFraction", "/model/vocab/a", 1.5, "1.5"},
      {"TwoTokensShareAnId", "/model/vocab/a", 98, "no other token has"},
      {"MergesMissing", "/model/merges", kRemoved, "merges"},
      {"MergeOfUnknownToken", "/model/merges/1", "ab zz", "model.merges[1]"},
      {"MergeOfThree", "/model/merges/0", "a b c", "model.merges[0]"},
      {"MergeOfOne", "/model/merges/0", Json::array({"a"}), "model.merges[0]"},
      {"MergeOfNumbers", "/model/merges/0", {1, 2}, "model.merges[0]"},
      {"UnknownTokenUnknown", "/model/unk_token", "<none>", "model.unk_token"},
      {"AddedIdTaken", "/added_tokens/0/id", 97, "added_tokens[0].id"},
      {"AddedIdTwice", "/added_tokens/1/id", 259, "added_tokens[1].id"},
      {"AddedIdHuge", "/added_tokens/0/id", 1 << 20, "added_tokens[0].id"},
      {"AddedWithoutContent", "/added_tokens/0/content", "", "added_tokens[0].content"},
      {"AddedTooLong", "/added_tokens/0/content", std::string(2000, 'a'), "added_tokens[0].content"},
      {"FlagIsText", "/added_tokens/0/lstrip", "yes", "added_tokens[0].lstrip: expected true or false"},
      {"BehaviorUnknown", "/pre_tokenizer/pretokenizers/0/behavior", "Split", "MergedWithNext"},
      {"PatternMissing", "/pre_tokenizer/pretokenizers/0/pattern", kRemoved, "pattern"},
      {"PatternEmpty", "/pre_tokenizer/pretokenizers/0/pattern", {{"String", ""}}, "not empty"},
      {"TemplateOfUnknownId", "/post_processor",
       parse_literal(R"({"type": "TemplateProcessing", "special_tokens": {"b": {"ids": [1000]}},
                         "single": [{"SpecialToken": {"id": "b"}}, {"Sequence": {"id": "A"}}]})"),
       "special_tokens.b.ids[0]"},
      {"TemplateWithoutText", "/post_processor", parse_literal(R"({"type": "TemplateProcessing", "single": []})"),
       "post_processor.single"},
  };
}

std::vector<BadFile> beyond_octet() {
  return {
      {"WordPiece", "/model/type", "WordPiece", "model.type"},
      {"ByteFallback", "/model/byte_fallback", true, "model.byte_fallback"},
      {"Dropout", "/model/dropout", 0.1, "model.dropout"},
      {"Suffix", "/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix"},
      {"Lowercase", "/normalizer", {{"type", "Lowercase"}}, "normalizer: type \"Lowercase\""},
      {"Metaspace", "/pre_tokenizer", {{"type", "Metaspace"}}, "pre_tokenizer: type \"Metaspace\""},
      {"NoByteLevel", "/pre_tokenizer", nullptr, "ByteLevel"},
      {"SplitBehindByteLevel", "/pre_tokenizer/pretokenizers/-", split("a"), "pre_tokenizer.pretokenizers[2]"},
      {"NoDecoder", "/decoder", nullptr, "decoder"},
      {"WordPieceDecoder", "/decoder", {{"type", "WordPiece"}}, "decoder: type \"WordPiece\""},
      {"BertProcessor", "/post_processor", {{"type", "BertProcessing"}}, "post_processor"},
      {"BrokenRegex", "/pre_tokenizer/pretokenizers/0", split("(a"), "pretokenizers[0].pattern.Regex"},
      {"RegexRecursion", "/pre_tokenizer/pretokenizers/0", split("(?R)a"), "pretokenizers[0].pattern.Regex"},
      {"RegexVerb", "/pre_tokenizer/pretokenizers/0", split("(*SKIP)a"), "(*...)"},
      {"RegexTooLarge", "/pre_tokenizer/pretokenizers/0", split("(((a{1000}){1000}){1000})"), "PCRE2"},
  };
}

class ContradictoryTokenizer : public testing::TestWithParam<BadFile> {};
TEST_P(ContradictoryTokenizer, IsBadAndTheMessageNamesThePlace) {
  expect_refusal(GetParam(), ErrorCode::bad_tokenizer);
}
INSTANTIATE_TEST_SUITE_P(Each, ContradictoryTokenizer, testing::ValuesIn(contradictions()), name_of);

class UnknownKindOfTokenizer : public testing::TestWithParam<BadFile> {};
TEST_P(UnknownKindOfTokenizer, IsUnsupportedAndTheMessageNamesThePlace) {
  expect_refusal(GetParam(), ErrorCode::unsupported);
}
INSTANTIATE_TEST_SUITE_P(Each, UnknownKindOfTokenizer, testing::ValuesIn(beyond_octet()), name_of);

TEST(BadTokenizerText, CutAtAnyPlaceIsRefused) {
  const std::string text = small_tokenizer().dump();
  for (size_t size = 0; size < text.size(); size += 7) {
    EXPECT_THROW(Tokenizer::parse(text.substr(0, size), "tokenizer.json"), Error) << size;
  }
}

TEST(BadTokenizerText, DeepNestingIsRefused) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THROW(Tokenizer::parse(deep, "tokenizer.json"), Error);
  Json nested = {{"type", "ByteLevel"}};
  for (int i = 0; i < 40; ++i) nested = {{"type", "Sequence"}, {"pretokenizers", Json::array({nested})}};
  Json document = small_tokenizer();
  document["pre_tokenizer"] = nested;
  EXPECT_THROW(parse(document), Error);
}

TEST(BadTokenizerText, DuplicateVocabularyEntryIsRefused) {
  std::string text = small_tokenizer().dump();
  text.replace(text.find("\"ab\":256"), 8, "\"ab\":256,\"ab\":261");
  EXPECT_THROW(Tokenizer::parse(text, "tokenizer.json"), Error);
}

TEST(BadTokenizerFile, MissingFileAndDirectoryAreRefused) {
  EXPECT_THROW(Tokenizer::load("/nonexistent/tokenizer.json"), Error);
  EXPECT_THROW(Tokenizer::load(OCTET_SOURCE_DIR), Error);
}

// Encodes too: what a mutation leaves valid must also work.
void parse_and_use(const std::string& json) {
  try {
    const Tokenizer tokenizer = Tokenizer::parse(json, "tokenizer.json");
    const std::vector<TokenId> ids = tokenizer.encode("<s>abc  ab\u00e9\n<tool> 'x'\xFF", {.add_special_tokens = true});
    for (const TokenId id : ids) ASSERT_LT(id.value, tokenizer.vocab_size());
    tokenizer.decode(ids);
  } catch (const Error& error) {
    ASSERT_NE(error.code(), ErrorCode::internal) << error.what();
  }
}

TEST(MutatedTokenizer, ChangedBytesNeverCrash) {
  const std::string text = small_tokenizer().dump();
  std::mt19937 random(7);
  const auto below = [&](size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random); };
  constexpr std::string_view kSyntax = "{}[]\":,0123456789-.eEntf \\\xFF";
  for (int round = 0; round < 2000; ++round) {
    std::string mutated = text;
    // Most of the text is vocabulary; half of the changes go to the rest.
    const size_t begin = round % 2 == 0 ? 0 : text.find("\"merges\"");
    for (size_t change = 0; change <= below(3); ++change) {
      const size_t at = begin + below(mutated.size() - begin);
      switch (below(4)) {
        case 0:
          mutated[at] = static_cast<char>(mutated[at] ^ (1 << below(8)));
          break;
        case 1:
          mutated[at] = kSyntax[below(kSyntax.size())];
          break;
        case 2:
          mutated.erase(at, 1 + below(8));
          break;
        default:
          mutated.insert(at, mutated.substr(begin + below(mutated.size() - begin), 1 + below(16)));
      }
    }
    parse_and_use(mutated);
  }
}

// The places of the document that a mutation can replace; of the vocabulary, itself and one entry.
void collect(Json& node, std::vector<Json*>& places) {
  places.push_back(&node);
  if (!node.is_structured()) return;
  for (auto& [key, child] : node.items()) {
    if (key != "vocab") {
      collect(child, places);
    } else {
      places.insert(places.end(), {&child, &child["ab"]});
    }
  }
}

TEST(MutatedTokenizer, ChangedValuesNeverCrash) {
  std::mt19937 random(11);
  const std::vector<Json> values = {nullptr,
                                    true,
                                    -1,
                                    0,
                                    97,
                                    1 << 20,
                                    int64_t{1} << 31,
                                    UINT64_MAX,
                                    0.5,
                                    "",
                                    "a",
                                    "ByteLevel",
                                    "Sequence",
                                    "Split",
                                    Json::array(),
                                    Json::object(),
                                    Json::array({"a", "b"}),
                                    Json{{"Regex", "(a|b)*c"}}};
  for (int round = 0; round < 2000; ++round) {
    Json document = small_tokenizer();
    std::vector<Json*> places;
    collect(document, places);
    Json& place = *places[std::uniform_int_distribution<size_t>(0, places.size() - 1)(random)];
    place = values[std::uniform_int_distribution<size_t>(0, values.size() - 1)(random)];
    parse_and_use(document.dump());
  }
}

}  // namespace
}  // namespace octet
