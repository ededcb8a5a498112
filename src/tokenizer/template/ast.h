// tokenizer/template/ast.h — the syntax tree of a template. Node names are those of the Jinja documentation.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tokenizer/template/value.h"

namespace octet::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;  // null where a part is optional and absent

struct Literal {
  Value value;
};
struct Name {
  std::string id;
};
struct ListDisplay {
  std::vector<ExprPtr> items;
  bool is_tuple;
};
struct DictDisplay {
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
};
struct Attribute {  // object.name
  ExprPtr object;
  std::string name;
};
struct Subscript {  // object[index]
  ExprPtr object, index;
};
struct Slice {  // object[start:stop:step]
  ExprPtr object, start, stop, step;
};
struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr unpacked, unpacked_named;  // *args, **kwargs
};
struct Call {
  ExprPtr callee;
  CallArguments arguments;
};
struct FilterUse {  // input | name(arguments)
  ExprPtr input;    // null: the text of a filter block or of a block set
  std::string name;
  CallArguments arguments;
};
struct TestUse {  // input is name(arguments)
  ExprPtr input;
  std::string name;
  CallArguments arguments;
};
enum class UnaryOp { logical_not, negate, plus };
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
enum class BinaryOp { add, subtract, multiply, divide, floor_divide, modulo, power };
struct Binary {
  BinaryOp op;
  ExprPtr left, right;
};
struct Logical {  // and, or: the value of the operand that decides
  bool is_or;
  ExprPtr left, right;
};
enum class CompareOp { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };
struct Compare {  // a < b < c
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct Concat {  // a ~ b ~ c
  std::vector<ExprPtr> parts;
};
struct Conditional {  // then if test else otherwise
  ExprPtr test, then, otherwise;
};

struct Expr {
  int line;
  int depth;  // levels of nodes below and including this one
  std::variant<Literal, Name, ListDisplay, DictDisplay, Attribute, Subscript, Slice, Call, FilterUse, TestUse, Unary,
               Binary, Logical, Compare, Concat, Conditional>
      node;
};

/// What `set`, `for` and `with` assign to: a name, an attribute of a namespace, or a tuple of these.
struct Target {
  std::string name;           // empty: a tuple
  std::string attribute;      // not empty: name.attribute
  std::vector<Target> items;  // of a tuple
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

/// Statements with a scope of their own.
struct Block {
  Body body;
  // Names that are assigned in this block before they are read, and that no block around it mentions. They are
  // undefined from the block's start on, even where the caller gave a variable of that name (see scopes.h).
  std::vector<std::string> unset;
};

struct Data {
  std::string text;
};
struct Output {
  std::vector<ExprPtr> parts;
};
struct Assign {
  Target target;
  ExprPtr value;
};
struct AssignBlock {  // {% set target | filter %} block {% endset %}
  Target target;
  ExprPtr filter;
  Block block;
};
struct For {
  Target target;
  ExprPtr iterable, condition;
  bool recursive;
  Block block, otherwise;
};
struct If {
  std::vector<std::pair<ExprPtr, Body>> branches;
  Body otherwise;
};
struct Parameter {
  std::string name;
  ExprPtr fallback;
};
struct MacroDefinition {
  std::string name;
  std::vector<Parameter> parameters;
  Block block;
  // Whether the body mentions the names that Jinja passes only on demand.
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
};
struct CallBlock {  // {% call(parameters) callee(arguments) %} block {% endcall %}
  MacroDefinition caller;
  ExprPtr call;
};
struct FilterBlock {
  ExprPtr filter;
  Block block;
};
struct With {
  std::vector<std::pair<Target, ExprPtr>> variables;
  Block block;
};
struct Scope {  // {% generation %}
  Block block;
};
struct NamedBlock {  // {% block name %}
  std::string name;
  bool scoped;  // sees the variables around it and not only those at the top level
  Block block;
};
struct Break {};
struct Continue {};

struct Stmt {
  int line;
  std::variant<Data, Output, Assign, AssignBlock, For, If, MacroDefinition, CallBlock, FilterBlock, With, Scope,
               NamedBlock, Break, Continue>
      node;
};

}  // namespace octet::jinja
