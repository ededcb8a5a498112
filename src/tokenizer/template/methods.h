// tokenizer/template/methods.h — the methods of strings, lists, tuples and dictionaries.
#pragma once

#include <optional>
#include <string_view>

#include "tokenizer/template/value.h"

namespace octet::jinja {

/// The method of that name bound to the value; nothing if its type has none.
/// Methods that would change a list or dictionary come out undefined, as in Jinja's immutable sandbox: using them
/// raises "access to attribute ... is unsafe".
std::optional<Value> method(const Value& value, std::string_view name);

}  // namespace octet::jinja
