// tokenizer/template/interpreter.h — runs a syntax tree: statements write text, expressions give values.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/template/ast.h"
#include "tokenizer/template/budget.h"
#include "tokenizer/template/template.h"
#include "tokenizer/template/value.h"

namespace octet::jinja {

class Loop;
class Namespace;

/// Variables of one block that is being run; see scopes.h for the rules.
struct Variables {
  struct Entry {
    std::string_view name;  // points into the syntax tree
    Value value;
    bool is_set;
  };
  std::shared_ptr<Variables> parent;
  std::vector<Entry> entries;

  void set(std::string_view name, Value value);
};
using VariablesPtr = std::shared_ptr<Variables>;

/// One rendering.
class Interpreter {
 public:
  /// The tree and the variables must outlive the interpreter.
  Interpreter(const Block& root, const Value& variables, const RenderOptions& options);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Renders the tree. Throws Failure; line() then says where.
  std::string run(const Block& root);
  int line() const { return line_; }

  // What filters, tests, methods and global functions use.
  Budget& budget() { return budget_; }
  const RenderOptions& options() const { return options_; }
  /// A text value, charged to the budget.
  Value text(std::string bytes, bool markup = false);
  Value list(std::vector<Value> items);
  /// object.name: a method or attribute first, an item of that name else (access.cpp).
  Value attribute(const Value& object, std::string_view name);
  /// object[index]: an item first, a method or attribute else.
  Value item(const Value& object, const Value& index);
  Value call(const Value& callee, const Arguments& arguments);
  Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
  bool apply_test(std::string_view name, const Value& input, const Arguments& arguments);
  Value make_namespace(Dict attributes);

  // What macros and recursive loops call back.
  Value call_macro(const MacroDefinition& macro, VariablesPtr surroundings, const Arguments& arguments);
  std::string run_recursion(const For& node, const VariablesPtr& surroundings, const Value& iterable, int depth);

 private:
  enum class Flow { next, break_loop, continue_loop };
  class Nesting;
  class Entered;

  // Statements (interpreter.cpp)
  Flow run_body(const Body& body);
  Flow run_statement(const Stmt& stmt);
  /// Runs a block in new variables on top of `parent`, written to the current output.
  Flow run_block(const Block& block, VariablesPtr variables);
  /// Runs a block and keeps its text apart.
  Flow capture(const Block& block, VariablesPtr variables, std::string& text);
  VariablesPtr open(const Block& block, VariablesPtr parent) const;
  void write(std::string_view text);
  void assign(const Target& target, const Value& value);
  Flow run_if(const If& node);
  Flow run_for(const For& node, const Value& iterable, int depth);
  Flow run_iterations(const For& node, Loop& loop, const Value& loop_value);
  Flow run_assign_block(const AssignBlock& node);
  Flow run_call_block(const CallBlock& node);
  Flow run_filter_block(const FilterBlock& node);
  Flow run_with(const With& node);
  void bind_parameters(const MacroDefinition& macro, const Arguments& arguments);
  bool accepts(const For& node, const VariablesPtr& surroundings, const Value& item);

  // Expressions (evaluate.cpp)
  Value evaluate(const Expr& expr);
  Value evaluate_node(const Literal& node);
  Value evaluate_node(const Name& node);
  Value evaluate_node(const ListDisplay& node);
  Value evaluate_node(const DictDisplay& node);
  Value evaluate_node(const Attribute& node);
  Value evaluate_node(const Subscript& node);
  Value evaluate_node(const Slice& node);
  Value evaluate_node(const Call& node);
  Value evaluate_node(const FilterUse& node);
  Value evaluate_node(const TestUse& node);
  Value evaluate_node(const Unary& node);
  Value evaluate_node(const Binary& node);
  Value evaluate_node(const Logical& node);
  Value evaluate_node(const Compare& node);
  Value evaluate_node(const Concat& node);
  Value evaluate_node(const Conditional& node);
  Arguments evaluate_arguments(const CallArguments& arguments);
  Value evaluate_call(const Call& node, const Value* caller);
  Value look_up(std::string_view name) const;

  const RenderOptions& options_;
  Budget budget_;
  const Value& variables_;  // what the caller passed
  VariablesPtr top_;        // variables of the template itself
  VariablesPtr current_;
  std::string* output_ = nullptr;
  Value filter_input_;  // the text of the filter block or block set that is being filtered
  std::vector<std::shared_ptr<Namespace>> namespaces_;  // emptied at the end: they alone can form cycles
  int depth_ = 0;
  int line_ = 1;
};

}  // namespace octet::jinja
