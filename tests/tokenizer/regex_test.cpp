#include "tokenizer/regex.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "tokenizer/utf8.h"

namespace octet {
namespace {

// The first match, or "none".
std::string first(std::string_view pattern, std::string_view subject) {
  const Regex regex(pattern, "test");
  RegexSearch search(subject.size());
  const auto match = search.find(regex, subject, 0);
  return match ? std::string(subject.substr(match->begin, match->end - match->begin)) : "none";
}

TEST(RegexDialect, SpaceIsUnicodeWhiteSpaceInAndOutOfSets) {
  const Regex space(R"(^\s$)", "test");
  const Regex no_space(R"(^[^\s]$)", "test");
  const Regex not_space(R"(^\S$)", "test");
  RegexSearch search(8);
  for (char32_t c = 1; c <= 0x3000; ++c) {  // every White_Space character is here, and many others
    std::string text;
    utf8::append(c, text);
    if (c == '\n') continue;  // ^ and $ see it as the end of a line
    EXPECT_EQ(search.find(space, text, 0).has_value(), utf8::is_white_space(c)) << std::hex << static_cast<int>(c);
    EXPECT_EQ(search.find(no_space, text, 0).has_value(), !utf8::is_white_space(c)) << std::hex << static_cast<int>(c);
    EXPECT_EQ(search.find(not_space, text, 0).has_value(), !utf8::is_white_space(c)) << std::hex << static_cast<int>(c);
  }
}

TEST(RegexDialect, WordsIncludeMarksAndConnectors) {
  EXPECT_EQ(first(R"(\w+)", " a\u0301\u203fb1-"), "a\u0301\u203fb1");
  EXPECT_EQ(first(R"([\w-]+)", " a\u0301-b "), "a\u0301-b");
  EXPECT_EQ(first(R"(\W+)", "a\u0301, b"), ", ");
}

TEST(RegexDialect, HexDigitsAndCodePointsMeanWhatRubyMeans) {
  EXPECT_EQ(first(R"(\h+)", "xyzC0ffee "), "C0ffee");
  EXPECT_EQ(first(R"([\u4e00-\u9fa5]+)", "a\u4f60\u597d"), "\u4f60\u597d");
  EXPECT_EQ(first(R"(\v)", "\n\x0b"), "\x0b");
}

TEST(RegexDialect, ScriptsAreNotScriptExtensions) {
  EXPECT_EQ(first(R"(\p{Hiragana})", "\u30fc\u3042"), "\u3042");  // U+30FC is Common, extended to Hiragana
  EXPECT_EQ(first(R"(\p{^L})", "a1"), "1");
}

TEST(RegexDialect, CaseIsIgnoredWithinItsGroupOnly) {
  EXPECT_EQ(first("(?i:'ll)x", "'LLx"), "'LLx");
  EXPECT_EQ(first("(?i:'ll)x", "'LLX"), "none");
}

TEST(RegexDialect, BracesWithoutACountAreText) { EXPECT_EQ(first("a{b}|{", "a{b}"), "a{b}"); }

TEST(RegexDialect, WhatPcre2WouldTakeDifferentlyIsRefused) {
  for (const char* pattern :
       {"[a[bc]]", "[a&&b]",    "[[:alpha:]]", "(?m:.)",   "(?<name>a)", "(?x) a", "a{,3}",   "a{2}+",
        "a{2}?",   R"(\bword)", R"([\W])",     R"((a)\1)", R"(\K)",      R"(\R)",  R"(\xE4)", R"(\p{Letter})",
        "a(?i)b",  R"(\)",      "[a",          "(*UTF)a",  "\\p{L",      "(?C1)"}) {
    EXPECT_THROW(Regex(pattern, "test"), Error) << pattern;
  }
}

TEST(RegexSearch, LookBehindSeesTextBeforeTheStart) {
  const Regex regex("(?<=a)b", "test");
  RegexSearch search(2);
  EXPECT_TRUE(search.find(regex, "ab", 1));
  EXPECT_FALSE(search.find(regex, "cb", 1));
}

// Each would run for hours without limits. The sets at the end keep PCRE2 from seeing at once that nothing matches.
TEST(RegexSearch, EndlessBacktrackingIsAnErrorInTime) {
  const std::string text = std::string(2'000, 'a') + "!";
  for (const char* pattern : {"(a+)+[bc]", "(?:a|a)*[bc]", "(?:a*)*[bc]", "(?:a?){50}a{50}[bc]", "a*a*a*a*a*[bc]"}) {
    const Regex regex(pattern, "test");
    const Stopwatch watch;
    RegexSearch search(text.size());
    try {
      search.find(regex, text, 0);
      ADD_FAILURE() << "searched to the end: " << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), "limit");
    }
    EXPECT_LT(watch.seconds(), 5.0) << pattern;
  }
}

// Each attempt stays below its limit of steps, but there is one at every byte: quadratic time.
TEST(RegexSearch, ManySlowAttemptsAreAnErrorInTimeSlow) {
  const std::string text(500'000, 'a');
  const Regex regex("[ab]*[bc][cd]", "test");
  const Stopwatch watch;
  RegexSearch search(text.size());
  EXPECT_THROW(search.find(regex, text, 0), Error);
  EXPECT_LT(watch.seconds(), 20.0);
}

}  // namespace
}  // namespace octet
