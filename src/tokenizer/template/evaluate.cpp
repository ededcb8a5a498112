// The expressions of Interpreter.
#include "tokenizer/template/arguments.h"
#include "tokenizer/template/filters.h"
#include "tokenizer/template/globals.h"
#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/objects.h"
#include "tokenizer/template/operators.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/tests.h"

namespace octet::jinja {
namespace {

// As the Nesting of statements; kept apart because this one is on the hottest path.
class Deeper {
 public:
  Deeper(int& depth, int max_depth) : depth_(depth) {
    if (++depth_ > max_depth) {
      --depth_;
      exhausted("statements, expressions and macro calls are nested deeper than ", max_depth, " levels");
    }
  }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

}  // namespace

Value Interpreter::evaluate(const Expr& expr) {
  const Deeper deeper(depth_, options_.max_depth);
  budget_.work(1);
  line_ = expr.line;
  return std::visit([this](const auto& node) { return evaluate_node(node); }, expr.node);
}

Value Interpreter::look_up(std::string_view name) const {
  for (const Variables* variables = current_.get(); variables; variables = variables->parent.get()) {
    for (const Variables::Entry& entry : variables->entries) {
      if (entry.name != name) continue;
      return entry.is_set ? entry.value : Value::undefined("'" + std::string(name) + "' is undefined");
    }
  }
  if (const Value* value = variables_.as_dict().find(name)) return *value;
  if (const auto value = global(name)) return *value;
  return Value::undefined("'" + std::string(name) + "' is undefined");
}

Value Interpreter::evaluate_node(const Literal& node) { return node.value; }
Value Interpreter::evaluate_node(const Name& node) { return look_up(node.id); }

Value Interpreter::evaluate_node(const ListDisplay& node) {
  std::vector<Value> items;
  for (const ExprPtr& item : node.items) items.push_back(evaluate(*item));
  budget_.allocate(static_cast<int64_t>(items.size() * sizeof(Value)));
  return node.is_tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value Interpreter::evaluate_node(const DictDisplay& node) {
  budget_.allocate(static_cast<int64_t>(node.items.size() * 2 * sizeof(Value)));
  Dict dict;
  for (const auto& item : node.items) {
    const Value key = evaluate(*item.first);
    dict.set(key, evaluate(*item.second));
  }
  return Value::dict(std::move(dict));
}

Value Interpreter::evaluate_node(const Attribute& node) { return attribute(evaluate(*node.object), node.name); }

Value Interpreter::evaluate_node(const Subscript& node) {
  const Value object = evaluate(*node.object);
  return item(object, evaluate(*node.index));
}

Value Interpreter::evaluate_node(const Slice& node) {
  const Value object = evaluate(*node.object);
  const auto part = [&](const ExprPtr& expr) { return expr ? evaluate(*expr) : Value::none(); };
  const Value start = part(node.start), stop = part(node.stop), step = part(node.step);
  return slice(*this, object, start, stop, step);
}

Arguments Interpreter::evaluate_arguments(const CallArguments& arguments) {
  Arguments out;
  for (const ExprPtr& argument : arguments.positional) out.positional.push_back(evaluate(*argument));
  for (const auto& argument : arguments.named) out.named.emplace_back(argument.first, evaluate(*argument.second));
  if (arguments.unpacked) {
    Cursor cursor(evaluate(*arguments.unpacked));
    for (Value item; cursor.next(item);) out.positional.push_back(item);
  }
  if (arguments.unpacked_named) {
    const Value named = evaluate(*arguments.unpacked_named);
    if (!named.is(Kind::dict)) raise("argument after ** must be a mapping, not ", type_name(named));
    for (const Dict::Entry& entry : named.as_dict().entries()) {
      if (!entry.first.is_text()) raise("keywords must be strings");
      for (const auto& other : arguments.named) {
        if (other.first == entry.first.as_text()) raise("got multiple values for keyword argument '", other.first, "'");
      }
      out.named.emplace_back(entry.first.as_text(), entry.second);
    }
  }
  budget_.work(static_cast<int64_t>(out.positional.size() + out.named.size()));
  return out;
}

Value Interpreter::evaluate_call(const Call& node, const Value* caller) {
  const Value callee = evaluate(*node.callee);
  Arguments arguments = evaluate_arguments(node.arguments);
  if (caller) arguments.named.emplace_back("caller", *caller);
  return call(callee, arguments);
}

Value Interpreter::evaluate_node(const Call& node) { return evaluate_call(node, nullptr); }

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) raise_undefined(callee);
  if (!callee.is(Kind::object)) raise("'", type_name(callee), "' object is not callable");
  return callee.as_object()->call(*this, arguments);
}

Value Interpreter::apply_filter(std::string_view name, const Value& input, const Arguments& arguments) {
  const Filter filter = find_filter(name);
  if (!filter) raise("No filter named '", name, "' found.");
  budget_.work_on(input);
  return filter(*this, input, arguments);
}

bool Interpreter::apply_test(std::string_view name, const Value& input, const Arguments& arguments) {
  const Test test = find_test(name);
  if (!test) raise("No test named '", name, "' found.");
  budget_.work(1);
  return test(*this, input, arguments);
}

Value Interpreter::evaluate_node(const FilterUse& node) {
  const Value input = node.input ? evaluate(*node.input) : filter_input_;
  return apply_filter(node.name, input, evaluate_arguments(node.arguments));
}

Value Interpreter::evaluate_node(const TestUse& node) {
  const Value input = evaluate(*node.input);
  return Value::boolean(apply_test(node.name, input, evaluate_arguments(node.arguments)));
}

Value Interpreter::evaluate_node(const Unary& node) {
  const Value operand = evaluate(*node.operand);
  switch (node.op) {
    case UnaryOp::logical_not:
      return Value::boolean(!truthy(operand));
    case UnaryOp::negate:
      return negate(operand);
    case UnaryOp::plus:
      return plus(operand);
  }
  return {};
}

Value Interpreter::evaluate_node(const Binary& node) {
  const Value left = evaluate(*node.left);
  const Value right = evaluate(*node.right);
  return binary(*this, node.op, left, right);
}

Value Interpreter::evaluate_node(const Logical& node) {
  Value left = evaluate(*node.left);
  return truthy(left) == node.is_or ? left : evaluate(*node.right);
}

Value Interpreter::evaluate_node(const Compare& node) {
  Value left = evaluate(*node.first);
  for (const auto& operand : node.rest) {
    Value right = evaluate(*operand.second);
    if (!compare(budget_, operand.first, left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_node(const Concat& node) {
  std::string out;
  for (const ExprPtr& part : node.parts) {
    const Value value = evaluate(*part);
    budget_.allocate(value.weight());
    out += to_str(value);
  }
  return text(std::move(out));
}

Value Interpreter::evaluate_node(const Conditional& node) {
  if (truthy(evaluate(*node.test))) return evaluate(*node.then);
  if (node.otherwise) return evaluate(*node.otherwise);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined.");
}

}  // namespace octet::jinja
