#include "tokenizer/template/parser.h"

#include <algorithm>

#include "tokenizer/template/expression_parser.h"
#include "tokenizer/template/scopes.h"

namespace octet::jinja {
namespace {

using EndTags = std::initializer_list<std::string_view>;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Block parse_template() {
    Block block;
    block.body = parse_until({});
    return block;
  }

 private:
  // Statements up to one of the tags, whose name is then current; no tags: up to the end of the template.
  Body parse_until(EndTags end_tags) {
    const Nesting nesting(*this);
    Body body;
    while (!at(Token::Type::end)) {
      const int line = current().line;
      if (at(Token::Type::data)) {
        body.push_back(make(line, Data{take().text}));
      } else if (at(Token::Type::print_begin)) {
        take();
        Output output;
        output.parts.push_back(parse_tuple(Conditionals::allowed));
        expect(Token::Type::print_end, "'}}'");
        body.push_back(make(line, std::move(output)));
      } else {
        expect(Token::Type::block_begin, "'{%'");
        if (std::any_of(end_tags.begin(), end_tags.end(), [&](auto tag) { return at_name(tag); })) return body;
        body.push_back(parse_statement());
        expect(Token::Type::block_end, "'%}'");
      }
    }
    if (end_tags.size() > 0) reject(one_of(end_tags));
    return body;
  }

  // The body of a tag that has just been read up to its '%}'.
  Body parse_body(EndTags end_tags) {
    skip_op(":");
    expect(Token::Type::block_end, "'%}'");
    return parse_until(end_tags);
  }

  Block parse_block(std::string_view end_tag) {
    Block block;
    block.body = parse_body({end_tag});
    take();
    return block;
  }

  static std::string one_of(EndTags tags) {
    std::string text;
    for (const std::string_view tag : tags) {
      text += (text.empty() ? "'{% " : " or '{% ") + std::string(tag) + " %}'";
    }
    return text;
  }

  template <class Node>
  static StmtPtr make(int line, Node node) {
    return std::make_unique<Stmt>(Stmt{line, std::move(node)});
  }

  StmtPtr parse_statement() {
    struct Rule {
      std::string_view tag;
      StmtPtr (Parser::*parse)();
    };
    static constexpr Rule kRules[] = {
        {"for", &Parser::parse_for},           {"if", &Parser::parse_if},
        {"set", &Parser::parse_set},           {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call_tag},     {"filter", &Parser::parse_filter_tag},
        {"with", &Parser::parse_with},         {"print", &Parser::parse_print},
        {"block", &Parser::parse_named_block}, {"break", &Parser::parse_break},
        {"continue", &Parser::parse_continue}, {"generation", &Parser::parse_generation},
    };
    if (!at(Token::Type::name)) reject("a tag name");
    for (const Rule& rule : kRules) {
      if (at_name(rule.tag)) return (this->*rule.parse)();
    }
    for (const std::string_view tag : {"include", "import", "from", "extends"}) {
      if (at_name(tag)) reject("a template in one file; octet loads no other files from templates");
    }
    reject("a known tag");
  }

  // A name, a namespace attribute, or several of them with commas; `in` ends the target of a for.
  Target parse_target(bool with_attributes) {
    const Nesting nesting(*this);
    Target tuple;
    bool is_tuple = false;
    while (at(Token::Type::name) || at_op("(")) {
      if (at_name("in")) break;
      tuple.items.push_back(parse_target_item(with_attributes));
      if (!skip_op(",")) break;
      is_tuple = true;
    }
    if (tuple.items.empty()) reject("a variable name");
    if (!is_tuple) return std::move(tuple.items.front());
    return tuple;
  }

  Target parse_target_item(bool with_attributes) {
    if (skip_op("(")) {
      Target inner = parse_target(false);
      expect_op(")");
      return inner;
    }
    static constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::any_of(std::begin(kConstants), std::end(kConstants), [&](auto name) { return at_name(name); })) {
      reject("a variable name that can be assigned");
    }
    Target target;
    target.name = expect_name("a variable name");
    if (with_attributes && skip_op(".")) target.attribute = expect_name("an attribute name");
    return target;
  }

  StmtPtr parse_set() {
    const int line = take().line;
    Target target = parse_target(true);
    if (skip_op("=")) return make(line, Assign{std::move(target), parse_tuple(Conditionals::allowed)});
    ExprPtr filter = parse_filters(nullptr, false);
    return make(line, AssignBlock{std::move(target), std::move(filter), parse_block("endset")});
  }

  StmtPtr parse_for() {
    const int line = take().line;
    For loop;
    loop.target = parse_target(false);
    if (!skip_name("in")) reject("'in'");
    loop.iterable = parse_tuple(Conditionals::not_allowed, "recursive");
    if (skip_name("if")) loop.condition = parse_expression();
    loop.recursive = skip_name("recursive");
    ++loops_;
    loop.block.body = parse_body({"endfor", "else"});
    --loops_;
    if (take().text == "else") loop.otherwise = parse_block("endfor");
    return make(line, std::move(loop));
  }

  StmtPtr parse_if() {
    const int line = take().line;
    If branches;
    while (true) {
      ExprPtr test = parse_tuple(Conditionals::not_allowed);
      Body body = parse_body({"elif", "else", "endif"});
      branches.branches.emplace_back(std::move(test), std::move(body));
      const std::string tag = take().text;
      if (tag == "elif") continue;
      if (tag == "else") {
        branches.otherwise = parse_body({"endif"});
        take();
      }
      return make(line, std::move(branches));
    }
  }

  // Bodies of macros and call blocks are functions of their own: a loop around them cannot be left from inside.
  Block parse_function_block(std::string_view end_tag) {
    const int loops = std::exchange(loops_, 0);
    Block block = parse_block(end_tag);
    loops_ = loops;
    return block;
  }

  std::vector<Parameter> parse_parameters() {
    std::vector<Parameter> parameters;
    expect_op("(");
    while (!at_op(")")) {
      if (!parameters.empty()) expect_op(",");
      Parameter parameter{expect_name("a parameter name"), nullptr};
      if (skip_op("=")) {
        parameter.fallback = parse_expression();
      } else if (!parameters.empty() && parameters.back().fallback) {
        reject("'=' (a parameter after one with a default needs a default)");
      }
      parameters.push_back(std::move(parameter));
    }
    expect_op(")");
    return parameters;
  }

  StmtPtr parse_macro() {
    const int line = take().line;
    MacroDefinition macro;
    macro.name = expect_name("a macro name");
    macro.parameters = parse_parameters();
    macro.block = parse_function_block("endmacro");
    return make(line, std::move(macro));
  }

  StmtPtr parse_call_tag() {
    const int line = take().line;
    CallBlock block;
    block.caller.name = "caller";
    if (at_op("(")) block.caller.parameters = parse_parameters();
    block.call = parse_expression();
    if (!std::holds_alternative<Call>(block.call->node)) reject("a call, as in {% call name() %}");
    block.caller.block = parse_function_block("endcall");
    return make(line, std::move(block));
  }

  StmtPtr parse_filter_tag() {
    const int line = take().line;
    ExprPtr filter = parse_filters(nullptr, true);
    return make(line, FilterBlock{std::move(filter), parse_block("endfilter")});
  }

  StmtPtr parse_with() {
    const int line = take().line;
    With with;
    while (!at(Token::Type::block_end)) {
      if (!with.variables.empty()) expect_op(",");
      Target target = parse_target(false);
      expect_op("=");
      with.variables.emplace_back(std::move(target), parse_expression());
    }
    with.block = parse_block("endwith");
    return make(line, std::move(with));
  }

  StmtPtr parse_print() {
    const int line = take().line;
    Output output;
    while (!at(Token::Type::block_end)) {
      if (!output.parts.empty()) expect_op(",");
      output.parts.push_back(parse_expression());
    }
    return make(line, std::move(output));
  }

  StmtPtr parse_named_block() {
    const int line = take().line;
    NamedBlock block;
    block.name = expect_name("a block name");
    block.scoped = skip_name("scoped");
    skip_name("required");
    block.block = parse_function_block("endblock");
    skip_name(block.name);
    return make(line, std::move(block));
  }

  StmtPtr parse_generation() {
    const int line = take().line;
    return make(line, Scope{parse_function_block("endgeneration")});
  }

  StmtPtr parse_break() {
    if (loops_ == 0) reject("a loop around 'break'");
    return make(take().line, Break{});
  }

  StmtPtr parse_continue() {
    if (loops_ == 0) reject("a loop around 'continue'");
    return make(take().line, Continue{});
  }

  int loops_ = 0;  // loops around the current statement, inside of one function
};

}  // namespace

Block parse(std::string_view source, std::string_view where) {
  Parser parser(tokenize(source, where), where);
  Block root = parser.parse_template();
  resolve_scopes(root, where);
  return root;
}

}  // namespace octet::jinja
