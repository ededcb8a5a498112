#include "sampling/stop_strings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace octet {
namespace {

/// Everything that is shown of a text that arrives in these pieces, with what is held back at its end.
std::string shown(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopStrings filter(std::move(stops));
  std::string text;
  for (const std::string& piece : pieces) text += filter.push(piece);
  return text + filter.finish();
}

std::vector<std::string> bytes_of(const std::string& text) {
  std::vector<std::string> pieces;
  for (const char c : text) pieces.emplace_back(1, c);
  return pieces;
}

TEST(StopStrings, AnEmptyListShowsEverythingAtOnce) {
  StopStrings filter({});
  EXPECT_EQ(filter.push("any text"), "any text");
  EXPECT_EQ(filter.push(""), "");
  EXPECT_FALSE(filter.stopped());
  EXPECT_EQ(filter.finish(), "");
}

TEST(StopStrings, EmptyStringsAreIgnored) {
  StopStrings filter({"", "END", ""});
  EXPECT_EQ(filter.push("text"), "text");
  EXPECT_FALSE(filter.stopped());
  EXPECT_EQ(filter.push("END"), "");
  EXPECT_TRUE(filter.stopped());
}

TEST(StopStrings, AStopSplitAtAnyTwoPlacesIsFoundAndNothingOfItIsShown) {
  const std::string text = "before<|end|>after";
  for (size_t i = 0; i <= text.size(); ++i) {
    for (size_t j = i; j <= text.size(); ++j) {
      StopStrings filter({"<|end|>"});
      std::string seen = filter.push(text.substr(0, i));
      seen += filter.push(text.substr(i, j - i));
      seen += filter.push(text.substr(j));
      EXPECT_TRUE(filter.stopped()) << i << ", " << j;
      EXPECT_EQ(seen, "before") << i << ", " << j;
      EXPECT_EQ(filter.finish(), "") << "what follows a stop is never shown";
    }
  }
}

TEST(StopStrings, NothingIsShownAfterAStop) {
  StopStrings filter({"x"});
  EXPECT_EQ(filter.push("axb"), "a");
  EXPECT_TRUE(filter.stopped());
  EXPECT_EQ(filter.push("more"), "");
  EXPECT_EQ(filter.finish(), "");
  EXPECT_TRUE(filter.stopped());
}

TEST(StopStrings, ABeginningIsHeldBackAndReleasedAsSoonAsItCannotBecomeAStop) {
  StopStrings filter({"\n\nUser:"});
  EXPECT_EQ(filter.push("Hi\n"), "Hi");
  EXPECT_EQ(filter.push("\nUs"), "");
  EXPECT_EQ(filter.push("ual"), "\n\nUsual");
  EXPECT_FALSE(filter.stopped());
}

TEST(StopStrings, OnlyTheEndThatMayStillBecomeAStopIsHeldBack) {
  StopStrings filter({"aab"});
  EXPECT_EQ(filter.push("aaa"), "a");  // the last two may begin the stop
  EXPECT_EQ(filter.push("a"), "a");
  EXPECT_EQ(filter.push("b"), "");
  EXPECT_TRUE(filter.stopped());
}

TEST(StopStrings, FinishReleasesABeginningThatWasHeldBackOnce) {
  StopStrings filter({"STOP"});
  EXPECT_EQ(filter.push("all STO"), "all ");
  EXPECT_EQ(filter.finish(), "STO");
  EXPECT_EQ(filter.finish(), "");
  EXPECT_FALSE(filter.stopped());
}

TEST(StopStrings, TheEarliestOfSeveralStopsCountsWhateverTheirOrderInTheList) {
  for (const auto& stops : {std::vector<std::string>{"two", "one"}, {"one", "two"}}) {
    EXPECT_EQ(shown(stops, {"a one b two"}), "a ");
    EXPECT_EQ(shown(stops, bytes_of("a one b two")), "a ");
  }
}

TEST(StopStrings, OfOverlappingStopsTheOneThatIsCompletedIsFound) {
  // "abc" fails at x, but "bcx" began inside it.
  EXPECT_EQ(shown({"abcd", "bcx"}, bytes_of("1abcx2")), "1a");
  EXPECT_EQ(shown({"abcd", "bcx"}, {"1abcx2"}), "1a");
  EXPECT_EQ(shown({"abcd", "cx"}, bytes_of("1abcd2")), "1");
}

TEST(StopStrings, AStopThatBeginsOrEndsAnotherIsFoundInOnePieceAsInMany) {
  for (const std::vector<std::string>& pieces : {std::vector<std::string>{"1abc2"}, bytes_of("1abc2")}) {
    EXPECT_EQ(shown({"abc", "ab"}, pieces), "1");  // the shorter one is complete first
    EXPECT_EQ(shown({"abc", "bc"}, pieces), "1");  // both end together: the longer one counts
  }
}

TEST(StopStrings, AShortStopInsideALongOneEndsTheTextWhenItIsComplete) {
  EXPECT_EQ(shown({"abcd", "bc"}, bytes_of("1abcd2")), "1a");
  EXPECT_EQ(shown({"abcd", "bc"}, {"1abcd2"}), "1a");
}

TEST(StopStrings, WholeCharactersInGiveWholeCharactersOut) {
  // The stop shares its first bytes with characters of the text.
  StopStrings filter({"\u00e9\u00e8"});
  for (const std::string piece : {"a", "\u00e0", "\u00e9", "\u00e9", "\u4e16", "\u00e9"}) {
    const std::string text = filter.push(piece);
    // 0x80-0xbf continue a character: a text may not begin with one, nor end before one.
    EXPECT_TRUE(text.empty() || (text.front() & 0xc0) != 0x80);
    EXPECT_EQ(text.size() == 1, text == "a");
  }
  EXPECT_EQ(filter.push("\u00e8 end"), "");
  EXPECT_TRUE(filter.stopped());
}

/// What StopStrings promises, computed anew from all bytes so far.
struct Expected {
  std::string shown;
  bool stopped = false;
};

Expected naive(const std::vector<std::string>& stops, const std::string& text) {
  // The first byte that completes a stop decides; of those that end there the longest.
  for (size_t end = 1; end <= text.size(); ++end) {
    std::optional<size_t> begin;
    for (const std::string& stop : stops) {
      const bool ends_here = end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0;
      if (ends_here) begin = std::min(begin.value_or(end), end - stop.size());
    }
    if (begin) return {text.substr(0, *begin), true};
  }
  for (size_t keep = text.size(); keep > 0; --keep) {
    const std::string tail = text.substr(text.size() - keep);
    for (const std::string& stop : stops) {
      if (stop.rfind(tail, 0) == 0) return {text.substr(0, text.size() - keep), false};
    }
  }
  return {text, false};
}

std::string random_text(std::mt19937& random, size_t max_length) {
  std::string text(random() % (max_length + 1), 'a');
  for (char& c : text) c = static_cast<char>('a' + random() % 3);  // few letters, so that matches come up often
  return text;
}

TEST(StopStrings, AgreesWithANaiveSearchAfterEveryPieceOfRandomTexts) {
  std::mt19937 random(5);
  int stopped = 0, held_back = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> stops(random() % 4);
    for (std::string& stop : stops) stop = random_text(random, 5) + "b";
    StopStrings filter(stops);
    std::string text, seen;
    Expected expected;
    for (size_t piece = 0; piece < 12 && !expected.stopped; ++piece) {
      const std::string next = random_text(random, 4);
      text += next;
      seen += filter.push(next);
      expected = naive(stops, text);
      ASSERT_EQ(seen, expected.shown) << text;
      ASSERT_EQ(filter.stopped(), expected.stopped) << text;
    }
    stopped += expected.stopped;
    held_back += !expected.stopped && seen != text;
    ASSERT_EQ(seen + filter.finish(), expected.stopped ? expected.shown : text);
  }
  EXPECT_GT(stopped, 5000);
  EXPECT_GT(held_back, 1000);
}

}  // namespace
}  // namespace octet
