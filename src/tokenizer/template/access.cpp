// object.name and object[index] of Interpreter.
#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/methods.h"
#include "tokenizer/template/objects.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

Value no_attribute(const Value& object, std::string_view name) {
  const std::string owner = object.is_none() ? "None" : std::string(type_name(object)) + " object";
  return Value::undefined("'" + owner + "' has no attribute '" + std::string(name) + "'");
}

Value no_element(const Value& object, const Value& index) {
  const std::string owner = object.is_none() ? "None" : std::string(type_name(object)) + " object";
  return Value::undefined(owner + " has no element " + (index.weight() < 200 ? to_repr(index) : "of that name"));
}

std::optional<Value> python_attribute(const Value& object, std::string_view name) {
  if (object.is(Kind::object)) return object.as_object()->attribute(name);
  return method(object, name);
}

// object[index] of Python; nothing where that would raise TypeError or LookupError.
std::optional<Value> subscript(const Value& object, const Value& index) {
  if (object.is(Kind::dict)) {
    if (index.is(Kind::dict) || (index.is(Kind::sequence) && index.as_sequence().form == Sequence::Form::list)) {
      return std::nullopt;  // unhashable
    }
    const Value* value = object.as_dict().find(index);
    return value ? std::optional<Value>(*value) : std::nullopt;
  }
  const auto position = integer_of(index);
  if (!position) return std::nullopt;
  if (object.is(Kind::sequence) && object.as_sequence().indexable()) {
    const auto& items = object.as_sequence().items;
    const auto count = static_cast<int64_t>(items.size());
    const int64_t i = *position < 0 ? *position + count : *position;
    if (i < 0 || i >= count) return std::nullopt;
    return items[static_cast<size_t>(i)];
  }
  if (object.is_text()) {
    const std::string& text = object.as_text();
    const int64_t i = *position < 0 ? *position + count_code_points(text) : *position;
    if (i < 0) return std::nullopt;
    const size_t begin = byte_offset(text, i);
    if (begin >= text.size()) return std::nullopt;
    size_t end = begin;
    next_code_point(text, end);
    return Value::text(text.substr(begin, end - begin), object.is_markup());
  }
  return std::nullopt;
}

}  // namespace

Value Interpreter::attribute(const Value& object, std::string_view name) {
  if (object.is_undefined()) raise_undefined(object);
  if (auto value = python_attribute(object, name)) return *value;
  if (object.is(Kind::dict)) {
    if (const Value* value = object.as_dict().find(name)) return *value;
  }
  return no_attribute(object, name);
}

Value Interpreter::item(const Value& object, const Value& index) {
  if (object.is_undefined()) raise_undefined(object);
  if (object.is_text()) budget_.work(object.weight() / 64);
  if (auto value = subscript(object, index)) return *value;
  if (index.is_text()) {
    if (auto value = python_attribute(object, index.as_text())) return *value;
    return no_attribute(object, index.as_text());
  }
  return no_element(object, index);
}

}  // namespace octet::jinja
