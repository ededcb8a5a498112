// tokenizer/byte_level.h — how tokenizer.json spells bytes: the 256 printable characters of GPT-2.
//
// Bytes 33-126, 161-172 and 174-255 are spelled as the character of the same number; the other 68, in increasing order,
// as U+0100 to U+0143. So a space is spelled U+0120 and a newline U+010A.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octet::byte_level {

/// The bytes that `spelling` (well-formed UTF-8) stands for; nullopt if one of its characters spells no byte.
std::optional<std::string> bytes_of(std::string_view spelling);

/// The inverse of bytes_of, for any bytes.
std::string spelling_of(std::string_view bytes);

}  // namespace octet::byte_level
