// tokenizer/template/format.h — Python's two ways of formatting text: '%d' % x and '{}'.format(x).
#pragma once

#include <string>
#include <string_view>

#include "tokenizer/template/value.h"

namespace octet::jinja {

class Interpreter;

/// format % argument. A tuple holds several arguments, a dictionary those of %(name)s. Raises as Python does.
std::string percent_format(Interpreter& interpreter, std::string_view format, const Value& argument);

/// format.format(arguments): fields {}, {0}, {name}, {name.attribute[key]!r:spec}.
std::string brace_format(Interpreter& interpreter, std::string_view format, const Arguments& arguments);

}  // namespace octet::jinja
