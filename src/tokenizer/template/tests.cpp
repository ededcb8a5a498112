#include "tokenizer/template/tests.h"

#include "tokenizer/template/arguments.h"
#include "tokenizer/template/filters.h"
#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/operators.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

// A test of the value alone.
template <bool (*kHolds)(const Value&)>
bool simple(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("test", arguments, {});
  return kHolds(value);
}

template <CompareOp kOp>
bool comparison(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("test", arguments, {"other"}, 1);
  return compare(interpreter.budget(), kOp, value, bound[0]);
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_string(const Value& value) { return value.is_text(); }
bool is_boolean(const Value& value) { return value.is(Kind::boolean); }
bool is_true(const Value& value) { return value.is(Kind::boolean) && value.as_boolean(); }
bool is_false(const Value& value) { return value.is(Kind::boolean) && !value.as_boolean(); }
bool is_integer(const Value& value) { return value.is(Kind::integer) || value.is(Kind::big_integer); }
bool is_float(const Value& value) { return value.is(Kind::real); }
bool is_number(const Value& value) { return number_of(value) || value.is(Kind::big_integer); }
bool is_mapping(const Value& value) { return value.is(Kind::dict); }
bool is_escaped(const Value& value) { return value.is_markup(); }
bool is_callable(const Value& value) { return value.is(Kind::object) && value.as_object()->callable(); }
bool can_iterate(const Value& value) { return is_iterable(value); }

// Python: has a length and a subscript, which strings, dictionaries and undefined values have too.
bool is_sequence(const Value& value) {
  if (value.is(Kind::sequence)) return value.as_sequence().indexable();
  return value.is_text() || value.is(Kind::dict) || value.is_undefined();
}

template <bool (*kWanted)(char32_t), bool (*kUnwanted)(char32_t)>
bool has_case(const Value& value) {
  const std::string text = to_str(value);
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (kUnwanted(c)) return false;
    found = found || kWanted(c);
  }
  return found;
}

bool divisible(Interpreter& interpreter, const Value& value, const Value& by) {
  return equal(binary(interpreter, BinaryOp::modulo, value, by), Value::integer(0));
}

bool divisibleby(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound("divisibleby", arguments, {"num"}, 1);
  return divisible(interpreter, value, bound[0]);
}

bool is_even(Interpreter& interpreter, const Value& value, const Arguments&) {
  return divisible(interpreter, value, Value::integer(2));
}

bool is_odd(Interpreter& interpreter, const Value& value, const Arguments&) {
  return equal(binary(interpreter, BinaryOp::modulo, value, Value::integer(2)), Value::integer(1));
}

bool sameas(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("sameas", arguments, {"other"}, 1);
  return value.same_as(bound[0]);
}

bool is_filter(Interpreter&, const Value& value, const Arguments&) {
  return value.is_text() && find_filter(value.as_text());
}

bool is_test(Interpreter&, const Value& value, const Arguments&) {
  return value.is_text() && find_test(value.as_text());
}

struct Entry {
  std::string_view name;
  Test test;
};

constexpr Entry kTests[] = {
    {"defined", simple<is_defined>},
    {"undefined", simple<is_undefined>},
    {"none", simple<is_none>},
    {"string", simple<is_string>},
    {"mapping", simple<is_mapping>},
    {"sequence", simple<is_sequence>},
    {"iterable", simple<can_iterate>},
    {"boolean", simple<is_boolean>},
    {"true", simple<is_true>},
    {"false", simple<is_false>},
    {"integer", simple<is_integer>},
    {"float", simple<is_float>},
    {"number", simple<is_number>},
    {"callable", simple<is_callable>},
    {"escaped", simple<is_escaped>},
    {"lower", simple<has_case<octet::jinja::is_lower, octet::jinja::is_upper>>},
    {"upper", simple<has_case<octet::jinja::is_upper, octet::jinja::is_lower>>},
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", divisibleby},
    {"sameas", sameas},
    {"filter", is_filter},
    {"test", is_test},
    {"in", comparison<CompareOp::in>},
    {"==", comparison<CompareOp::equal>},
    {"eq", comparison<CompareOp::equal>},
    {"equalto", comparison<CompareOp::equal>},
    {"!=", comparison<CompareOp::not_equal>},
    {"ne", comparison<CompareOp::not_equal>},
    {">", comparison<CompareOp::greater>},
    {"gt", comparison<CompareOp::greater>},
    {"greaterthan", comparison<CompareOp::greater>},
    {">=", comparison<CompareOp::greater_equal>},
    {"ge", comparison<CompareOp::greater_equal>},
    {"<", comparison<CompareOp::less>},
    {"lt", comparison<CompareOp::less>},
    {"lessthan", comparison<CompareOp::less>},
    {"<=", comparison<CompareOp::less_equal>},
    {"le", comparison<CompareOp::less_equal>},
};

}  // namespace

Test find_test(std::string_view name) {
  for (const Entry& entry : kTests) {
    if (entry.name == name) return entry.test;
  }
  return nullptr;
}

}  // namespace octet::jinja
