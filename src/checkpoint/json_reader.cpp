#include "checkpoint/json_reader.h"

namespace octet {
namespace {

constexpr int kMaxDepth = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(uint32_t point, std::string& out) {
  const auto byte = [&](uint32_t value) { out += static_cast<char>(value); };
  const auto tail = [&](int shift) { byte(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) {
    byte(point);
  } else if (point < 0x800) {
    byte(0xc0 | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    byte(0xe0 | (point >> 12));
    tail(6);
    tail(0);
  } else {
    byte(0xf0 | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

void JsonReader::wrong(std::string_view expected) const {
  std::string got = "the end of the text";
  if (at_ < text_.size()) {
    got = "\"";
    for (const char c : text_.substr(at_, 16)) got += c >= ' ' && c <= '~' ? c : '?';
    got += "\"";
  }
  fail(code_, where_, ": JSON, byte ", at_, ": expected ", expected, ", got ", got,
       "; the file is damaged: fetch it again");
}

void JsonReader::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
    ++at_;
  }
}

bool JsonReader::accept(char c) {
  skip_space();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void JsonReader::expect(char c) {
  if (!accept(c)) wrong(std::string("'") + c + "'");
}

void JsonReader::end() {
  skip_space();
  if (at_ != text_.size()) wrong("nothing more");
}

std::string JsonReader::string() {
  if (!accept('"')) wrong("a string");
  std::string out;
  for (;;) {
    const size_t begin = at_;
    while (at_ < text_.size()) {  // whole runs of plain characters: nearly every name is one
      const char c = text_[at_];
      if (c < ' ' || c == '"' || c == '\\' || c == '\x7f') break;
      ++at_;
    }
    out.append(text_, begin, at_ - begin);
    if (at_ >= text_.size()) wrong("the string's closing quotation mark");
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '"') {
      ++at_;
      return out;
    }
    if (c == '\\') {
      ++at_;
      append_escape(out);
    } else if (c < 0x20) {
      wrong("a control character to be escaped");
    } else {
      const size_t length = c == 0x7f ? 1 : utf8_length();
      if (length == 0) wrong("valid UTF-8");
      out.append(text_, at_, length);
      at_ += length;
    }
  }
}

void JsonReader::append_escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c != 'u') {
    const size_t i = kNames.find(c);
    if (i == std::string_view::npos) wrong("an escape that JSON knows");
    out += kValues[i];
    ++at_;
    return;
  }
  ++at_;
  uint32_t point = hex4();
  if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const uint32_t low = hex4();
    if (low < 0xdc00 || low > 0xdfff) wrong("the second half of a surrogate pair before this byte");
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  }
  if (point >= 0xd800 && point <= 0xdfff) wrong("a whole surrogate pair before this byte");
  append_utf8(point, out);
}

uint32_t JsonReader::hex4() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    const char lower = static_cast<char>(c | 0x20);
    if (is_digit(c)) {
      value = value * 16 + static_cast<uint32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + static_cast<uint32_t>(lower - 'a') + 10;
    } else {
      wrong("four hexadecimal digits");
    }
  }
  return value;
}

// Bytes of the character at the present byte; 0 if it is not valid UTF-8 (RFC 3629).
size_t JsonReader::utf8_length() const {
  const auto byte = [&](size_t i) {
    return at_ + i < text_.size() ? static_cast<uint32_t>(static_cast<unsigned char>(text_[at_ + i])) : 0u;
  };
  const uint32_t first = byte(0);
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const uint32_t second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate_or_beyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || surrogate_or_beyond ? 0 : length;
}

int64_t JsonReader::natural() {
  skip_space();
  const size_t begin = at_;
  int64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
    const bool overflow = __builtin_mul_overflow(value, int64_t{10}, &value) ||
                          __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value);
    if (overflow) wrong("an integer below 2^63 before this byte");
  }
  const bool fraction = at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E');
  const bool leading_zero = at_ - begin > 1 && text_[begin] == '0';
  if (at_ == begin || fraction || leading_zero) {
    at_ = begin;
    wrong("a non-negative integer");
  }
  return value;
}

void JsonReader::skip_value(int depth) {
  skip_space();
  if (depth >= kMaxDepth) wrong("at most 64 nested arrays and objects");
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '{') {
    object([&](const std::string&) { skip_value(depth + 1); });
  } else if (c == '[') {
    array([&] { skip_value(depth + 1); });
  } else if (c == '"') {
    string();
  } else {
    skip_word();
  }
}

// true, false, null or a number: JSON's number grammar, then the three names.
void JsonReader::skip_word() {
  const size_t begin = at_;
  const auto digits = [&] {
    const size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ - first;
  };
  const auto one_of = [&](std::string_view chars) {
    const bool found = at_ < text_.size() && chars.find(text_[at_]) != std::string_view::npos;
    at_ += found ? 1 : 0;
    return found;
  };
  for (const std::string_view word : {"true", "false", "null"}) {
    if (text_.substr(at_, word.size()) == word) {
      at_ += word.size();
      return;
    }
  }
  one_of("-");
  const bool leading_zero = at_ < text_.size() && text_[at_] == '0';
  const size_t whole = digits();
  bool valid = whole > 0 && !(leading_zero && whole > 1);
  if (valid && one_of(".")) valid = digits() > 0;
  if (valid && one_of("eE")) {
    one_of("+-");
    valid = digits() > 0;
  }
  if (valid) return;
  at_ = begin;
  wrong("a JSON value");
}

}  // namespace octet
