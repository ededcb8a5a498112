// tokenizer/template/operators.h — Python's operators on values.
#pragma once

#include "tokenizer/template/ast.h"
#include "tokenizer/template/budget.h"
#include "tokenizer/template/value.h"

namespace octet::jinja {

class Interpreter;

/// + - * / // % **. Raises for types that have no such operator; Failure(limit) for integers beyond 64 bits.
Value binary(Interpreter& interpreter, BinaryOp op, const Value& a, const Value& b);

/// -x and +x.
Value negate(const Value& value);
Value plus(const Value& value);

/// `a op b` of a comparison chain.
bool compare(Budget& budget, CompareOp op, const Value& a, const Value& b);

/// `item in container`.
bool contains(Budget& budget, const Value& container, const Value& item);

/// value[start:stop:step]; none stands for an absent part.
Value slice(Interpreter& interpreter, const Value& value, const Value& start, const Value& stop, const Value& step);

}  // namespace octet::jinja
