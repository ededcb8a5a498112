#include "base/json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

Json parse(std::string_view text, JsonLimits limits = {}) {
  return parse_json(text, "config.json", ErrorCode::bad_config, limits);
}

std::string parse_error(std::string_view text, JsonLimits limits = {}) {
  return error_of(ErrorCode::bad_config, [&] { parse(text, limits); });
}

std::string nested(int depth) {
  const auto count = static_cast<size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

TEST(Json, ReadsEveryKindOfValue) {
  const Json json = parse(R"({"a": [1, -2, 0.5, true, null, "\u00e9"], "b": {}})");
  EXPECT_EQ(json["a"][0].get<int>(), 1);
  EXPECT_EQ(json["a"][1].get<int>(), -2);
  EXPECT_EQ(json["a"][2].get<double>(), 0.5);
  EXPECT_TRUE(json["a"][3].get<bool>());
  EXPECT_TRUE(json["a"][4].is_null());
  EXPECT_EQ(json["a"][5].get<std::string>(), "\xc3\xa9");
  EXPECT_TRUE(json["b"].is_object());
}

TEST(Json, NestingUpToTheLimitIsReadAndOneLevelMoreIsNot) {
  EXPECT_NO_THROW(parse(nested(64)));
  EXPECT_TRUE(contains(parse_error(nested(65)), "deeper than 64"));
  EXPECT_NO_THROW(parse(nested(3), {.max_depth = 3}));
  EXPECT_TRUE(contains(parse_error(R"({"a": {"b": [{}]}})", {.max_depth = 3}), "deeper than 3"));
}

TEST(Json, AMillionOpenBracketsEndInAnErrorNotInAStackOverflow) {
  EXPECT_TRUE(contains(parse_error(std::string(1'000'000, '[')), "config.json: JSON is nested deeper"));
}

TEST(Json, AKeyThatStandsTwiceInOneObjectIsNamed) {
  EXPECT_TRUE(contains(parse_error(R"({"top_k": 1, "b": 2, "top_k": 3})"), "config.json: key \"top_k\" stands twice"));
  EXPECT_TRUE(contains(parse_error(R"([{"x": {"a": 1, "\u0061": 2}}])"), "key \"a\" stands twice"));
  EXPECT_TRUE(contains(parse_error(R"({"a": {"b": 1}, "c": [{"d": 1}], "a": 2})"), "key \"a\" stands twice"));
}

TEST(Json, TheSameKeyInDifferentObjectsIsRead) {
  EXPECT_EQ(parse(R"({"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]})")["b"][1]["a"].get<int>(), 3);
}

TEST(Json, MalformedTextIsAnErrorThatNamesTheDocument) {
  const std::string_view texts[] = {"",    "{",         "[1,]", "{\"a\":}", "{'a': 1}", "[1] x",       "// c\n1",
                                    "NaN", "01",        "\"a",  "\"\\q\"",  "[\"\n\"]", "\"\\ud800\"", "{\"a\" 1}",
                                    "tru", "\x01[1, 2]"};
  for (const std::string_view text : texts) EXPECT_TRUE(contains(parse_error(text), "config.json: not valid JSON"));
}

TEST(Json, InvalidUtf8IsAnErrorInKeysAndValues) {
  // A stray continuation byte, an overlong slash, a surrogate, a code point beyond U+10FFFF, a cut character.
  const std::string_view sequences[] = {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
  for (const std::string_view bytes : sequences) {
    EXPECT_TRUE(contains(parse_error("\"" + std::string(bytes) + "\""), "not valid JSON"));
    EXPECT_TRUE(contains(parse_error("{\"" + std::string(bytes) + "\": 1}"), "not valid JSON"));
  }
}

TEST(Json, NumbersBeyondDoubleAreAnErrorAndIntegersBeyond64BitsBecomeDoubles) {
  EXPECT_TRUE(contains(parse_error("[1e999]"), "config.json: not valid JSON"));
  EXPECT_TRUE(contains(parse_error("[-1e400]"), "config.json: not valid JSON"));
  EXPECT_EQ(parse("18446744073709551615").get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(parse("-9223372036854775808").get<int64_t>(), INT64_MIN);
  const Json large = parse("18446744073709551616");
  EXPECT_TRUE(large.is_number_float());
  EXPECT_EQ(large.get<double>(), 0x1p64);
  EXPECT_EQ(parse("1e-999").get<double>(), 0.0);
}

TEST(Json, TheCallerChoosesTheErrorCode) {
  const auto parse_as = [](ErrorCode code) { parse_json("[", "text", code); };
  for (const ErrorCode code : {ErrorCode::bad_tokenizer, ErrorCode::bad_request}) {
    EXPECT_TRUE(contains(error_of(code, [&] { parse_as(code); }), "text: not valid JSON"));
  }
}

class ReadTextFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        ::testing::TempDir() + "octet_json_test_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(std::string_view text) const {
    const std::string path = folder_ + "/file.txt";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string folder_;
};

TEST_F(ReadTextFile, ReturnsEveryByte) {
  const std::string text("a\0b\r\n\xff", 6);
  EXPECT_EQ(read_text_file(write(text), 6), text);
  EXPECT_EQ(read_text_file(write(""), 0), "");
}

TEST_F(ReadTextFile, AFileOverTheLimitIsRefusedWithBothSizes) {
  const std::string path = write("123456");
  const std::string message = error_of(ErrorCode::bad_file, [&] { read_text_file(path, 5); });
  EXPECT_EQ(message, path + ": expected at most 5 bytes, got 6");
}

TEST_F(ReadTextFile, AMissingFileOrAFolderIsNamed) {
  const std::string missing = folder_ + "/none.json";
  EXPECT_TRUE(contains(error_of(ErrorCode::bad_file, [&] { read_text_file(missing, 9); }), missing));
  EXPECT_TRUE(contains(error_of(ErrorCode::bad_file, [&] { read_text_file(folder_, 1 << 20); }), "regular file"));
}

}  // namespace
}  // namespace octet
