#include "tokenizer/template/objects.h"

#include <algorithm>

#include "tokenizer/template/arguments.h"

namespace octet::jinja {
namespace {

// A method of an Object itself: `loop.cycle`, `cycler.next`.
template <class T>
class OwnMethod : public Object {
 public:
  using Code = Value (*)(T&, const Arguments&);
  // The object outlives its method only as long as somebody holds it; a method that is kept longer says so.
  OwnMethod(std::weak_ptr<T> self, Code code) : self_(std::move(self)), code_(code) {}
  std::string_view type_name() const override { return "method"; }
  bool callable() const override { return true; }
  Value call(Interpreter&, const Arguments& arguments) override {
    const std::shared_ptr<T> self = self_.lock();
    if (!self) raise("the object of this method is gone");
    return code_(*self, arguments);
  }

 private:
  std::weak_ptr<T> self_;
  Code code_;
};

}  // namespace

std::optional<Value> Macro::attribute(std::string_view name) {
  if (name == "name") return Value::text(definition_.name);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const Parameter& parameter : definition_.parameters) names.push_back(Value::text(parameter.name));
    return Value::tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value::boolean(definition_.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(definition_.uses_varargs);
  if (name == "caller") return Value::boolean(definition_.uses_caller);
  return std::nullopt;
}

std::optional<Value> Namespace::attribute(std::string_view name) {
  const Value* value = attributes_.find(name);
  return value ? std::optional<Value>(*value) : std::nullopt;
}

std::string Loop::repr() const { return "<LoopContext " + std::to_string(index0_ + 1) + ">"; }

bool Loop::look_ahead(size_t count) {
  for (Value item; ahead_.size() < count && surroundings_ && items_.next(item);) {
    if (!accepts_ || accepts_(item)) ahead_.push_back(item);
  }
  return ahead_.size() >= count;
}

bool Loop::advance() {
  if (!look_ahead(1)) return false;
  previous_ = std::exchange(current_, ahead_.front());
  ahead_.pop_front();
  ++index0_;
  return true;
}

void Loop::finish() {
  surroundings_ = nullptr;
  accepts_ = nullptr;
  last_changed_.reset();
}

std::optional<int64_t> Loop::length() {
  if (accepts_) look_ahead(static_cast<size_t>(-1));
  return index0_ + 1 + static_cast<int64_t>(ahead_.size()) + items_.remaining();
}

std::optional<Value> Loop::attribute(std::string_view name) {
  if (name == "index") return Value::integer(index0_ + 1);
  if (name == "index0") return Value::integer(index0_);
  if (name == "first") return Value::boolean(index0_ == 0);
  if (name == "last") return Value::boolean(!look_ahead(1));
  if (name == "length") return Value::integer(*length());
  if (name == "revindex") return Value::integer(*length() - index0_);
  if (name == "revindex0") return Value::integer(*length() - index0_ - 1);
  if (name == "depth") return Value::integer(depth_ + 1);
  if (name == "depth0") return Value::integer(depth_);
  if (name == "previtem") return index0_ == 0 ? Value::undefined("there is no previous item") : previous_;
  if (name == "nextitem") return look_ahead(1) ? ahead_.front() : Value::undefined("there is no next item");
  const auto method = [&](OwnMethod<Loop>::Code code) {
    return Value::object(std::make_shared<OwnMethod<Loop>>(std::static_pointer_cast<Loop>(shared_from_this()), code));
  };
  if (name == "cycle") return method([](Loop& self, const Arguments& arguments) { return self.cycle(arguments); });
  if (name == "changed") return method([](Loop& self, const Arguments& arguments) { return self.changed(arguments); });
  return std::nullopt;
}

Value Loop::call(Interpreter& interpreter, const Arguments& arguments) {
  if (!node_.recursive) raise("The loop must have the 'recursive' marker to be called recursively.");
  if (!surroundings_) raise("a loop that has ended cannot be called");
  const Bound bound("loop", arguments, {"iterable"}, 1);
  return interpreter.text(interpreter.run_recursion(node_, surroundings_, bound[0], depth_ + 1));
}

Value Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) raise("no items for cycling given");
  return arguments.positional[static_cast<size_t>(index0_) % arguments.positional.size()];
}

Value Loop::changed(const Arguments& arguments) {
  const auto& now = arguments.positional;
  const bool same = last_changed_ && std::equal(now.begin(), now.end(), last_changed_->begin(), last_changed_->end(),
                                                [](const Value& a, const Value& b) { return equal(a, b); });
  if (!same && surroundings_) last_changed_ = now;
  return Value::boolean(!same);
}

std::optional<Value> Cycler::attribute(std::string_view name) {
  if (name == "current") return current();
  const auto method = [&](OwnMethod<Cycler>::Code code) {
    return Value::object(
        std::make_shared<OwnMethod<Cycler>>(std::static_pointer_cast<Cycler>(shared_from_this()), code));
  };
  if (name == "next") {
    return method([](Cycler& self, const Arguments&) {
      const Value value = self.current();
      self.next();
      return value;
    });
  }
  if (name == "reset") {
    return method([](Cycler& self, const Arguments&) {
      self.reset();
      return Value::none();
    });
  }
  return std::nullopt;
}

Value Joiner::call(Interpreter&, const Arguments&) {
  if (std::exchange(used_, true)) return separator_;
  return Value::text("");
}

}  // namespace octet::jinja
