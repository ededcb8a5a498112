#include "checkpoint/wildcard.h"

#include <cstddef>

namespace octet {
namespace {

// Length of the set [...] at the front of the pattern; 0 if it is not closed. A ] in first place is a member.
size_t set_length(std::string_view pattern) {
  const size_t first = pattern.size() > 1 && pattern[1] == '!' ? 2 : 1;
  const size_t close = pattern.find(']', first + 1);
  return close == std::string_view::npos ? 0 : close + 1;
}

bool in_set(std::string_view set, char c) {
  const bool negated = set[1] == '!';
  const std::string_view members = set.substr(negated ? 2 : 1, set.size() - (negated ? 3 : 2));
  bool found = false;
  for (size_t i = 0; i < members.size(); ++i) {
    if (i + 2 < members.size() && members[i + 1] == '-') {
      found = found || (members[i] <= c && c <= members[i + 2]);
      i += 2;
    } else {
      found = found || members[i] == c;
    }
  }
  return found != negated;
}

// How much of the pattern matches the one character c; 0 if it does not. The pattern does not start with *.
size_t match_one(std::string_view pattern, char c) {
  if (pattern.empty()) return 0;
  const size_t set = pattern[0] == '[' ? set_length(pattern) : 0;
  if (set != 0) return in_set(pattern.substr(0, set), c) ? set : 0;
  return pattern[0] == '?' || pattern[0] == c ? 1 : 0;
}

}  // namespace

bool matches_wildcard(std::string_view pattern, std::string_view text) {
  // Only the last * ever needs to be tried again: what came before it has matched as early as possible.
  size_t p = 0;
  size_t t = 0;
  size_t after_star = std::string_view::npos;
  size_t star_end = 0;  // where in the text the last * stops, so far
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_end = t;
    } else if (const size_t length = match_one(pattern.substr(p), text[t]); length != 0) {
      p += length;
      ++t;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      t = ++star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace octet
