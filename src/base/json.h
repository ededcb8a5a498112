// base/json.h — the one place that parses JSON text, with the limits that untrusted files and requests need.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octet {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // keeps key order; for output and for small documents only

struct JsonLimits {
  int max_depth = 64;  // nested arrays and objects
};

/// Parses one JSON document.
/// where    names the document in messages, for example a file name.
/// Throws   Error(code) on malformed text, a duplicate key, invalid UTF-8 or nesting beyond the limit.
Json parse_json(std::string_view text, std::string_view where, ErrorCode code, JsonLimits limits = {});

/// Throws Error(code) for text that the library could not parse; reason is what its exception says.
[[noreturn]] void fail_json(ErrorCode code, std::string_view where, std::string_view reason);

/// Reads a whole text file. Throws Error(bad_file) if it is missing, not a regular file, or larger than max_bytes.
std::string read_text_file(const std::string& path, int64_t max_bytes);

}  // namespace octet
