// tokenizer/pre_tokenizer.h — cuts normalized text into the pieces that the BPE model never merges across.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tokenizer/regex.h"

namespace octet {

/// The pieces of one text, in order and never empty. They point into the text or into `owned`.
struct Pieces {
  std::vector<std::string_view> views;
  std::list<std::string> owned;  // a list: growing it moves nothing
};

/// A chain of steps, each applied to every piece that the one before it left.
class PreTokenizer {
 public:
  enum class Behavior {
    removed,               // matches vanish
    isolated,              // matches and the gaps between them are pieces
    merged_with_previous,  // a match joins the gap before it
    merged_with_next,      // a match joins the gap after it
    contiguous,            // neighbouring matches join each other
  };

  /// Cuts at the matches of a pattern: a Regex, or a string that is searched for literally. invert swaps matches and
  /// gaps.
  struct Split {
    std::variant<Regex, std::string> pattern;
    Behavior behavior = Behavior::isolated;
    bool invert = false;
  };
  /// Puts a space before each piece that does not begin with one.
  struct PrefixSpace {};
  using Step = std::variant<Split, PrefixSpace>;

  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  /// text     well-formed UTF-8, must outlive the result.
  /// Throws   Error(limit) if a regular expression takes too long.
  Pieces split(std::string_view text, RegexSearch& search) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace octet
