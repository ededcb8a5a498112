// tokenizer/template/objects.h — values with behaviour: macros, methods, functions, namespaces, loops.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/template/interpreter.h"

namespace octet::jinja {

/// A global function such as range().
class Function : public Object {
 public:
  using Code = Value (*)(Interpreter&, const Arguments&);
  Function(std::string_view name, Code code) : name_(name), code_(code) {}
  std::string_view type_name() const override { return "function"; }
  std::string repr() const override { return "<function " + std::string(name_) + ">"; }
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override { return code_(interpreter, arguments); }

 private:
  std::string_view name_;
  Code code_;
};

/// A method of a string, list or dictionary together with its value: 'a,b'.split.
class Method : public Object {
 public:
  using Code = Value (*)(Interpreter&, const Value&, const Arguments&);
  Method(Value self, std::string_view name, Code code) : self_(std::move(self)), name_(name), code_(code) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  std::string repr() const override { return "<built-in method " + std::string(name_) + ">"; }
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override {
    interpreter.budget().work_on(self_);
    return code_(interpreter, self_, arguments);
  }
  int depth() const override { return self_.depth(); }

 private:
  Value self_;
  std::string_view name_;
  Code code_;
};

/// A macro, or the block of {% call %}. It refers to the variables around its definition without keeping them alive:
/// they hold the macro, and it must not hold them.
class Macro : public Object {
 public:
  Macro(const MacroDefinition& definition, std::weak_ptr<Variables> surroundings)
      : definition_(definition), surroundings_(std::move(surroundings)) {}
  std::string_view type_name() const override { return "Macro"; }
  std::string repr() const override { return "<Macro '" + definition_.name + "'>"; }
  std::optional<Value> attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override {
    return interpreter.call_macro(definition_, surroundings_.lock(), arguments);
  }

 private:
  const MacroDefinition& definition_;
  std::weak_ptr<Variables> surroundings_;
};

/// namespace(): the only value that a template can change.
class Namespace : public Object {
 public:
  explicit Namespace(Dict attributes) : attributes_(std::move(attributes)) {}
  std::string_view type_name() const override { return "Namespace"; }
  // Without its contents: namespaces may refer to each other in circles.
  std::string repr() const override { return "<Namespace>"; }
  std::optional<Value> attribute(std::string_view name) override;
  void set(std::string_view name, Value value) { attributes_.set(name, std::move(value)); }
  void clear() { attributes_ = {}; }

 private:
  Dict attributes_;
};

/// The `loop` variable, and the iteration itself. Items are taken one by one, so that a condition (`for x in y if z`)
/// sees what earlier iterations changed.
class Loop : public Object {
 public:
  using Accepts = std::function<bool(const Value&)>;
  /// accepts  the loop's condition; empty: every item.
  Loop(const For& node, VariablesPtr surroundings, Cursor items, Accepts accepts, int depth)
      : node_(node),
        surroundings_(std::move(surroundings)),
        accepts_(std::move(accepts)),
        items_(std::move(items)),
        depth_(depth) {}
  std::string_view type_name() const override { return "LoopContext"; }
  std::string repr() const override;
  std::optional<Value> attribute(std::string_view name) override;
  bool callable() const override { return node_.recursive; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override;
  std::optional<int64_t> length() override;

  /// Moves on to the next item; false at the end.
  bool advance();
  const Value& current() const { return current_; }
  Value cycle(const Arguments& arguments) const;
  Value changed(const Arguments& arguments);
  /// After the last iteration: lets go of everything that could refer back to this loop.
  void finish();

 private:
  /// Reads ahead until `count` items are waiting; false if there are fewer.
  bool look_ahead(size_t count);

  const For& node_;
  VariablesPtr surroundings_;  // null once finished
  Accepts accepts_;
  Cursor items_;
  std::deque<Value> ahead_;  // items that were looked at before their turn
  Value current_, previous_;
  std::optional<std::vector<Value>> last_changed_;
  int64_t index0_ = -1;
  int depth_;
};

/// cycler('a', 'b'): next() gives them in turn.
class Cycler : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(Value::list(std::move(items))) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(std::string_view name) override;
  int depth() const override { return items_.depth(); }
  const Value& current() const { return items_.as_sequence().items[position_]; }
  void next() { position_ = (position_ + 1) % items_.as_sequence().items.size(); }
  void reset() { position_ = 0; }

 private:
  Value items_;
  size_t position_ = 0;
};

/// joiner(', '): nothing the first time, its separator afterwards.
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Value call(Interpreter&, const Arguments&) override;
  int depth() const override { return separator_.depth(); }

 private:
  Value separator_;
  bool used_ = false;
};

}  // namespace octet::jinja
