#include "tokenizer/template/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tokenizer/template/format.h"
#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

std::string_view symbol(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "+";
    case BinaryOp::subtract:
      return "-";
    case BinaryOp::multiply:
      return "*";
    case BinaryOp::divide:
      return "/";
    case BinaryOp::floor_divide:
      return "//";
    case BinaryOp::modulo:
      return "%";
    case BinaryOp::power:
      return "**";
  }
  return "?";
}

[[noreturn]] void too_big() { exhausted("expected integers of at most 64 bits"); }

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) too_big();
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) too_big();
  }
  return result;
}

Value on_integers(BinaryOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case BinaryOp::add:
      if (__builtin_add_overflow(a, b, &result)) too_big();
      return Value::integer(result);
    case BinaryOp::subtract:
      if (__builtin_sub_overflow(a, b, &result)) too_big();
      return Value::integer(result);
    case BinaryOp::multiply:
      if (__builtin_mul_overflow(a, b, &result)) too_big();
      return Value::integer(result);
    case BinaryOp::divide:
      if (b == 0) raise("division by zero");
      return Value::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case BinaryOp::floor_divide:
    case BinaryOp::modulo: {
      if (b == 0) raise("integer division or modulo by zero");
      if (b == -1) return op == BinaryOp::modulo ? Value::integer(0) : on_integers(BinaryOp::subtract, 0, a);
      const int64_t quotient = a / b, remainder = a % b;
      const bool round_down = remainder != 0 && (remainder < 0) != (b < 0);  // Python rounds towards minus infinity
      if (op == BinaryOp::floor_divide) return Value::integer(quotient - (round_down ? 1 : 0));
      return Value::integer(remainder + (round_down ? b : 0));
    }
    case BinaryOp::power:
      if (b < 0) {
        if (a == 0) raise("0.0 cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
      }
      return Value::integer(integer_power(a, b));
  }
  return {};
}

Value on_reals(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return Value::real(a + b);
    case BinaryOp::subtract:
      return Value::real(a - b);
    case BinaryOp::multiply:
      return Value::real(a * b);
    case BinaryOp::divide:
      if (b == 0) raise("float division by zero");
      return Value::real(a / b);
    case BinaryOp::floor_divide:
    case BinaryOp::modulo: {
      if (b == 0) raise("float floor division or modulo by zero");
      double remainder = std::fmod(a, b);
      const double quotient = (a - remainder) / b;
      const bool round_down = remainder != 0 && (remainder < 0) != (b < 0);
      if (op == BinaryOp::floor_divide) return Value::real(std::round(quotient - (round_down ? 1.0 : 0.0)));
      if (remainder == 0) remainder = std::copysign(0.0, b);
      return Value::real(round_down ? remainder + b : remainder);
    }
    case BinaryOp::power: {
      if (a == 0 && b < 0) raise("0.0 cannot be raised to a negative power");
      const double result = std::pow(a, b);
      if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) raise("complex numbers are not supported");
      return Value::real(result);
    }
  }
  return {};
}

// str + str; once one side is marked safe, the other is escaped, as markupsafe does.
Value concatenate_texts(Interpreter& interpreter, const Value& a, const Value& b) {
  const bool markup = a.is_markup() || b.is_markup();
  const auto part = [&](const Value& v) { return markup && !v.is_markup() ? escape_html(v.as_text()) : v.as_text(); };
  interpreter.budget().allocate(a.weight() + b.weight());
  return Value::text(part(a) + part(b), markup);
}

bool is_joinable(const Value& value) {
  return value.is(Kind::sequence) &&
         (value.as_sequence().form == Sequence::Form::list || value.as_sequence().form == Sequence::Form::tuple);
}

Value concatenate_lists(Interpreter& interpreter, const Sequence& a, const Sequence& b) {
  const auto count = static_cast<int64_t>(a.items.size() + b.items.size());
  interpreter.budget().work(count);
  interpreter.budget().allocate(count * static_cast<int64_t>(sizeof(Value)));
  Sequence sum{a.form, a.items};
  sum.items.insert(sum.items.end(), b.items.begin(), b.items.end());
  return Value::sequence(std::move(sum));
}

Value repeat(Interpreter& interpreter, const Value& value, int64_t times) {
  times = std::max<int64_t>(times, 0);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(value.weight() + 1, times, &bytes)) bytes = std::numeric_limits<int64_t>::max();
  interpreter.budget().allocate(bytes);
  if (value.is_text()) {
    std::string out;
    out.reserve(value.as_text().size() * static_cast<size_t>(times));
    for (int64_t i = 0; i < times; ++i) out += value.as_text();
    return Value::text(std::move(out), value.is_markup());
  }
  const Sequence& sequence = value.as_sequence();
  interpreter.budget().allocate(times * static_cast<int64_t>(sequence.items.size() * sizeof(Value)));
  Sequence out{sequence.form, {}};
  for (int64_t i = 0; i < times; ++i) out.items.insert(out.items.end(), sequence.items.begin(), sequence.items.end());
  return Value::sequence(std::move(out));
}

// Bounds of a slice as Python's slice.indices gives them.
struct SliceBounds {
  int64_t start, stop, step;
};

SliceBounds slice_bounds(int64_t length, const Value& start, const Value& stop, const Value& step_value) {
  const auto index = [](const Value& v) {
    const auto i = integer_of(v);
    if (!i) raise("slice indices must be integers or None, got '", type_name(v), "'");
    return *i;
  };
  const int64_t step = step_value.is_none() ? 1 : index(step_value);
  if (step == 0) raise("slice step cannot be zero");
  const int64_t lowest = step < 0 ? -1 : 0;
  const int64_t highest = step < 0 ? length - 1 : length;
  const auto bound = [&](const Value& v, int64_t absent) {
    if (v.is_none()) return absent;
    const int64_t i = index(v);
    return i < 0 ? std::max(i + length, lowest) : std::min(i, highest);
  };
  return {bound(start, step < 0 ? highest : lowest), bound(stop, step < 0 ? lowest : highest), step};
}

std::string slice_text(const std::string& text, const SliceBounds& bounds, int64_t length) {
  if (bounds.step == 1) {
    if (bounds.start >= bounds.stop) return {};
    const size_t begin = byte_offset(text, bounds.start);
    const std::string_view rest = std::string_view(text).substr(begin);
    return std::string(
        rest.substr(0, bounds.stop >= length ? rest.size() : byte_offset(rest, bounds.stop - bounds.start)));
  }
  std::vector<size_t> offsets;  // of each code point, and the end
  for (size_t at = 0; at < text.size(); next_code_point(text, at)) offsets.push_back(at);
  offsets.push_back(text.size());
  std::string out;
  for (int64_t i = bounds.start; bounds.step > 0 ? i < bounds.stop : i > bounds.stop; i += bounds.step) {
    const auto at = static_cast<size_t>(i);
    out += text.substr(offsets[at], offsets[at + 1] - offsets[at]);
    if (bounds.step > 0 ? bounds.stop - i <= bounds.step : i - bounds.stop <= -bounds.step) break;  // no overflow
  }
  return out;
}

}  // namespace

Value binary(Interpreter& interpreter, BinaryOp op, const Value& a, const Value& b) {
  if (op == BinaryOp::modulo && a.is_text()) {
    return interpreter.text(percent_format(interpreter, a.as_text(), b), a.is_markup());
  }
  if (a.is_undefined()) raise_undefined(a);
  if (b.is_undefined()) raise_undefined(b);
  const auto i = integer_of(a), j = integer_of(b);
  if (i && j) return on_integers(op, *i, *j);
  const auto x = number_of(a), y = number_of(b);
  if (x && y) return on_reals(op, *x, *y);
  const bool numeric_a = x || a.is(Kind::big_integer), numeric_b = y || b.is(Kind::big_integer);
  if (numeric_a && numeric_b) too_big();
  if (op == BinaryOp::add) {
    if (a.is_text() && b.is_text()) return concatenate_texts(interpreter, a, b);
    if (is_joinable(a) && is_joinable(b) && a.as_sequence().form == b.as_sequence().form) {
      return concatenate_lists(interpreter, a.as_sequence(), b.as_sequence());
    }
  }
  if (op == BinaryOp::multiply) {
    if (j && (a.is_text() || is_joinable(a))) return repeat(interpreter, a, *j);
    if (i && (b.is_text() || is_joinable(b))) return repeat(interpreter, b, *i);
  }
  raise("unsupported operand type(s) for ", symbol(op), ": '", type_name(a), "' and '", type_name(b), "'");
}

Value negate(const Value& value) {
  if (value.is_undefined()) raise_undefined(value);
  if (const auto i = integer_of(value)) return on_integers(BinaryOp::subtract, 0, *i);
  if (value.is(Kind::real)) return Value::real(-value.as_real());
  if (value.is(Kind::big_integer)) too_big();
  raise("bad operand type for unary -: '", type_name(value), "'");
}

Value plus(const Value& value) {
  if (value.is_undefined()) raise_undefined(value);
  if (const auto i = integer_of(value)) return Value::integer(*i);
  if (value.is(Kind::real) || value.is(Kind::big_integer)) return value;
  raise("bad operand type for unary +: '", type_name(value), "'");
}

bool contains(Budget& budget, const Value& container, const Value& item) {
  budget.work_on(container);
  if (container.is_text()) {
    if (!item.is_text()) raise("'in <string>' requires string as left operand, not ", type_name(item));
    return find_text(container.as_text(), item.as_text()) != std::string_view::npos;
  }
  if (container.is(Kind::dict)) return container.as_dict().find(item) != nullptr;
  if (!is_iterable(container)) raise("argument of type '", type_name(container), "' is not iterable");
  Cursor cursor(container);
  for (Value other; cursor.next(other);) {
    budget.work(1);
    if (other.same_as(item) || equal(other, item)) return true;
  }
  return false;
}

bool compare(Budget& budget, CompareOp op, const Value& a, const Value& b) {
  budget.work(1 + std::min(a.weight(), b.weight()) / 64);
  switch (op) {
    case CompareOp::equal:
      return equal(a, b);
    case CompareOp::not_equal:
      return !equal(a, b);
    case CompareOp::less:
      return less(a, b);
    case CompareOp::greater:
      return less(b, a);
    case CompareOp::less_equal:
    case CompareOp::greater_equal: {
      // Not the negation of the opposite: with NaN both are false.
      const bool strict = op == CompareOp::less_equal ? less(a, b) : less(b, a);
      return strict || equal(a, b);
    }
    case CompareOp::in:
      return contains(budget, b, a);
    case CompareOp::not_in:
      return !contains(budget, b, a);
  }
  return false;
}

Value slice(Interpreter& interpreter, const Value& value, const Value& start, const Value& stop, const Value& step) {
  interpreter.budget().work_on(value);
  if (value.is_undefined()) raise_undefined(value);
  if (value.is_text()) {
    const int64_t length = count_code_points(value.as_text());
    return interpreter.text(slice_text(value.as_text(), slice_bounds(length, start, stop, step), length),
                            value.is_markup());
  }
  if (!value.is(Kind::sequence) || !value.as_sequence().indexable()) {
    raise("'", type_name(value), "' object cannot be sliced");
  }
  const Sequence& sequence = value.as_sequence();
  const auto length = static_cast<int64_t>(sequence.items.size());
  const SliceBounds bounds = slice_bounds(length, start, stop, step);
  Sequence out{sequence.form, {}};
  for (int64_t i = bounds.start; bounds.step > 0 ? i < bounds.stop : i > bounds.stop; i += bounds.step) {
    out.items.push_back(sequence.items[static_cast<size_t>(i)]);
    if (bounds.step > 0 ? bounds.stop - i <= bounds.step : i - bounds.stop <= -bounds.step) break;  // no overflow
  }
  if (sequence.form == Sequence::Form::range) {
    // Only shown by repr; a range too wide for 64 bits shows wrapped numbers.
    const auto nth = [&](int64_t i) {
      return static_cast<int64_t>(static_cast<uint64_t>(sequence.range_start) +
                                  static_cast<uint64_t>(i) * static_cast<uint64_t>(sequence.range_step));
    };
    out.range_start = nth(bounds.start);
    out.range_stop = nth(bounds.stop);
    out.range_step =
        static_cast<int64_t>(static_cast<uint64_t>(sequence.range_step) * static_cast<uint64_t>(bounds.step));
  }
  interpreter.budget().allocate(static_cast<int64_t>(out.items.size() * sizeof(Value)));
  return Value::sequence(std::move(out));
}

}  // namespace octet::jinja
