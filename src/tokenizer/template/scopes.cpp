#include "tokenizer/template/scopes.h"

#include <set>

#include "tokenizer/template/filters.h"
#include "tokenizer/template/tests.h"

namespace octet::jinja {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

// What one block knows of its names, and the blocks around it.
struct Symbols {
  const Symbols* parent = nullptr;       // the block around
  const Symbols* before = nullptr;       // in a branch of an `if`: the same block up to that `if`
  std::set<std::string_view> mentioned;  // read or assigned, in any way
  std::set<std::string_view> unset;      // first mentioned by an assignment, and not known further out

  bool in_block(std::string_view name) const { return mentioned.count(name) > 0 || (before && before->in_block(name)); }
  bool known(std::string_view name) const { return in_block(name) || (parent && parent->known(name)); }
  void read(std::string_view name) {
    if (!known(name)) mentioned.insert(name);
  }
  void assign(std::string_view name) {
    if (in_block(name)) return;
    if (!parent || !parent->known(name)) unset.insert(name);
    mentioned.insert(name);
  }
  void declare(std::string_view name) { mentioned.insert(name); }
};

class ScopeResolver {
 public:
  explicit ScopeResolver(std::string_view where) : where_(where) {}

  // Names that the block introduces by itself (loop targets, parameters) are declared in `symbols` already.
  void resolve(Block& block, Symbols& symbols) {
    for (const StmtPtr& stmt : block.body) mention(*stmt, symbols, false);
    block.unset.assign(symbols.unset.begin(), symbols.unset.end());
    enter(block.body, symbols);
  }

 private:
  // What a statement mentions in its own block; blocks inside of it are left to enter().
  void mention(const Stmt& stmt, Symbols& symbols, bool soft) {
    std::visit(Overloaded{
                   [](const Data&) {},
                   [](const Break&) {},
                   [](const Continue&) {},
                   [](const Scope&) {},
                   [](const NamedBlock&) {},
                   [&](const Output& node) {
                     for (const ExprPtr& part : node.parts) read(*part, symbols, soft);
                   },
                   [&](const Assign& node) {
                     read(*node.value, symbols, soft);
                     assign(node.target, symbols, stmt.line);
                   },
                   [&](const AssignBlock& node) { assign(node.target, symbols, stmt.line); },
                   [&](const For& node) { read(*node.iterable, symbols, soft); },
                   [&](const If& node) { mention_branches(node, symbols); },
                   [&](const MacroDefinition& node) { symbols.assign(node.name); },
                   [&](const CallBlock& node) { read(*node.call, symbols, soft); },
                   [&](const FilterBlock& node) { read(*node.filter, symbols, soft); },
                   [&](const With& node) {
                     for (const auto& variable : node.variables) read(*variable.second, symbols, soft);
                   },
               },
               stmt.node);
  }

  // An assignment in a branch may not happen, so the name keeps what it means outside until then.
  void mention_branches(const If& node, Symbols& symbols) {
    std::set<std::string_view> mentioned;
    const auto mention_branch = [&](const ExprPtr& test, const Body& body) {
      Symbols branch;
      branch.parent = symbols.parent;
      branch.before = &symbols;
      if (test) read(*test, branch, true);
      for (const StmtPtr& stmt : body) mention(*stmt, branch, true);
      mentioned.merge(branch.mentioned);
    };
    read(*node.branches.front().first, symbols, true);
    for (const auto& branch : node.branches) mention_branch(branch.first, branch.second);
    mention_branch(nullptr, node.otherwise);
    symbols.mentioned.merge(mentioned);
  }

  void assign(const Target& target, Symbols& symbols, int line) {
    for (const Target& item : target.items) assign(item, symbols, line);
    if (target.name.empty()) return;
    if (!target.attribute.empty()) return symbols.read(target.name);
    if (target.name == "loop" && loops_ > 0) {
      fail(ErrorCode::bad_template, where_, ":", line, ": expected a variable name other than 'loop' inside of a loop");
    }
    symbols.assign(target.name);
  }

  static void declare(const Target& target, Symbols& symbols) {
    for (const Target& item : target.items) declare(item, symbols);
    if (!target.name.empty()) symbols.declare(target.name);
  }

  void enter(Body& body, Symbols& symbols) {
    for (const StmtPtr& stmt : body) {
      Symbols inner;
      inner.parent = &symbols;
      std::visit(Overloaded{
                     [](auto&) {},
                     [&](AssignBlock& node) {
                       if (node.filter) read(*node.filter, inner, false);
                       resolve(node.block, inner);
                     },
                     [&](For& node) { enter_loop(node, symbols, stmt->line); },
                     [&](If& node) {
                       for (auto& branch : node.branches) enter(branch.second, symbols);
                       enter(node.otherwise, symbols);
                     },
                     [&](MacroDefinition& node) { enter_macro(node, inner); },
                     [&](CallBlock& node) { enter_macro(node.caller, inner); },
                     [&](FilterBlock& node) { resolve(node.block, inner); },
                     [&](With& node) {
                       for (const auto& variable : node.variables) declare(variable.first, inner);
                       resolve(node.block, inner);
                     },
                     [&](Scope& node) { resolve(node.block, inner); },
                     [&](NamedBlock& node) {
                       if (!node.scoped) inner.parent = nullptr;
                       resolve(node.block, inner);
                     },
                 },
                 stmt->node);
    }
  }

  void enter_loop(For& node, Symbols& symbols, int line) {
    ++loops_;
    Symbols body, otherwise, condition;
    body.parent = otherwise.parent = condition.parent = &symbols;
    assign(node.target, condition, line);  // only to check the name `loop`
    if (node.condition) read(*node.condition, condition, false);
    body.declare("loop");
    declare(node.target, body);
    resolve(node.block, body);
    resolve(node.otherwise, otherwise);
    --loops_;
  }

  void enter_macro(MacroDefinition& macro, Symbols& inner) {
    for (const Parameter& parameter : macro.parameters) {
      inner.declare(parameter.name);
      if (parameter.fallback) read(*parameter.fallback, inner, false);
    }
    std::set<std::string_view> names;
    std::swap(names, names_read_);
    for (const std::string_view name : {"caller", "kwargs", "varargs"}) inner.declare(name);
    resolve(macro.block, inner);
    macro.uses_caller = names_read_.count("caller") > 0;
    macro.uses_kwargs = names_read_.count("kwargs") > 0;
    macro.uses_varargs = names_read_.count("varargs") > 0;
    for (const Parameter& parameter : macro.parameters) {
      if (parameter.name == "kwargs") macro.uses_kwargs = false;
      if (parameter.name == "varargs") macro.uses_varargs = false;
      if (parameter.name == "caller") macro.uses_caller = false;
    }
    names_read_.merge(names);
  }

  void read(const Expr& expr, Symbols& symbols, bool soft) {
    const auto visit = [&](const ExprPtr& child) {
      if (child) read(*child, symbols, soft);
    };
    const auto visit_arguments = [&](const CallArguments& arguments) {
      for (const ExprPtr& argument : arguments.positional) visit(argument);
      for (const auto& argument : arguments.named) visit(argument.second);
      visit(arguments.unpacked);
      visit(arguments.unpacked_named);
    };
    std::visit(Overloaded{
                   [](const Literal&) {},
                   [&](const Name& node) {
                     symbols.read(node.id);
                     names_read_.insert(node.id);
                   },
                   [&](const ListDisplay& node) {
                     for (const ExprPtr& item : node.items) visit(item);
                   },
                   [&](const DictDisplay& node) {
                     for (const auto& item : node.items) {
                       visit(item.first);
                       visit(item.second);
                     }
                   },
                   [&](const Attribute& node) { visit(node.object); },
                   [&](const Subscript& node) {
                     visit(node.object);
                     visit(node.index);
                   },
                   [&](const Slice& node) {
                     for (const ExprPtr* part : {&node.object, &node.start, &node.stop, &node.step}) visit(*part);
                   },
                   [&](const Call& node) {
                     visit(node.callee);
                     visit_arguments(node.arguments);
                   },
                   [&](const FilterUse& node) {
                     if (!soft && !find_filter(node.name)) reject(expr.line, "filter", node.name);
                     visit(node.input);
                     visit_arguments(node.arguments);
                   },
                   [&](const TestUse& node) {
                     if (!soft && !find_test(node.name)) reject(expr.line, "test", node.name);
                     visit(node.input);
                     visit_arguments(node.arguments);
                   },
                   [&](const Unary& node) { visit(node.operand); },
                   [&](const Binary& node) {
                     visit(node.left);
                     visit(node.right);
                   },
                   [&](const Logical& node) {
                     visit(node.left);
                     visit(node.right);
                   },
                   [&](const Compare& node) {
                     visit(node.first);
                     for (const auto& operand : node.rest) visit(operand.second);
                   },
                   [&](const Concat& node) {
                     for (const ExprPtr& part : node.parts) visit(part);
                   },
                   [&](const Conditional& node) {
                     for (const ExprPtr* part : {&node.test, &node.then, &node.otherwise}) {
                       if (*part) read(**part, symbols, true);
                     }
                   },
               },
               expr.node);
  }

  [[noreturn]] void reject(int line, std::string_view what, const std::string& name) const {
    fail(ErrorCode::bad_template, where_, ":", line, ": expected a ", what, " that octet knows, got '", name, "'");
  }

  std::string_view where_;
  int loops_ = 0;                          // loops around the current place
  std::set<std::string_view> names_read_;  // inside of the current macro
};

}  // namespace

void resolve_scopes(Block& root, std::string_view where) {
  Symbols symbols;
  ScopeResolver(where).resolve(root, symbols);
}

}  // namespace octet::jinja
