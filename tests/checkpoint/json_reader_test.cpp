#include "checkpoint/json_reader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

std::string read_string(const std::string& text) {
  JsonReader reader(text, "t.json", ErrorCode::bad_file);
  std::string value = reader.string();
  reader.end();
  return value;
}

int64_t read_natural(const std::string& text) {
  JsonReader reader(text, "t.json", ErrorCode::bad_file);
  const int64_t value = reader.natural();
  reader.end();
  return value;
}

void skip(const std::string& text) {
  JsonReader reader(text, "t.json", ErrorCode::bad_file);
  reader.skip_value();
  reader.end();
}

std::string string_error(const std::string& text) {
  return error_of(ErrorCode::bad_file, [&] { read_string(text); });
}

std::string skip_error(const std::string& text) {
  return error_of(ErrorCode::bad_file, [&] { skip(text); });
}

TEST(JsonReader, ObjectsAndArraysGiveTheirMembersInOrder) {
  const std::string text = " { \"a\" : [ 1 , 2 ] ,\n\t\"b\" : [ ] , \"c\":{} } ";
  JsonReader reader(text, "t.json", ErrorCode::bad_file);
  std::map<std::string, std::vector<int64_t>> got;
  reader.object([&](const std::string& key) {
    if (key == "c") return reader.object([](const std::string&) {});
    reader.array([&] { got[key].push_back(reader.natural()); });
  });
  reader.end();
  EXPECT_EQ(got, (std::map<std::string, std::vector<int64_t>>{{"a", {1, 2}}}));
}

TEST(JsonReader, EscapesBecomeUtf8) {
  EXPECT_EQ(read_string(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  EXPECT_EQ(read_string(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\u00e9\u20ac\U0001F600");
}

TEST(JsonReader, Utf8TextIsTakenAsItIs) {
  EXPECT_EQ(read_string("\"\u00e9\u20ac\U0001F600\x7f\""), "\u00e9\u20ac\U0001F600\x7f");
}

TEST(JsonReader, InvalidUtf8IsRefused) {
  for (const std::string bytes : {"\xff", "\xc0\xaf", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80",
                                  "\xe0\x80\x80", "\xf0\x80\x80\x80"}) {
    EXPECT_TRUE(contains(string_error("\"" + bytes + "\""), "expected valid UTF-8")) << bytes;
  }
}

TEST(JsonReader, HalfSurrogatesAndBadEscapesAreRefused) {
  EXPECT_TRUE(contains(string_error(R"("\ud83d")"), "whole surrogate pair"));
  EXPECT_TRUE(contains(string_error(R"("\ud83d\u0041")"), "second half of a surrogate pair"));
  EXPECT_TRUE(contains(string_error(R"("\ude00")"), "whole surrogate pair"));
  EXPECT_TRUE(contains(string_error(R"("\u12g4")"), "four hexadecimal digits"));
  EXPECT_TRUE(contains(string_error(R"("\q")"), "an escape that JSON knows"));
}

TEST(JsonReader, UnfinishedStringsAndControlCharactersAreRefused) {
  EXPECT_TRUE(contains(string_error("\"abc"), "closing quotation mark, got the end of the text"));
  EXPECT_TRUE(contains(string_error("\"\\"), "an escape"));
  EXPECT_TRUE(contains(string_error("\"a\nb\""), "byte 2: expected a control character to be escaped"));
}

TEST(JsonReader, NaturalsReachTheLargestInt64) {
  EXPECT_EQ(read_natural("0"), 0);
  EXPECT_EQ(read_natural(" 9223372036854775807 "), INT64_MAX);
}

TEST(JsonReader, WhatIsNotANaturalIsRefused) {
  const auto error = [](const std::string& text) { return error_of(ErrorCode::bad_file, [&] { read_natural(text); }); };
  EXPECT_TRUE(contains(error("9223372036854775808"), "below 2^63"));
  for (const std::string text : {"-1", "1.5", "1e3", "01", "", "\"1\"", "null"}) {
    EXPECT_TRUE(contains(error(text), "expected a non-negative integer")) << text;
  }
}

TEST(JsonReader, SkippedValuesAreStillChecked) {
  for (const std::string good :
       {"null", "true", "false", "-0.5e+10", "0", "12", "[1,[2,{\"a\":null}]]", "{}", "\"\""}) {
    EXPECT_EQ(skip_error(good), "") << good;
  }
  for (const std::string bad :
       {"nul", "truex", "-", "01", "1.", "1e", "[1,]", "{\"a\"}", "{\"a\":1,}", "{1:2}", "", "[1 2]", "+1", "[", "{"}) {
    EXPECT_TRUE(contains(skip_error(bad), "t.json: JSON, byte ")) << bad;
  }
}

TEST(JsonReader, NestingBeyond64IsRefused) {
  EXPECT_EQ(skip_error(std::string(63, '[') + "1" + std::string(63, ']')), "");
  EXPECT_TRUE(contains(skip_error(std::string(100000, '[')), "at most 64 nested"));
}

}  // namespace
}  // namespace octet
