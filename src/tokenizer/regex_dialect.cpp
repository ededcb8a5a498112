// Oniguruma (Ruby syntax) to PCRE2. Only what both understand alike, or what has an exact translation, passes.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "tokenizer/regex.h"

namespace octet {
namespace {

// Oniguruma's word characters; PCRE2 10.42 leaves out marks and most connectors.
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kHexDigit = "0-9A-Fa-f";

constexpr std::array<std::string_view, 8> kGroupOpeners = {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"};
constexpr std::array<std::string_view, 4> kBinaryProperties = {"Alphabetic", "Lowercase", "Uppercase", "White_Space"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Translator {
 public:
  Translator(std::string_view pattern, std::string_view where) : pattern_(pattern), where_(where) {}

  std::string run() {
    if (starts_with("(?i)")) take(4);  // at the start both dialects mean the whole pattern
    while (at_ < pattern_.size()) {
      switch (pattern_[at_]) {
        case '\\':
          escape();
          break;
        case '[':
          in_class_ ? refuse("a set inside a set") : open_class();
          break;
        case ']':
          in_class_ = false;
          take(1);
          break;
        case '&':
          in_class_&& starts_with("&&") ? refuse("an intersection of sets") : take(1);
          break;
        case '(':
          in_class_ ? take(1) : open_group();
          break;
        case '{':
          in_class_ ? take(1) : braces();
          break;
        default:
          take(1);
      }
    }
    return std::move(out_);
  }

 private:
  bool starts_with(std::string_view text) const { return pattern_.substr(at_, text.size()) == text; }
  char peek(size_t ahead) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }
  void take(size_t length) { replace(length, pattern_.substr(at_, length)); }
  void replace(size_t length, std::string_view text) {
    out_ += text;
    at_ += length;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::unsupported, where_, ": regular expression \"", pattern_, "\" uses ", what, " at byte ", at_,
         "; octet supports sets, groups, look-around, quantifiers, \\s \\S \\w \\W \\d \\D \\h \\H and \\p{...}");
  }

  void open_class() {
    in_class_ = true;
    take(peek(1) == '^' ? 2 : 1);
    if (peek(0) == ']') take(1);  // the first character of a set is never its end
  }

  void open_group() {
    if (peek(1) == '*') refuse("a group of the form (*...)");
    if (peek(1) != '?') return take(1);
    for (const std::string_view opener : kGroupOpeners) {
      if (starts_with(opener)) return take(opener.size());
    }
    refuse("a group of the form (?...)");
  }

  // {n}, {n,} and {n,m}. Ruby takes {n}? as "n times or never" and {n,m}+ as a repetition, PCRE2 neither.
  void braces() {
    size_t length = 1;
    while (is_digit(peek(length))) ++length;
    const bool counted = length > 1;
    const bool open_range = peek(length) == ',';
    if (open_range) ++length;
    while (open_range && is_digit(peek(length))) ++length;
    if (peek(length) != '}') return replace(1, "\\{");
    ++length;
    if (!counted) refuse("{ without a count");
    if (peek(length) == '+' || (peek(length) == '?' && !open_range)) refuse("two quantifiers in a row");
    take(length);
  }

  void escape() {
    const char c = peek(1);
    switch (c) {
      case 's':
        return replace(2, "\\p{White_Space}");
      case 'S':
        return replace(2, "\\P{White_Space}");
      case 'w':
        return set(kWord, false);
      case 'W':
        return set(kWord, true);
      case 'h':
        return set(kHexDigit, false);
      case 'H':
        return set(kHexDigit, true);
      case 'p':
      case 'P':
        return property();
      case 'u':
        return code_point();
      case 'x':
        return hexadecimal();
      case 'v':
        return replace(2, "\\x0b");
      case 'b':
        return in_class_ ? take(2) : refuse("\\b");
      case 'A':
      case 'z':
      case 'Z':
      case 'd':
      case 'D':
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e':
        return take(2);
      default:
        break;
    }
    if (c == '\0' || is_letter(c) || is_digit(c)) refuse(std::string("\\") + c);
    take(2);
  }

  void set(std::string_view members, bool negated) {
    if (in_class_ && negated) refuse("\\W or \\H inside a set");
    if (in_class_) return replace(2, members);
    replace(2, std::string(negated ? "[^" : "[") + std::string(members) + "]");
  }

  void code_point() {
    for (size_t i = 2; i < 6; ++i) {
      if (!is_hex_digit(peek(i))) refuse("\\u without four digits");
    }
    replace(6, "\\x{" + std::string(pattern_.substr(at_ + 2, 4)) + "}");
  }

  // \xHH is a byte for Oniguruma and a code point for PCRE2: the same up to 7F.
  void hexadecimal() {
    const bool ascii = peek(2) >= '0' && peek(2) <= '7' && is_hex_digit(peek(3));
    if (peek(2) != '{' && !ascii) refuse("\\x above 7F without {...}");
    take(2);
  }

  // General categories have one or two letters. PCRE2 takes a bare script name as "script extensions", a larger set.
  void property() {
    const size_t close = pattern_.find('}', at_);
    if (peek(2) != '{' || close == std::string_view::npos) refuse("\\p without {...}");
    std::string_view name = pattern_.substr(at_ + 3, close - at_ - 3);
    const bool negated = !name.empty() && name.front() == '^';
    if (negated) name.remove_prefix(1);
    if (!std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || c == '_'; }))
      refuse("this \\p{...}");
    const bool bare = name.size() <= 2 ||
                      std::find(kBinaryProperties.begin(), kBinaryProperties.end(), name) != kBinaryProperties.end();
    const std::string head = std::string("\\") + peek(1) + (negated ? "{^" : "{") + (bare ? "" : "sc:");
    replace(close + 1 - at_, head + std::string(name) + "}");
  }

  std::string_view pattern_;
  std::string_view where_;
  size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

std::string oniguruma_to_pcre2(std::string_view pattern, std::string_view where) {
  return Translator(pattern, where).run();
}

}  // namespace octet
