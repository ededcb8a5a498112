// tokenizer/utf8.h — UTF-8 one character at a time, and what stands in for bytes that are not UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octet::utf8 {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

enum class Form {
  whole,       // one well-formed character
  incomplete,  // the text ends inside a character that is well-formed so far
  invalid,     // the longest start of a character that no continuation can complete, or a lone byte
};

struct Step {
  Form form;
  size_t length;        // bytes taken, at least 1
  char32_t code_point;  // only if whole
};

/// Reads the first character of `text`, which must not be empty. An invalid stretch is as long as the one that
/// Unicode's "substitution of maximal subparts" replaces by a single U+FFFD, which is also what Python and Rust do.
Step first_character(std::string_view text);

/// Length in bytes of the last character of well-formed `text`, which must not be empty.
size_t last_character_length(std::string_view text);

/// True if all of `text` is well-formed UTF-8.
bool is_valid(std::string_view text);

/// Appends `text` to `out` with each invalid stretch replaced by U+FFFD and returns how many bytes of it were taken:
/// all but an incomplete character at the end.
size_t append_replacing_invalid(std::string_view text, std::string& out);

/// The whole of `text` with each invalid or incomplete stretch replaced by U+FFFD, as Python's
/// bytes.decode("utf-8", errors="replace") does.
std::string replace_invalid(std::string_view text);

/// Appends one code point, which must be a Unicode scalar value.
void append(char32_t code_point, std::string& out);

/// Unicode White_Space.
bool is_white_space(char32_t code_point);

}  // namespace octet::utf8
