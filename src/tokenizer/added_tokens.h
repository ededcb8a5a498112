// tokenizer/added_tokens.h — tokens that are recognized in text as a whole, before anything else happens to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "tokenizer/regex.h"

namespace octet {

/// One entry of "added_tokens" in tokenizer.json.
struct AddedToken {
  TokenId id;
  std::string content;       // what is searched for: already normalized if `normalized`
  bool single_word = false;  // only where no word character is beside it
  bool lstrip = false;       // takes the white space on its left with it
  bool rstrip = false;       // takes the white space on its right with it
  bool normalized = false;   // searched for in normalized text
  bool special = false;
};

/// Finds several strings at once. A trie over bytes, walked from each place where one of the strings can begin.
class StringMatcher {
 public:
  struct Match {
    size_t begin;
    size_t end;
    size_t pattern;
  };

  /// patterns   not empty strings; of two equal ones the first is found. Together fewer than 2^32 bytes.
  explicit StringMatcher(const std::vector<std::string>& patterns);

  /// The leftmost match that begins at `from` or later, the longest of those that begin there.
  std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<uint32_t> pattern_at_;                 // of each node; kNone: no pattern ends here
  std::unordered_map<uint64_t, uint32_t> children_;  // node << 8 | byte to node; node 0 is the root
  std::vector<uint32_t> first_;                      // [256] child of the root for each byte, kNone: none
};

/// A stretch of text: either an added token, or text that is still to be encoded.
struct TextPart {
  std::string_view text;
  std::optional<TokenId> token;
};

/// One set of added tokens: those searched in raw text, or those searched in normalized text.
class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  /// Cuts `text` (well-formed UTF-8) at its added tokens. With match_special false, special ones are ordinary text.
  std::vector<TextPart> split(std::string_view text, bool match_special, RegexSearch& search) const;

 private:
  bool stands_alone(std::string_view text, const StringMatcher::Match& match, RegexSearch& search) const;

  std::vector<AddedToken> tokens_;
  StringMatcher matcher_;
  Regex word_character_;
};

}  // namespace octet
