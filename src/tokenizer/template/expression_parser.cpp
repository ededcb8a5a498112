#include "tokenizer/template/expression_parser.h"

#include <algorithm>

namespace octet::jinja {
namespace {

constexpr int kMaxNesting = 200;    // brackets and tags inside each other while parsing
constexpr int kMaxExprDepth = 300;  // levels of a finished expression; long sums are deep to the left

std::string describe(const Token& token) {
  switch (token.type) {
    case Token::Type::data:
      return "template text";
    case Token::Type::print_begin:
      return "'{{'";
    case Token::Type::print_end:
      return "'}}'";
    case Token::Type::block_begin:
      return "'{%'";
    case Token::Type::block_end:
      return "'%}'";
    case Token::Type::string:
      return "a string";
    case Token::Type::end:
      return "the end of the template";
    default:
      return "'" + token.text + "'";
  }
}

void add_children(std::vector<const Expr*>& children, const CallArguments& arguments) {
  for (const ExprPtr& argument : arguments.positional) children.push_back(argument.get());
  for (const auto& argument : arguments.named) children.push_back(argument.second.get());
  children.push_back(arguments.unpacked.get());
  children.push_back(arguments.unpacked_named.get());
}

std::vector<const Expr*> pointers(const std::vector<ExprPtr>& items) {
  std::vector<const Expr*> out;
  for (const ExprPtr& item : items) out.push_back(item.get());
  return out;
}

}  // namespace

ExpressionParser::Nesting::Nesting(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.nesting_ > kMaxNesting) {
    fail(ErrorCode::limit, parser_.where_, ":", parser_.current().line, ": expected at most ", kMaxNesting,
         " brackets and tags inside each other; simplify the template");
  }
}

Token ExpressionParser::take() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::skip_op(std::string_view op) {
  if (!at_op(op)) return false;
  take();
  return true;
}

bool ExpressionParser::skip_name(std::string_view name) {
  if (!at_name(name)) return false;
  take();
  return true;
}

void ExpressionParser::expect_op(std::string_view op) {
  if (!skip_op(op)) reject("'" + std::string(op) + "'");
}

std::string ExpressionParser::expect_name(std::string_view what) {
  if (!at(Token::Type::name)) reject(what);
  return take().text;
}

void ExpressionParser::expect(Token::Type type, std::string_view what) {
  if (!at(type)) reject(what);
  take();
}

void ExpressionParser::reject(std::string_view expected) const {
  fail(ErrorCode::bad_template, where_, ":", current().line, ": expected ", expected, ", got ", describe(current()));
}

template <class Node>
ExprPtr ExpressionParser::make(int line, Node node, const std::vector<const Expr*>& children) {
  int depth = 1;
  for (const Expr* child : children) depth = std::max(depth, child ? child->depth + 1 : 1);
  if (depth > kMaxExprDepth) {
    fail(ErrorCode::limit, where_, ":", line, ": expected an expression of at most ", kMaxExprDepth,
         " nested operations; split it with {% set %}");
  }
  return std::make_unique<Expr>(Expr{line, depth, std::move(node)});
}

template <class Node>
ExprPtr ExpressionParser::make(int line, Node node, std::initializer_list<const Expr*> children) {
  return make(line, std::move(node), std::vector<const Expr*>(children));
}

ExprPtr ExpressionParser::parse_expression(Conditionals conditionals) {
  const Nesting nesting(*this);
  if (conditionals == Conditionals::not_allowed) return parse_or();
  const int line = current().line;
  ExprPtr then = parse_or();
  while (skip_name("if")) {
    ExprPtr test = parse_or();
    ExprPtr otherwise;
    if (skip_name("else")) otherwise = parse_expression();
    const std::initializer_list<const Expr*> children = {then.get(), test.get(), otherwise.get()};
    then = make(line, Conditional{std::move(test), std::move(then), std::move(otherwise)}, children);
  }
  return then;
}

ExprPtr ExpressionParser::parse_or() {
  ExprPtr left = parse_and();
  while (at_name("or")) {
    const int line = take().line;
    ExprPtr right = parse_and();
    const std::initializer_list<const Expr*> children = {left.get(), right.get()};
    left = make(line, Logical{true, std::move(left), std::move(right)}, children);
  }
  return left;
}

ExprPtr ExpressionParser::parse_and() {
  ExprPtr left = parse_not();
  while (at_name("and")) {
    const int line = take().line;
    ExprPtr right = parse_not();
    const std::initializer_list<const Expr*> children = {left.get(), right.get()};
    left = make(line, Logical{false, std::move(left), std::move(right)}, children);
  }
  return left;
}

ExprPtr ExpressionParser::parse_not() {
  if (!at_name("not")) return parse_compare();
  const Nesting nesting(*this);
  const int line = take().line;
  ExprPtr operand = parse_not();
  const Expr* child = operand.get();
  return make(line, Unary{UnaryOp::logical_not, std::move(operand)}, {child});
}

ExprPtr ExpressionParser::parse_compare() {
  static constexpr std::pair<std::string_view, CompareOp> kOperators[] = {
      {"==", CompareOp::equal},      {"!=", CompareOp::not_equal}, {"<", CompareOp::less},
      {"<=", CompareOp::less_equal}, {">", CompareOp::greater},    {">=", CompareOp::greater_equal}};
  const int line = current().line;
  ExprPtr first = parse_sum();
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
  std::vector<const Expr*> children = {first.get()};
  while (true) {
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](const auto& entry) { return at_op(entry.first); });
    CompareOp op = CompareOp::in;
    if (found != std::end(kOperators)) {
      op = found->second;
    } else if (at_name("not") && following().type == Token::Type::name && following().text == "in") {
      take();
      op = CompareOp::not_in;
    } else if (!at_name("in")) {
      break;
    }
    take();
    rest.emplace_back(op, parse_sum());
    children.push_back(rest.back().second.get());
  }
  if (rest.empty()) return first;
  return make(line, Compare{std::move(first), std::move(rest)}, children);
}

ExprPtr ExpressionParser::parse_sum() {
  ExprPtr left = parse_concat();
  while (at_op("+") || at_op("-")) {
    const Token op = take();
    ExprPtr right = parse_concat();
    const std::initializer_list<const Expr*> children = {left.get(), right.get()};
    left = make(op.line, Binary{op.text == "+" ? BinaryOp::add : BinaryOp::subtract, std::move(left), std::move(right)},
                children);
  }
  return left;
}

ExprPtr ExpressionParser::parse_concat() {
  const int line = current().line;
  std::vector<ExprPtr> parts;
  parts.push_back(parse_product());
  while (skip_op("~")) parts.push_back(parse_product());
  if (parts.size() == 1) return std::move(parts.front());
  const auto children = pointers(parts);
  return make(line, Concat{std::move(parts)}, children);
}

ExprPtr ExpressionParser::parse_product() {
  ExprPtr left = parse_power();
  while (at_op("*") || at_op("/") || at_op("//") || at_op("%")) {
    const Token token = take();
    const BinaryOp op = token.text == "*"    ? BinaryOp::multiply
                        : token.text == "/"  ? BinaryOp::divide
                        : token.text == "//" ? BinaryOp::floor_divide
                                             : BinaryOp::modulo;
    ExprPtr right = parse_power();
    const std::initializer_list<const Expr*> children = {left.get(), right.get()};
    left = make(token.line, Binary{op, std::move(left), std::move(right)}, children);
  }
  return left;
}

// Jinja's ** groups to the left, unlike Python's.
ExprPtr ExpressionParser::parse_power() {
  ExprPtr left = parse_unary(true);
  while (at_op("**")) {
    const int line = take().line;
    ExprPtr right = parse_unary(true);
    const std::initializer_list<const Expr*> children = {left.get(), right.get()};
    left = make(line, Binary{BinaryOp::power, std::move(left), std::move(right)}, children);
  }
  return left;
}

// Filters bind to the whole of -x: -1|abs is (-1)|abs.
ExprPtr ExpressionParser::parse_unary(bool with_filters) {
  const Nesting nesting(*this);
  ExprPtr expr;
  if (at_op("-") || at_op("+")) {
    const Token op = take();
    ExprPtr operand = parse_unary(false);
    const Expr* child = operand.get();
    expr = make(op.line, Unary{op.text == "-" ? UnaryOp::negate : UnaryOp::plus, std::move(operand)}, {child});
  } else {
    expr = parse_primary();
  }
  expr = parse_postfix(std::move(expr));
  return with_filters ? parse_filters_and_tests(std::move(expr)) : std::move(expr);
}

ExprPtr ExpressionParser::parse_primary() {
  const int line = current().line;
  if (at(Token::Type::name)) {
    const std::string name = take().text;
    if (name == "true" || name == "True") return make(line, Literal{Value::boolean(true)}, {});
    if (name == "false" || name == "False") return make(line, Literal{Value::boolean(false)}, {});
    if (name == "none" || name == "None") return make(line, Literal{Value::none()}, {});
    return make(line, Name{name}, {});
  }
  if (at(Token::Type::string)) {
    std::string text;
    while (at(Token::Type::string)) text += take().text;  // 'a' 'b' is 'ab'
    return make(line, Literal{Value::text(std::move(text))}, {});
  }
  if (at(Token::Type::number)) return make(line, Literal{take().number}, {});
  if (skip_op("(")) {
    ExprPtr expr = parse_tuple(Conditionals::allowed, {}, true);
    expect_op(")");
    return expr;
  }
  if (at_op("[")) return parse_list();
  if (at_op("{")) return parse_dict();
  reject("an expression");
}

ExprPtr ExpressionParser::parse_tuple(Conditionals conditionals, std::string_view end_name, bool may_be_empty) {
  const int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  const auto at_end = [&] {
    return at(Token::Type::print_end) || at(Token::Type::block_end) || at_op(")") ||
           (!end_name.empty() && at_name(end_name));
  };
  while (!at_end()) {
    items.push_back(parse_expression(conditionals));
    if (!skip_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (!is_tuple && !may_be_empty) reject("an expression");
  const auto children = pointers(items);
  return make(line, ListDisplay{std::move(items), true}, children);
}

ExprPtr ExpressionParser::parse_list() {
  const int line = take().line;
  std::vector<ExprPtr> items;
  while (!at_op("]")) {
    if (!items.empty()) {
      expect_op(",");
      if (at_op("]")) break;
    }
    items.push_back(parse_expression());
  }
  expect_op("]");
  const auto children = pointers(items);
  return make(line, ListDisplay{std::move(items), false}, children);
}

ExprPtr ExpressionParser::parse_dict() {
  const int line = take().line;
  std::vector<std::pair<ExprPtr, ExprPtr>> items;
  std::vector<const Expr*> children;
  while (!at_op("}")) {
    if (!items.empty()) {
      expect_op(",");
      if (at_op("}")) break;
    }
    ExprPtr key = parse_expression();
    expect_op(":");
    ExprPtr value = parse_expression();
    children.insert(children.end(), {key.get(), value.get()});
    items.emplace_back(std::move(key), std::move(value));
  }
  expect_op("}");
  return make(line, DictDisplay{std::move(items)}, children);
}

ExprPtr ExpressionParser::parse_postfix(ExprPtr expr) {
  while (true) {
    if (at_op(".")) {
      expr = parse_attribute(std::move(expr));
    } else if (at_op("[")) {
      expr = parse_subscript(std::move(expr));
    } else if (at_op("(")) {
      expr = parse_call(std::move(expr));
    } else {
      return expr;
    }
  }
}

ExprPtr ExpressionParser::parse_filters_and_tests(ExprPtr expr) {
  while (true) {
    if (at_op("|")) {
      expr = parse_filters(std::move(expr), false);
    } else if (at_name("is")) {
      expr = parse_test(std::move(expr));
    } else if (at_op("(")) {
      expr = parse_call(std::move(expr));
    } else {
      return expr;
    }
  }
}

ExprPtr ExpressionParser::parse_attribute(ExprPtr object) {
  const int line = take().line;
  const Expr* child = object.get();
  if (at(Token::Type::number) && current().number.is(Kind::integer)) {  // list.0
    ExprPtr index = make(line, Literal{take().number}, {});
    return make(line, Subscript{std::move(object), std::move(index)}, {child});
  }
  return make(line, Attribute{std::move(object), expect_name("an attribute name or a number")}, {child});
}

ExprPtr ExpressionParser::parse_subscript(ExprPtr object) {
  const int line = take().line;
  ExprPtr start, stop, step;
  bool is_slice = false;
  const auto absent = [&] { return at_op(":") || at_op("]"); };
  if (!at_op(":")) start = parse_expression();
  if (skip_op(":")) {
    is_slice = true;
    if (!absent()) stop = parse_expression();
    if (skip_op(":") && !absent()) step = parse_expression();
  } else if (at_op(",")) {  // x[1, 2]: the index is a tuple
    std::vector<ExprPtr> items;
    items.push_back(std::move(start));
    while (skip_op(",")) items.push_back(parse_expression());
    const auto children = pointers(items);
    start = make(line, ListDisplay{std::move(items), true}, children);
  }
  expect_op("]");
  const std::initializer_list<const Expr*> children = {object.get(), start.get(), stop.get(), step.get()};
  if (!is_slice) return make(line, Subscript{std::move(object), std::move(start)}, children);
  return make(line, Slice{std::move(object), std::move(start), std::move(stop), std::move(step)}, children);
}

CallArguments ExpressionParser::parse_arguments() {
  CallArguments arguments;
  expect_op("(");
  bool first = true;
  while (!at_op(")")) {
    if (!first) {
      expect_op(",");
      if (at_op(")")) break;
    }
    first = false;
    if (at_op("*")) {
      if (arguments.unpacked || arguments.unpacked_named) reject("at most one '*' argument, before '**'");
      take();
      arguments.unpacked = parse_expression();
    } else if (at_op("**")) {
      if (arguments.unpacked_named) reject("at most one '**' argument");
      take();
      arguments.unpacked_named = parse_expression();
    } else if (at(Token::Type::name) && following().type == Token::Type::op && following().text == "=") {
      if (arguments.unpacked_named) reject("named arguments before '**'");
      std::string name = take().text;
      take();
      for (const auto& other : arguments.named) {
        if (other.first == name) reject("each named argument once");
      }
      arguments.named.emplace_back(std::move(name), parse_expression());
    } else {
      if (arguments.unpacked || arguments.unpacked_named || !arguments.named.empty()) {
        reject("positional arguments before named ones");
      }
      arguments.positional.push_back(parse_expression());
    }
  }
  expect_op(")");
  return arguments;
}

ExprPtr ExpressionParser::parse_call(ExprPtr callee) {
  const int line = current().line;
  CallArguments arguments = parse_arguments();
  std::vector<const Expr*> children = {callee.get()};
  add_children(children, arguments);
  return make(line, Call{std::move(callee), std::move(arguments)}, children);
}

ExprPtr ExpressionParser::parse_filters(ExprPtr input, bool pipe_consumed) {
  while (pipe_consumed || at_op("|")) {
    if (!pipe_consumed) take();
    pipe_consumed = false;
    const int line = current().line;
    std::string name = expect_name("a filter name");
    while (skip_op(".")) name += "." + expect_name("a filter name");
    CallArguments arguments;
    if (at_op("(")) arguments = parse_arguments();
    std::vector<const Expr*> children = {input.get()};
    add_children(children, arguments);
    input = make(line, FilterUse{std::move(input), std::move(name), std::move(arguments)}, children);
  }
  return input;
}

// `x is divisibleby 3`: one argument may stand without brackets.
bool ExpressionParser::at_test_argument() const {
  if (at(Token::Type::string) || at(Token::Type::number) || at_op("[") || at_op("{")) return true;
  return at(Token::Type::name) && !at_name("else") && !at_name("or") && !at_name("and");
}

ExprPtr ExpressionParser::parse_test(ExprPtr input) {
  const int line = take().line;
  const bool negated = skip_name("not");
  std::string name = expect_name("a test name");
  while (skip_op(".")) name += "." + expect_name("a test name");
  CallArguments arguments;
  if (at_op("(")) {
    arguments = parse_arguments();
  } else if (at_test_argument()) {
    if (at_name("is")) reject("one test after 'is'; tests cannot be chained");
    arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  std::vector<const Expr*> children = {input.get()};
  add_children(children, arguments);
  ExprPtr test = make(line, TestUse{std::move(input), std::move(name), std::move(arguments)}, children);
  if (!negated) return test;
  const Expr* child = test.get();
  return make(line, Unary{UnaryOp::logical_not, std::move(test)}, {child});
}

}  // namespace octet::jinja
