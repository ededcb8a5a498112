// tokenizer/template/text.h — Python's str operations on UTF-8 text. Positions and lengths count code points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octet::jinja {

/// Reads the code point at `offset` and moves `offset` behind it. The text must be valid UTF-8.
char32_t next_code_point(std::string_view text, size_t& offset);
void append_utf8(std::string& out, char32_t code_point);
bool is_valid_utf8(std::string_view text);

int64_t count_code_points(std::string_view text);
/// Byte offset of code point `index`, which may be one past the last.
size_t byte_offset(std::string_view text, int64_t index);

/// Offset of the first occurrence at or after `from`, or npos; linear time for any pattern.
size_t find_text(std::string_view text, std::string_view pattern, size_t from = 0);

// str.isspace, isalpha, ... of one character.
bool is_space(char32_t c);
bool is_alpha(char32_t c);
bool is_decimal(char32_t c);
bool is_numeric(char32_t c);
bool is_alnum(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
/// What repr() shows as it is and not as an escape.
bool is_printable(char32_t c);

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string swap_case(std::string_view text);
/// First character upper case, the rest lower case.
std::string capitalize(std::string_view text);
/// Upper case at the start of every run of letters (str.title).
std::string title_case(std::string_view text);

enum class Side { left, right, both };
/// Removes whitespace, or any of `chars` if given.
std::string_view strip(std::string_view text, Side side, std::optional<std::string_view> chars = std::nullopt);

/// str.split and str.rsplit. No separator: at runs of whitespace. max_splits < 0: no limit.
std::vector<std::string> split(std::string_view text, std::optional<std::string_view> separator, int64_t max_splits);
std::vector<std::string> split_right(std::string_view text, std::optional<std::string_view> separator,
                                     int64_t max_splits);
/// str.splitlines: at \n, \r\n, \r, \v, \f, \x1c-\x1e, \x85, U+2028 and U+2029.
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);

/// Occurrences that do not overlap; an empty pattern occurs between all characters.
int64_t count_occurrences(std::string_view text, std::string_view pattern);
/// Replaces at most max_count occurrences; < 0: all.
std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t max_count);

/// &, <, >, ' and " as HTML entities, as markupsafe writes them.
std::string escape_html(std::string_view text);

/// Python's repr of a str.
std::string repr_text(std::string_view text);
/// Python's repr of a float: shortest digits that read back the same, "1.0", "1e-05", "inf".
std::string repr_real(double value);

}  // namespace octet::jinja
