// tokenizer/template/globals.h — the functions that every template can call.
#pragma once

#include <optional>
#include <string_view>

#include "tokenizer/template/value.h"

namespace octet::jinja {

/// range, dict, namespace, cycler, joiner, raise_exception, strftime_now; nothing for another name.
std::optional<Value> global(std::string_view name);

}  // namespace octet::jinja
