// tokenizer/template/expression_parser.h — the expressions of the grammar; parser.cpp adds the statements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/template/ast.h"
#include "tokenizer/template/lexer.h"

namespace octet::jinja {

/// Recursive descent over tokens, one function a level of precedence, as in Jinja's own parser.
class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, std::string_view where) : tokens_(std::move(tokens)), where_(where) {}

 protected:
  enum class Conditionals { allowed, not_allowed };  // whether `a if b` may stand here

  // Tokens
  const Token& current() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool at(Token::Type type) const { return current().type == type; }
  bool at_op(std::string_view op) const { return at(Token::Type::op) && current().text == op; }
  bool at_name(std::string_view name) const { return at(Token::Type::name) && current().text == name; }
  Token take();
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_op(std::string_view op);
  std::string expect_name(std::string_view what);
  void expect(Token::Type type, std::string_view what);
  [[noreturn]] void reject(std::string_view expected) const;

  // Expressions
  ExprPtr parse_expression(Conditionals conditionals = Conditionals::allowed);
  /// One expression, or a tuple without parentheses. end_name: a keyword that ends the tuple (`in`, `recursive`).
  ExprPtr parse_tuple(Conditionals conditionals, std::string_view end_name = {}, bool may_be_empty = false);
  ExprPtr parse_primary();
  /// Applies `| filter` once or more to input, which is null for filter blocks.
  ExprPtr parse_filters(ExprPtr input, bool pipe_consumed);

  /// Guards the C++ stack: every recursive rule holds one.
  class Nesting {
   public:
    explicit Nesting(ExpressionParser& parser);
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    ExpressionParser& parser_;
  };

  const std::string_view& where() const { return where_; }

 private:
  template <class Node>
  ExprPtr make(int line, Node node, std::initializer_list<const Expr*> children);
  template <class Node>
  ExprPtr make(int line, Node node, const std::vector<const Expr*>& children);

  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filters);
  ExprPtr parse_postfix(ExprPtr expr);
  ExprPtr parse_filters_and_tests(ExprPtr expr);
  ExprPtr parse_attribute(ExprPtr object);
  ExprPtr parse_subscript(ExprPtr object);
  ExprPtr parse_call(ExprPtr callee);
  ExprPtr parse_test(ExprPtr input);
  ExprPtr parse_list();
  ExprPtr parse_dict();
  CallArguments parse_arguments();
  bool at_test_argument() const;

  std::vector<Token> tokens_;
  std::string_view where_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace octet::jinja
