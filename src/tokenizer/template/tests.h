// tokenizer/template/tests.h — the tests of `value is name(arguments)`.
#pragma once

#include <string_view>

#include "tokenizer/template/value.h"

namespace octet::jinja {

using Test = bool (*)(Interpreter&, const Value& value, const Arguments& arguments);

/// Null if there is no such test.
Test find_test(std::string_view name);

}  // namespace octet::jinja
