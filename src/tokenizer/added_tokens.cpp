#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "tokenizer/utf8.h"

namespace octet {
namespace {

std::vector<std::string> contents_of(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> contents;
  for (const AddedToken& token : tokens) contents.push_back(token.content);
  return contents;
}

size_t skip_space_left(std::string_view text, size_t end, size_t stop) {
  while (end > stop) {
    const size_t length = utf8::last_character_length(text.substr(0, end));
    if (!utf8::is_white_space(utf8::first_character(text.substr(end - length)).code_point)) break;
    end -= length;
  }
  return end;
}

size_t skip_space_right(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const utf8::Step step = utf8::first_character(text.substr(begin));
    if (!utf8::is_white_space(step.code_point)) break;
    begin += step.length;
  }
  return begin;
}

}  // namespace

StringMatcher::StringMatcher(const std::vector<std::string>& patterns) : pattern_at_(1, kNone), first_(256, kNone) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    uint32_t node = 0;
    for (const char byte : patterns[i]) {
      const auto fresh = static_cast<uint32_t>(pattern_at_.size());
      const uint64_t key = uint64_t{node} << 8 | static_cast<uint8_t>(byte);
      const auto [child, is_new] = children_.emplace(key, fresh);
      if (is_new) pattern_at_.push_back(kNone);
      if (node == 0) first_[static_cast<uint8_t>(byte)] = child->second;
      node = child->second;
    }
    if (pattern_at_[node] == kNone) pattern_at_[node] = static_cast<uint32_t>(i);
  }
}

std::optional<StringMatcher::Match> StringMatcher::find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    uint32_t node = first_[static_cast<uint8_t>(text[begin])];
    if (node == kNone) continue;
    std::optional<Match> longest;
    for (size_t end = begin + 1;; ++end) {
      if (pattern_at_[node] != kNone) longest = Match{begin, end, pattern_at_[node]};
      if (end == text.size()) break;
      const auto child = children_.find(uint64_t{node} << 8 | static_cast<uint8_t>(text[end]));
      if (child == children_.end()) break;
      node = child->second;
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), matcher_(contents_of(tokens_)), word_character_(R"([\w\u200C\u200D])", "tokenizer") {}

bool AddedTokens::stands_alone(std::string_view text, const StringMatcher::Match& match, RegexSearch& search) const {
  const std::string_view before = text.substr(0, match.begin);
  const std::string_view after = text.substr(match.end);
  const auto is_word = [&](std::string_view character) {
    return search.find(word_character_, character, 0).has_value();
  };
  const bool word_before =
      !before.empty() && is_word(before.substr(before.size() - utf8::last_character_length(before)));
  const bool word_after = !after.empty() && is_word(after.substr(0, utf8::first_character(after).length));
  return !word_before && !word_after;
}

std::vector<TextPart> AddedTokens::split(std::string_view text, bool match_special, RegexSearch& search) const {
  std::vector<TextPart> parts;
  size_t done = 0;
  // As in Hugging Face's search, which takes no notice of flags: no shorter token is found inside a match that is not
  // taken, and one inside the white space that rstrip took is found again.
  for (auto match = matcher_.find(text, 0); match; match = matcher_.find(text, match->end)) {
    const AddedToken& token = tokens_[match->pattern];
    if (token.special && !match_special) continue;
    if (token.single_word && !stands_alone(text, *match, search)) continue;
    const size_t begin = token.lstrip ? skip_space_left(text, match->begin, done) : match->begin;
    const size_t end = token.rstrip ? skip_space_right(text, match->end) : match->end;
    if (begin > done) parts.push_back({text.substr(done, begin - done), std::nullopt});
    parts.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), std::nullopt});
  return parts;
}

}  // namespace octet
