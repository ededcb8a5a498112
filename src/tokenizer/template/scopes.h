// tokenizer/template/scopes.h — Jinja's scoping rules, worked out once after parsing.
//
// At run time a scope is a list of variables with a parent; a name is looked up from the inside out, ends at the
// caller's variables, and an assignment writes into the innermost scope. One rule of Jinja does not follow from that:
// it decides per scope, before running, what each name is. A name whose first mention in a scope is an assignment
// outside of any `if` belongs to that scope from its start, so everything that runs before the assignment (inner loops,
// macros, a block set's own body) sees it as undefined, even if the caller passed a variable of that name.
#pragma once

#include <string_view>

#include "tokenizer/template/ast.h"

namespace octet::jinja {

/// Fills Block::unset and MacroDefinition::uses_* of the whole tree.
/// Throws  Error(bad_template) for a filter or test that does not exist (where Jinja refuses to compile: not inside of
///         an `if`), and for an assignment to `loop` inside of a loop.
void resolve_scopes(Block& root, std::string_view where);

}  // namespace octet::jinja
