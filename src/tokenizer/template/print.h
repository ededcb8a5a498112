// tokenizer/template/print.h — values as text: Python's str and repr, and JSON as json.dumps writes it.
#pragma once

#include <string>

#include "tokenizer/template/value.h"

namespace octet::jinja {

/// str(value): what `{{ value }}` prints. Undefined prints nothing.
std::string to_str(const Value& value);

/// repr(value): strings quoted, as inside of a printed list.
std::string to_repr(const Value& value);

/// Options of json.dumps; the defaults are those of the tojson filter of transformers.
struct JsonStyle {
  bool ensure_ascii = false;  // non-ASCII characters as \uXXXX
  bool sort_keys = false;
  std::optional<std::string> indent;  // one level of indentation; nothing: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

/// json.dumps(value). Raises for values that JSON cannot hold (undefined, generators, objects).
/// Throws  Failure(limit) when the text passes max_bytes (deep indentation can multiply a value's size).
std::string to_json(const Value& value, const JsonStyle& style, int64_t max_bytes);

}  // namespace octet::jinja
