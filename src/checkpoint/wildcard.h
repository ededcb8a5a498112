// checkpoint/wildcard.h — shell wildcards, as quantization settings use them for module names.
#pragma once

#include <string_view>

namespace octet {

/// Whether the whole of `text` matches: * is any run of characters ('.' and '/' too), ? is one character, [a-c] or
/// [!a-c] is one character of a set or outside it; an unclosed [ stands for itself. Time is at most |pattern| * |text|.
bool matches_wildcard(std::string_view pattern, std::string_view text);

}  // namespace octet
