// tokenizer/regex.h — the regular expressions of tokenizer.json, run by PCRE2 under limits.
//
// The files are written for Oniguruma (Ruby syntax). Where PCRE2 spells or means something else, the pattern is
// translated; what cannot be translated exactly is refused. Unicode tables are PCRE2's own (10.42: Unicode 14), so
// characters that are newer than these can be split in other places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;
struct pcre2_real_jit_stack_8;

namespace octet {

/// Rewrites an Oniguruma pattern so that PCRE2 matches the same text: `\s` as Unicode White_Space, `\w`, `\h`, script
/// names, and so on. Throws Error(unsupported) on syntax that PCRE2 would take differently.
/// where   names file and node in messages.
std::string oniguruma_to_pcre2(std::string_view pattern, std::string_view where);

/// A compiled pattern. Immutable; many threads may search with it.
class Regex {
 public:
  /// Throws Error(unsupported) if the pattern cannot be compiled exactly; `where` names file and node.
  Regex(std::string_view oniguruma_pattern, std::string_view where);

 private:
  friend class RegexSearch;
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

/// Memory and limits for the searches in one text; belongs to one thread.
/// The steps of one attempt and the time of all searches together are bounded in proportion to the size of the text.
/// Real patterns need a hundredth of that; a pattern that backtracks without end runs into it.
class RegexSearch {
 public:
  struct Match {
    size_t begin;
    size_t end;
  };

  explicit RegexSearch(size_t text_bytes);

  /// The leftmost match that starts at byte `from` or later; look-behind sees all of `subject`.
  /// subject  well-formed UTF-8, `from` at a character boundary.
  /// Throws   Error(limit) if the search takes too many steps, too much memory or too long.
  std::optional<Match> find(const Regex& regex, std::string_view subject, size_t from);

 private:
  struct Free {
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
    void operator()(pcre2_real_jit_stack_8* stack) const;
  };
  std::unique_ptr<int64_t> deadline_ns_;  // on the heap because PCRE2 keeps its address
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
  std::unique_ptr<pcre2_real_jit_stack_8, Free> stack_;
};

}  // namespace octet
