// tokenizer/template/parser.h — tokens to a syntax tree.
#pragma once

#include <string_view>

#include "tokenizer/template/ast.h"

namespace octet::jinja {

/// Parses a whole template, with names, filters and scopes checked (scopes.h).
/// where   names the template in messages.
/// Throws  Error(bad_template) with file, line, what was expected and what was found; Error(limit) if tags or
///         expressions are nested too deeply.
Block parse(std::string_view source, std::string_view where);

}  // namespace octet::jinja
