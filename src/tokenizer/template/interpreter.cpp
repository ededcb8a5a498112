#include "tokenizer/template/interpreter.h"

#include <algorithm>

#include "tokenizer/template/objects.h"
#include "tokenizer/template/print.h"

namespace octet::jinja {

// One more statement or expression inside of others; bounds the C++ stack.
class Interpreter::Nesting {
 public:
  Nesting(Interpreter& interpreter, int line) : interpreter_(interpreter) {
    interpreter_.line_ = line;
    interpreter_.budget_.work(1);
    if (++interpreter_.depth_ > interpreter_.options_.max_depth) {
      --interpreter_.depth_;
      exhausted("statements, expressions and macro calls are nested deeper than ", interpreter_.options_.max_depth,
                " levels");
    }
  }
  ~Nesting() { --interpreter_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Interpreter& interpreter_;
};

// Other current variables and another output for as long as it lives.
class Interpreter::Entered {
 public:
  Entered(Interpreter& interpreter, VariablesPtr variables, std::string* output)
      : interpreter_(interpreter),
        variables_(std::exchange(interpreter.current_, std::move(variables))),
        output_(std::exchange(interpreter.output_, output)) {}
  ~Entered() {
    interpreter_.current_ = std::move(variables_);
    interpreter_.output_ = output_;
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Interpreter& interpreter_;
  VariablesPtr variables_;
  std::string* output_;
};

void Variables::set(std::string_view name, Value value) {
  for (Entry& entry : entries) {
    if (entry.name == name) {
      entry.value = std::move(value);
      entry.is_set = true;
      return;
    }
  }
  entries.push_back({name, std::move(value), true});
}

Interpreter::Interpreter(const Block& root, const Value& variables, const RenderOptions& options)
    : options_(options),
      budget_(options.max_steps, options.max_allocated_bytes),
      variables_(variables),
      top_(open(root, nullptr)),
      current_(top_) {}

Interpreter::~Interpreter() {
  for (const auto& one : namespaces_) one->clear();
}

std::string Interpreter::run(const Block& root) {
  std::string output;
  output_ = &output;
  run_body(root.body);
  return output;
}

Value Interpreter::text(std::string bytes, bool markup) {
  budget_.allocate(static_cast<int64_t>(bytes.size()));
  return Value::text(std::move(bytes), markup);
}

Value Interpreter::list(std::vector<Value> items) {
  budget_.allocate(static_cast<int64_t>(items.size() * sizeof(Value)));
  return Value::list(std::move(items));
}

Value Interpreter::make_namespace(Dict attributes) {
  budget_.allocate(256);
  namespaces_.push_back(std::make_shared<Namespace>(std::move(attributes)));
  return Value::object(namespaces_.back());
}

void Interpreter::write(std::string_view text) {
  if (static_cast<int64_t>(output_->size() + text.size()) > options_.max_output_bytes) {
    exhausted("the text is longer than ", options_.max_output_bytes, " bytes");
  }
  output_->append(text);
}

VariablesPtr Interpreter::open(const Block& block, VariablesPtr parent) const {
  auto variables = std::make_shared<Variables>();
  variables->parent = std::move(parent);
  for (const std::string& name : block.unset) variables->entries.push_back({name, {}, false});
  return variables;
}

Interpreter::Flow Interpreter::run_body(const Body& body) {
  for (const StmtPtr& stmt : body) {
    if (const Flow flow = run_statement(*stmt); flow != Flow::next) return flow;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::run_block(const Block& block, VariablesPtr variables) {
  const Entered entered(*this, std::move(variables), output_);
  return run_body(block.body);
}

Interpreter::Flow Interpreter::capture(const Block& block, VariablesPtr variables, std::string& text) {
  const Entered entered(*this, std::move(variables), &text);
  const Flow flow = run_body(block.body);
  budget_.allocate(static_cast<int64_t>(text.size()));
  return flow;
}

Interpreter::Flow Interpreter::run_statement(const Stmt& stmt) {
  const Nesting nesting(*this, stmt.line);
  const auto& node = stmt.node;
  if (const auto* data = std::get_if<Data>(&node)) {
    write(data->text);
  } else if (const auto* output = std::get_if<Output>(&node)) {
    for (const ExprPtr& part : output->parts) {
      const Value value = evaluate(*part);
      budget_.work_on(value);
      value.is_text() ? write(value.as_text()) : write(to_str(value));
    }
  } else if (const auto* set = std::get_if<Assign>(&node)) {
    assign(set->target, evaluate(*set->value));
  } else if (const auto* branches = std::get_if<If>(&node)) {
    return run_if(*branches);
  } else if (const auto* loop = std::get_if<For>(&node)) {
    return run_for(*loop, evaluate(*loop->iterable), 0);
  } else if (const auto* macro = std::get_if<MacroDefinition>(&node)) {
    current_->set(macro->name, Value::object(std::make_shared<Macro>(*macro, current_)));
  } else if (const auto* block_set = std::get_if<AssignBlock>(&node)) {
    return run_assign_block(*block_set);
  } else if (const auto* call = std::get_if<CallBlock>(&node)) {
    return run_call_block(*call);
  } else if (const auto* filter = std::get_if<FilterBlock>(&node)) {
    return run_filter_block(*filter);
  } else if (const auto* with = std::get_if<With>(&node)) {
    return run_with(*with);
  } else if (const auto* scope = std::get_if<Scope>(&node)) {
    return run_block(scope->block, open(scope->block, current_));
  } else if (const auto* named = std::get_if<NamedBlock>(&node)) {
    return run_block(named->block, open(named->block, named->scoped ? current_ : top_));
  } else if (std::holds_alternative<Break>(node)) {
    return Flow::break_loop;
  } else if (std::holds_alternative<Continue>(node)) {
    return Flow::continue_loop;
  }
  return Flow::next;
}

void Interpreter::assign(const Target& target, const Value& value) {
  if (target.name.empty()) {
    const std::vector<Value> items = items_of(value);
    budget_.work(static_cast<int64_t>(items.size()));
    if (items.size() != target.items.size()) {
      raise("expected ", target.items.size(), " values to unpack, got ", items.size());
    }
    for (size_t i = 0; i < items.size(); ++i) assign(target.items[i], items[i]);
    return;
  }
  if (target.attribute.empty()) return current_->set(target.name, value);
  const Value owner = look_up(target.name);
  auto* space = owner.is(Kind::object) ? dynamic_cast<Namespace*>(owner.as_object().get()) : nullptr;
  if (!space) raise("cannot assign attribute on non-namespace object");
  budget_.allocate(64);
  space->set(target.attribute, value);
}

Interpreter::Flow Interpreter::run_if(const If& node) {
  for (const auto& branch : node.branches) {
    if (truthy(evaluate(*branch.first))) return run_body(branch.second);
  }
  return run_body(node.otherwise);
}

bool Interpreter::accepts(const For& node, const VariablesPtr& surroundings, const Value& item) {
  auto variables = std::make_shared<Variables>();
  variables->parent = surroundings;
  const Entered entered(*this, std::move(variables), output_);
  assign(node.target, item);
  return truthy(evaluate(*node.condition));
}

Interpreter::Flow Interpreter::run_for(const For& node, const Value& iterable, int depth) {
  Loop::Accepts condition;
  if (node.condition) {
    condition = [this, &node, surroundings = current_](const Value& item) { return accepts(node, surroundings, item); };
  }
  const auto loop = std::make_shared<Loop>(node, current_, Cursor(iterable), std::move(condition), depth);
  try {
    const Flow flow = run_iterations(node, *loop, Value::object(loop));
    loop->finish();
    return flow;
  } catch (...) {
    loop->finish();  // breaks cycles on errors too
    throw;
  }
}

Interpreter::Flow Interpreter::run_iterations(const For& node, Loop& loop, const Value& loop_value) {
  // As in Jinja, only an iteration that reaches its end keeps the else block from running.
  bool completed = false;
  while (loop.advance()) {
    budget_.work(1);
    const VariablesPtr variables = open(node.block, current_);
    variables->set("loop", loop_value);
    const Entered entered(*this, variables, output_);
    assign(node.target, loop.current());
    const Flow flow = run_body(node.block.body);
    if (flow == Flow::break_loop) break;
    if (flow == Flow::next) completed = true;
  }
  if (completed) return Flow::next;
  return run_block(node.otherwise, open(node.otherwise, current_));
}

std::string Interpreter::run_recursion(const For& node, const VariablesPtr& surroundings, const Value& iterable,
                                       int depth) {
  const Nesting nesting(*this, line_);
  std::string text;
  const Entered entered(*this, surroundings, &text);
  run_for(node, iterable, depth);
  return text;
}

Interpreter::Flow Interpreter::run_assign_block(const AssignBlock& node) {
  std::string text;
  const VariablesPtr variables = open(node.block, current_);
  const Flow flow = capture(node.block, variables, text);
  if (flow != Flow::next) return flow;
  Value value = Value::text(std::move(text));
  if (node.filter) {
    const Entered entered(*this, variables, output_);
    const Value outer = std::exchange(filter_input_, std::move(value));
    value = evaluate(*node.filter);
    filter_input_ = outer;
  }
  assign(node.target, value);
  return Flow::next;
}

Interpreter::Flow Interpreter::run_filter_block(const FilterBlock& node) {
  std::string text;
  const VariablesPtr variables = open(node.block, current_);
  const Flow flow = capture(node.block, variables, text);
  if (flow != Flow::next) return flow;
  const Entered entered(*this, variables, output_);
  const Value outer = std::exchange(filter_input_, Value::text(std::move(text)));
  const Value value = evaluate(*node.filter);
  filter_input_ = outer;
  write(to_str(value));
  return Flow::next;
}

Interpreter::Flow Interpreter::run_call_block(const CallBlock& node) {
  const Value caller = Value::object(std::make_shared<Macro>(node.caller, current_));
  const Value value = evaluate_call(std::get<Call>(node.call->node), &caller);
  write(to_str(value));
  return Flow::next;
}

Interpreter::Flow Interpreter::run_with(const With& node) {
  const VariablesPtr variables = open(node.block, current_);
  std::vector<Value> values;
  for (const auto& variable : node.variables) values.push_back(evaluate(*variable.second));
  const Entered entered(*this, variables, output_);
  for (size_t i = 0; i < values.size(); ++i) assign(node.variables[i].first, values[i]);
  return run_body(node.block.body);
}

// As jinja2's Macro.__call__: positional arguments, then named ones, then what the body asks for by name.
void Interpreter::bind_parameters(const MacroDefinition& macro, const Arguments& arguments) {
  std::vector<std::pair<std::string, Value>> named = arguments.named;
  const auto take_named = [&](std::string_view name) -> std::optional<Value> {
    const auto found = std::find_if(named.begin(), named.end(), [&](const auto& one) { return one.first == name; });
    if (found == named.end()) return std::nullopt;
    Value value = std::move(found->second);
    named.erase(found);
    return value;
  };
  const size_t num_positional = std::min(arguments.positional.size(), macro.parameters.size());
  std::vector<const Parameter*> missing;
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    if (i < num_positional) {
      current_->set(parameter.name, arguments.positional[i]);
    } else if (auto value = take_named(parameter.name)) {
      current_->set(parameter.name, std::move(*value));
    } else {
      missing.push_back(&parameter);
    }
  }
  if (macro.uses_caller) {
    const auto caller = take_named("caller");
    current_->set("caller", caller ? *caller : Value::undefined("No caller defined"));
  }
  if (macro.uses_kwargs) {
    Dict rest;
    for (auto& argument : named) rest.set(argument.first, std::move(argument.second));
    current_->set("kwargs", Value::dict(std::move(rest)));
  } else if (!named.empty()) {
    raise("macro '", macro.name, "' takes no keyword argument '", named.front().first, "'");
  }
  if (macro.uses_varargs) {
    const auto rest = arguments.positional.begin() + static_cast<std::ptrdiff_t>(num_positional);
    current_->set("varargs", Value::tuple({rest, arguments.positional.end()}));
  } else if (arguments.positional.size() > macro.parameters.size()) {
    raise("macro '", macro.name, "' takes not more than ", macro.parameters.size(), " argument(s)");
  }
  for (const Parameter* parameter : missing) {
    current_->set(parameter->name, parameter->fallback
                                       ? evaluate(*parameter->fallback)
                                       : Value::undefined("parameter '" + parameter->name + "' was not provided"));
  }
}

Value Interpreter::call_macro(const MacroDefinition& macro, VariablesPtr surroundings, const Arguments& arguments) {
  const Nesting nesting(*this, line_);
  std::string text;
  const Entered entered(*this, open(macro.block, surroundings ? std::move(surroundings) : top_), &text);
  bind_parameters(macro, arguments);
  run_body(macro.block.body);
  return this->text(std::move(text));
}

}  // namespace octet::jinja
