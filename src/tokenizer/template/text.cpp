#include "tokenizer/template/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace octet::jinja {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// Full mappings for the few letters whose upper case is more than one letter and that texts really hold; all others
// through utf8proc's one-to-one tables.
void append_upper(std::string& out, char32_t c) {
  if (c == U'ß') {
    out += "SS";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_lower(std::string& out, char32_t c) {
  if (c == U'İ') {
    out += "i\xCC\x87";  // i and a combining dot above
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

void append_title(std::string& out, char32_t c) {
  if (c == U'ß') {
    out += "Ss";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
}

bool is_cased(char32_t c) { return is_upper(c) || is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT; }

bool is_line_end(char32_t c) {
  return c == '\n' || c == '\r' || c == '\v' || c == '\f' || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool holds(std::string_view chars, char32_t c) {
  for (size_t at = 0; at < chars.size();) {
    if (next_code_point(chars, at) == c) return true;
  }
  return false;
}

}  // namespace

char32_t next_code_point(std::string_view text, size_t& offset) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const char32_t lead = byte(offset);
  const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t c = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) c = (c << 6) | (byte(offset + i) & 0x3Fu);
  offset = std::min(offset + length, text.size());
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  const unsigned lead = length == 2 ? 0xC0u : length == 3 ? 0xE0u : 0xF0u;
  out += static_cast<char>(lead | (c >> (6 * (length - 1))));
  for (int i = length - 2; i >= 0; --i) out += static_cast<char>(0x80u | ((c >> (6 * i)) & 0x3Fu));
}

bool is_valid_utf8(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const auto size = static_cast<utf8proc_ssize_t>(text.size());
  for (utf8proc_ssize_t at = 0; at < size;) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes + at, size - at, &c);
    if (length <= 0) return false;
    at += length;
  }
  return true;
}

int64_t count_code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); });
}

size_t byte_offset(std::string_view text, int64_t index) {
  size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) next_code_point(text, offset);
  return offset;
}

size_t find_text(std::string_view text, std::string_view pattern, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  // Not string_view::find: that is quadratic on patterns like "aaa...b".
  const void* found = memmem(text.data() + from, text.size() - from, pattern.data(), pattern.size());
  return found ? static_cast<size_t>(static_cast<const char*>(found) - text.data()) : std::string_view::npos;
}

bool is_space(char32_t c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20);
  return c == 0x85 || category(c) == UTF8PROC_CATEGORY_ZS || c == 0x2028 || c == 0x2029;
}

bool is_alpha(char32_t c) {
  const auto k = category(c);
  return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL || k == UTF8PROC_CATEGORY_LT ||
         k == UTF8PROC_CATEGORY_LM || k == UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

bool is_numeric(char32_t c) {
  const auto k = category(c);
  return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO;
}

bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }
bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL; }

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

std::string to_upper(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) append_upper(out, next_code_point(text, at));
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) append_lower(out, next_code_point(text, at));
  return out;
}

std::string swap_case(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    is_lower(c) ? append_upper(out, c) : append_lower(out, c);
  }
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out;
  if (text.empty()) return out;
  size_t at = 0;
  append_title(out, next_code_point(text, at));
  return out + to_lower(text.substr(at));
}

std::string title_case(std::string_view text) {
  std::string out;
  bool inside_word = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    inside_word ? append_lower(out, c) : append_title(out, c);
    inside_word = is_cased(c);
  }
  return out;
}

std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> chars) {
  const auto strippable = [&](char32_t c) { return chars ? holds(*chars, c) : is_space(c); };
  if (side != Side::right) {
    while (!text.empty()) {
      size_t length = 0;
      if (!strippable(next_code_point(text, length))) break;
      text.remove_prefix(length);
    }
  }
  if (side != Side::left) {
    while (!text.empty()) {
      size_t begin = text.size() - 1;
      while (begin > 0 && is_continuation(text[begin])) --begin;
      size_t at = begin;
      if (!strippable(next_code_point(text, at))) break;
      text.remove_suffix(text.size() - begin);
    }
  }
  return text;
}

namespace {

std::vector<std::string> split_at_spaces(std::string_view text, int64_t max_splits) {
  std::vector<std::string> parts;
  text = strip(text, Side::left);
  while (!text.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(parts.size()) == max_splits) {
      parts.emplace_back(text);  // with its white space at the end, as in Python
      break;
    }
    size_t end = 0;
    for (size_t at = 0; end < text.size(); end = at) {
      if (is_space(next_code_point(text, at))) break;
    }
    parts.emplace_back(text.substr(0, end));
    text = strip(text.substr(end), Side::left);
  }
  return parts;
}

std::vector<std::string> split_right_at_spaces(std::string_view text, int64_t max_splits) {
  std::vector<std::string> parts;
  text = strip(text, Side::right);
  while (!text.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(parts.size()) == max_splits) {
      parts.emplace_back(text);  // with its white space at the start
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      size_t previous = begin - 1;
      while (previous > 0 && is_continuation(text[previous])) --previous;
      size_t at = previous;
      if (is_space(next_code_point(text, at))) break;
      begin = previous;
    }
    parts.emplace_back(text.substr(begin));
    text = strip(text.substr(0, begin), Side::right);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator, int64_t max_splits) {
  if (!separator) return split_at_spaces(text, max_splits);
  std::vector<std::string> parts;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t at = find_text(text, *separator);
    if (at == std::string_view::npos) break;
    parts.emplace_back(text.substr(0, at));
    text.remove_prefix(at + separator->size());
  }
  parts.emplace_back(text);
  return parts;
}

std::vector<std::string> split_right(std::string_view text, std::optional<std::string_view> separator,
                                     int64_t max_splits) {
  if (!separator) return split_right_at_spaces(text, max_splits);
  std::vector<std::string> parts;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t at = text.rfind(*separator);
    if (at == std::string_view::npos) break;
    parts.emplace_back(text.substr(at + separator->size()));
    text = text.substr(0, at);
  }
  parts.emplace_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = at;
    const char32_t c = next_code_point(text, at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(begin, (keep_ends ? at : line_end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

int64_t count_occurrences(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return count_code_points(text) + 1;
  int64_t count = 0;
  for (size_t at = find_text(text, pattern); at != std::string_view::npos;
       at = find_text(text, pattern, at + pattern.size())) {
    ++count;
  }
  return count;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t max_count) {
  std::string out;
  int64_t count = 0;
  size_t at = 0;
  const auto more = [&] { return max_count < 0 || count < max_count; };
  if (from.empty()) {
    while (more() && at <= text.size()) {
      out += to;
      ++count;
      if (at == text.size()) return out;
      const size_t begin = at;
      next_code_point(text, at);
      out += text.substr(begin, at - begin);
    }
  } else {
    for (size_t found = find_text(text, from); more() && found != std::string_view::npos;
         found = find_text(text, from, at)) {
      out += text.substr(at, found - at);
      out += to;
      at = found + from.size();
      ++count;
    }
  }
  return out += text.substr(at);
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '"':
        out += "&#34;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string repr_text(std::string_view text) {
  const bool double_quotes = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, at);
    if (c == '\\' || c == static_cast<char32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(begin, at - begin);
    } else {
      std::array<char, 16> escape{};
      std::snprintf(escape.data(), escape.size(),
                    c < 0x100     ? "\\x%02x"
                    : c < 0x10000 ? "\\u%04x"
                                  : "\\U%08x",
                    static_cast<unsigned>(c));
      out += escape.data();
    }
  }
  return out += quote;
}

std::string repr_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  std::string_view shortest(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));  // "-d.ddde+XX"
  std::string out;
  if (shortest.front() == '-') {
    out += '-';
    shortest.remove_prefix(1);
  }
  const size_t e = shortest.find('e');
  std::string digits(1, shortest[0]);
  if (e > 2) digits += shortest.substr(2, e - 2);
  const int exponent = std::stoi(std::string(shortest.substr(e + 1)));
  // Python switches to exponents below 1e-4 and from 1e16 on.
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    std::snprintf(buffer.data(), buffer.size(), "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return out + buffer.data();
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace octet::jinja
