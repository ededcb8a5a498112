#include "tokenizer/template/lexer.h"

#include <algorithm>
#include <cstdlib>

#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

// \r\n and \r become \n; one newline at the end goes (keep_trailing_newline is off).
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view where) : where_(where), source_(normalize_newlines(source)) {
    if (!is_valid_utf8(source_)) fail(ErrorCode::bad_template, where, ": expected UTF-8 text, got other bytes");
  }

  std::vector<Token> run() {
    while (at_ < source_.size()) lex_outside();
    add(Token::Type::end);
    return std::move(tokens_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorCode::bad_template, where_, ":", line_, ": ", parts...);
  }

  bool looking_at(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  void add(Token::Type type, std::string text = {}) { tokens_.push_back({type, line_, std::move(text), {}}); }

  void advance(size_t bytes) {
    const auto begin = source_.begin() + static_cast<std::ptrdiff_t>(at_);
    line_ += static_cast<int>(std::count(begin, begin + static_cast<std::ptrdiff_t>(bytes), '\n'));
    at_ += bytes;
  }

  void skip_spaces() {
    const std::string_view rest = std::string_view(source_).substr(at_);
    advance(rest.size() - strip(rest, Side::left).size());
  }

  // Text up to the next tag, and the tag's opening.
  void lex_outside() {
    size_t tag = at_;
    do {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) return lex_data(source_.size(), '+');
      const char kind = source_[tag + 1];
      if (kind == '{' || kind == '%' || kind == '#') break;
      ++tag;
    } while (true);
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() && (source_[tag + 2] == '-' || source_[tag + 2] == '+')
                          ? source_[tag + 2]
                          : (kind == '{' ? '+' : ' ');  // before {{ nothing is stripped unless a '-' asks for it
    lex_data(tag, sign);
    const bool signed_tag = peek(2) == '-' || peek(2) == '+';
    const size_t opening = signed_tag ? 3 : 2;
    if (kind == '#') return lex_comment(opening);
    if (kind == '%' && lex_raw(opening)) return;
    add(kind == '{' ? Token::Type::print_begin : Token::Type::block_begin);
    advance(opening);
    lex_inside(kind == '{');
  }

  // Emits the text up to `end`. sign: '-' strips all white space before a tag, '+' none, ' ' the indentation of a tag
  // that stands first on its line.
  void lex_data(size_t end, char sign) {
    std::string_view data = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') {
      data = strip(data, Side::right);
    } else if (sign == ' ') {
      const size_t newline = data.rfind('\n');
      const size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
      if ((line_begin > 0 || line_starting_) && strip(data.substr(line_begin), Side::left).empty()) {
        data = data.substr(0, line_begin);
      }
    }
    if (!data.empty()) add(Token::Type::data, std::string(data));
    advance(end - at_);
    line_starting_ = false;
  }

  // Closes a tag whose last two bytes are at at_ + skipped. A '-' sign eats the white space behind it; otherwise
  // trim_newline eats one newline.
  void close_tag(size_t bytes, bool strip_after, bool trim_newline) {
    advance(bytes);
    if (strip_after) {
      skip_spaces();
    } else if (trim_newline && peek() == '\n') {
      advance(1);
    }
    line_starting_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  void lex_comment(size_t opening) {
    const size_t end = source_.find("#}", at_ + opening);
    if (end == std::string::npos) reject("expected '#}' to end the comment");
    const char sign = end > at_ + opening ? source_[end - 1] : ' ';
    close_tag(end + 2 - at_, sign == '-', sign != '+');
  }

  // {% raw %} ... {% endraw %}: the text between them is data. False if this is another tag.
  bool lex_raw(size_t opening) {
    const std::optional<size_t> begin = raw_tag_end(at_ + opening, "raw", false);
    if (!begin) return false;
    const bool strip_begin = source_[*begin - 3] == '-';
    advance(*begin - at_);
    if (strip_begin) skip_spaces();
    line_starting_ = source_[at_ - 1] == '\n';
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos; tag = source_.find("{%", tag + 1)) {
      const bool has_sign = tag + 2 < source_.size() && (source_[tag + 2] == '-' || source_[tag + 2] == '+');
      const std::optional<size_t> end = raw_tag_end(tag + (has_sign ? 3 : 2), "endraw", true);
      if (!end) continue;
      lex_data(tag, has_sign ? source_[tag + 2] : ' ');
      const char sign = source_[*end - 3];
      close_tag(*end - at_, sign == '-', sign != '+');
      return true;
    }
    reject("expected '{% endraw %}' to end the raw block");
  }

  // Offset behind `white space, name, white space, [sign]%}` if that stands at `from`.
  std::optional<size_t> raw_tag_end(size_t from, std::string_view name, bool plus_allowed) const {
    const auto skip = [&](size_t i) {
      const std::string_view rest = std::string_view(source_).substr(std::min(i, source_.size()));
      return source_.size() - strip(rest, Side::left).size();
    };
    size_t i = skip(from);
    if (source_.compare(i, name.size(), name) != 0) return std::nullopt;
    i = skip(i + name.size());
    if (i < source_.size() && (source_[i] == '-' || (plus_allowed && source_[i] == '+'))) ++i;
    if (source_.compare(i, 2, "%}") != 0) return std::nullopt;
    return i + 2;
  }

  // Tokens up to the end of a tag. Inside of brackets, its closing mark is not looked for: {{ {'a': {}} }}.
  void lex_inside(bool print) {
    const std::string_view close = print ? "}}" : "%}";
    std::string brackets;  // closing ones that are due
    while (at_ < source_.size()) {
      if (brackets.empty()) {
        const bool strip_after = peek() == '-' && source_.compare(at_ + 1, 2, close) == 0;
        const bool keep_after = !print && peek() == '+' && source_.compare(at_ + 1, 2, close) == 0;
        if (strip_after || keep_after || looking_at(close)) {
          add(print ? Token::Type::print_end : Token::Type::block_end);
          return close_tag(strip_after || keep_after ? 3 : 2, strip_after, !print && !keep_after);
        }
      }
      lex_token(brackets);
    }
  }

  void lex_token(std::string& brackets) {
    size_t next = at_;
    const char32_t c = next_code_point(source_, next);
    if (is_space(c)) return skip_spaces();
    if (is_digit(peek())) return lex_number();
    if (c == '_' || is_alnum(c)) return lex_name();
    if (c == '\'' || c == '"') return lex_string();
    lex_operator(brackets);
  }

  void lex_name() {
    size_t end = at_;
    for (size_t next = end; next < source_.size(); end = next) {
      const char32_t c = next_code_point(source_, next);
      if (c != '_' && !is_alnum(c)) break;
    }
    add(Token::Type::name, source_.substr(at_, end - at_));
    advance(end - at_);
  }

  // Digits with single underscores between them, from `i` on.
  size_t skip_digits(size_t i, int base) const {
    while (i < source_.size()) {
      const bool joined = source_[i] == '_' && i + 1 < source_.size();
      if (digit_value(source_[i + (joined ? 1 : 0)]) >= base) break;
      i += joined ? 2 : 1;
    }
    return i;
  }

  void lex_number() {
    const char prefix = peek() == '0' ? static_cast<char>(peek(1) | 0x20) : '\0';
    const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
    size_t end = skip_digits(at_ + (base == 10 ? 0 : 2), base);
    if (base != 10 && end == at_ + 2) reject("expected digits after '", source_.substr(at_, 2), "'");
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';  // x.0.1 holds two indices, not a float
    bool is_real = false;
    if (base == 10 && !after_dot) {
      if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
        end = skip_digits(end + 1, 10);
        is_real = true;
      }
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        size_t digits = end + 1;
        if (digits < source_.size() && (source_[digits] == '+' || source_[digits] == '-')) ++digits;
        if (digits < source_.size() && is_digit(source_[digits])) {
          end = skip_digits(digits, 10);
          is_real = true;
        }
      }
    }
    std::string digits = source_.substr(at_, end - at_);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    add(Token::Type::number, digits);
    tokens_.back().number = is_real ? Value::real(std::strtod(digits.c_str(), nullptr)) : parse_integer(digits, base);
    advance(end - at_);
  }

  Value parse_integer(const std::string& digits, int base) const {
    int64_t value = 0;
    for (size_t i = base == 10 ? 0 : 2; i < digits.size(); ++i) {
      if (__builtin_mul_overflow(value, int64_t{base}, &value) ||
          __builtin_add_overflow(value, int64_t{digit_value(digits[i])}, &value)) {
        if (base != 10) reject("expected an integer of at most 64 bits, got ", digits);
        return Value::big_integer(digits);
      }
    }
    return Value::integer(value);
  }

  void lex_string() {
    const char quote = peek();
    const int line = line_;
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) reject("expected ", quote, " to end the string");
    tokens_.push_back(
        {Token::Type::string, line, unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1)), {}});
    advance(end + 1 - at_);
  }

  // Python's escapes.
  std::string unescape(std::string_view text) const {
    static constexpr std::string_view kLetters = "ntrabfv\\'\"";
    static constexpr std::string_view kMeanings = "\n\t\r\a\b\f\v\\'\"";
    std::string out;
    for (size_t i = 0; i < text.size();) {
      if (text[i] != '\\' || i + 1 >= text.size()) {
        out += text[i++];
        continue;
      }
      const char c = text[i + 1];
      i += 2;
      if (const size_t known = kLetters.find(c); known != std::string_view::npos) {
        out += kMeanings[known];
      } else if (c == '\n') {  // a line continuation
      } else if (c == 'x' || c == 'u' || c == 'U') {
        append_code(out, text, i, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
      } else if (c >= '0' && c <= '7') {
        --i;
        size_t digits = 1;
        while (digits < 3 && i + digits < text.size() && text[i + digits] >= '0' && text[i + digits] <= '7') ++digits;
        append_code(out, text, i, digits, 8);
      } else if (c == 'N') {
        reject("expected a numeric escape such as \\u2581, got \\N, which octet does not know");
      } else {
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  void append_code(std::string& out, std::string_view text, size_t& i, size_t digits, int base) const {
    char32_t code = 0;
    for (size_t k = 0; k < digits; ++k, ++i) {
      if (i >= text.size() || digit_value(text[i]) >= base) reject("expected ", digits, " digits in a string escape");
      code = code * static_cast<char32_t>(base) + static_cast<char32_t>(digit_value(text[i]));
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      reject("expected a Unicode character in a string escape, got number ", static_cast<uint32_t>(code));
    }
    append_utf8(out, code);
  }

  void lex_operator(std::string& brackets) {
    static constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
    const auto* found = std::find_if(std::begin(kLong), std::end(kLong), [&](auto op) { return looking_at(op); });
    if (found != std::end(kLong)) {
      add(Token::Type::op, std::string(*found));
      return advance(2);
    }
    const char c = peek();
    if (kShort.find(c) == std::string_view::npos) {
      size_t next = at_;
      next_code_point(source_, next);
      reject("unexpected character '", source_.substr(at_, next - at_), "'");
    }
    if (c == '(') brackets += ')';
    if (c == '[') brackets += ']';
    if (c == '{') brackets += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (brackets.empty()) reject("unexpected '", c, "'");
      if (brackets.back() != c) reject("expected '", brackets.back(), "', got '", c, "'");
      brackets.pop_back();
    }
    add(Token::Type::op, std::string(1, c));
    advance(1);
  }

  std::string_view where_;
  const std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, std::string_view where) { return Lexer(source, where).run(); }

}  // namespace octet::jinja
