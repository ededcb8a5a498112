// The filters on lists and dictionaries.
#include <algorithm>

#include "tokenizer/template/arguments.h"
#include "tokenizer/template/filters.h"
#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/operators.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

// The attribute argument of many filters: 'a.b.0' is a path of items; none is the value itself.
class Path {
 public:
  Path() = default;
  explicit Path(const Value& attribute) {
    if (attribute.is_none()) return;
    if (!attribute.is_text()) {
      parts_.push_back(attribute);
      return;
    }
    for (const std::string& part : split(attribute.as_text(), ".", -1)) {
      const bool is_number =
          !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
      parts_.push_back(is_number ? Value::integer(std::stoll(part)) : Value::text(part));
    }
  }

  Value get(Interpreter& interpreter, Value item, const std::optional<Value>& fallback = std::nullopt) const {
    for (const Value& part : parts_) {
      interpreter.budget().work(1);
      item = interpreter.item(item, part);
      if (fallback && item.is_undefined()) item = *fallback;
    }
    return item;
  }

 private:
  std::vector<Value> parts_;
};

Value fold_case(const Value& value, bool case_sensitive) {
  return value.is_text() && !case_sensitive ? Value::text(to_lower(value.as_text())) : value;
}

// What a comparison of two values may cost, charged before sorting.
void charge_sort(Interpreter& interpreter, const std::vector<Value>& keys) {
  int64_t weight = 0;
  for (const Value& key : keys) weight += 1 + key.weight() / 64;
  int64_t levels = 1;
  for (size_t n = keys.size(); n > 1; n /= 2) ++levels;
  interpreter.budget().work(weight * levels);
}

// Positions 0..n-1 in the order of their keys; stable, also in reverse.
std::vector<size_t> sorted_positions(Interpreter& interpreter, const std::vector<Value>& keys, bool reverse) {
  charge_sort(interpreter, keys);
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return reverse ? less(keys[b], keys[a]) : less(keys[a], keys[b]); });
  return order;
}

Value sort(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const std::vector<Value> items = items_of(input);
  std::vector<Path> paths;
  const Value attribute = bound.get(2, Value::none());
  if (attribute.is_text()) {
    for (const std::string& path : split(attribute.as_text(), ",", -1)) paths.emplace_back(Value::text(path));
  } else {
    paths.emplace_back(attribute);
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const Path& path : paths) key.push_back(fold_case(path.get(interpreter, item), bound.truth(1)));
    keys.push_back(Value::list(std::move(key)));
  }
  std::vector<Value> out;
  for (const size_t i : sorted_positions(interpreter, keys, bound.truth(0))) out.push_back(items[i]);
  return interpreter.list(std::move(out));
}

Value dictsort(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.has(1) ? to_str(bound[1]) : "key";
  if (by != "key" && by != "value") raise("You can only sort by either \"key\" or \"value\"");
  if (input.is_undefined()) raise_undefined(input);
  if (!input.is(Kind::dict)) raise("'", type_name(input), "' object has no attribute 'items'");
  const auto& entries = input.as_dict().entries();
  std::vector<Value> keys;
  for (const Dict::Entry& entry : entries) {
    keys.push_back(fold_case(by == "key" ? entry.first : entry.second, bound.truth(0)));
  }
  std::vector<Value> out;
  for (const size_t i : sorted_positions(interpreter, keys, bound.truth(2))) {
    out.push_back(Value::tuple({entries[i].first, entries[i].second}));
  }
  return interpreter.list(std::move(out));
}

Value items_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  if (input.is_undefined()) return Value::iterator({});
  if (!input.is(Kind::dict)) raise("Can only get item pairs from a mapping.");
  std::vector<Value> pairs;
  for (const Dict::Entry& entry : input.as_dict().entries()) {
    pairs.push_back(Value::tuple({entry.first, entry.second}));
  }
  interpreter.budget().allocate(static_cast<int64_t>(pairs.size() * 3 * sizeof(Value)));
  return Value::iterator(std::move(pairs));
}

Value length(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("length", arguments, {});
  return Value::integer(length_of(input));
}

Value list(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("list", arguments, {});
  if (input.is_text()) interpreter.budget().allocate(input.weight() * static_cast<int64_t>(sizeof(Value)));
  return interpreter.list(items_of(input));
}

Value first(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("first", arguments, {});
  Cursor cursor(input);
  Value item;
  return cursor.next(item) ? item : Value::undefined("No first item, sequence was empty.");
}

Value last(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("last", arguments, {});
  if (input.is(Kind::iterator)) raise("'generator' object is not reversible");
  if (input.is_undefined()) raise_undefined(input);
  if (!is_iterable(input)) raise("'", type_name(input), "' object is not reversible");
  if (length_of(input) == 0) return Value::undefined("No last item, sequence was empty.");
  if (input.is_text()) return interpreter.item(input, Value::integer(-1));
  return input.is(Kind::dict) ? input.as_dict().entries().back().first : input.as_sequence().items.back();
}

Value reverse(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  if (input.is_text()) return slice(interpreter, input, Value::none(), Value::none(), Value::integer(-1));
  if (!is_iterable(input)) raise("argument must be iterable");
  std::vector<Value> items = items_of(input);
  std::reverse(items.begin(), items.end());
  interpreter.budget().allocate(static_cast<int64_t>(items.size() * sizeof(Value)));
  return Value::iterator(std::move(items));
}

Value join(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  const std::string separator = bound.has(0) ? to_str(bound[0]) : "";
  const Path path = bound.has(1) ? Path(bound[1]) : Path();
  Cursor cursor(input);
  std::string out;
  bool is_first = true;
  for (Value item; cursor.next(item); is_first = false) {
    const Value part = path.get(interpreter, item);
    interpreter.budget().allocate(static_cast<int64_t>(separator.size()) + part.weight());
    if (!is_first) out += separator;
    out += to_str(part);
  }
  return Value::text(std::move(out));
}

Value unique(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const Path path = bound.has(1) ? Path(bound[1]) : Path();
  Dict seen;
  std::vector<Value> out;
  Cursor cursor(input);
  for (Value item; cursor.next(item);) {
    interpreter.budget().allocate(2 * static_cast<int64_t>(sizeof(Value)));
    const Value key = fold_case(path.get(interpreter, item), bound.truth(0));
    if (seen.find(key)) continue;
    seen.set(key, Value::none());
    out.push_back(item);
  }
  return Value::iterator(std::move(out));
}

template <bool kMax>
Value extreme(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("min", arguments, {"case_sensitive", "attribute"});
  const Path path = bound.has(1) ? Path(bound[1]) : Path();
  Cursor cursor(input);
  Value best, best_key;
  bool found = false;
  for (Value item; cursor.next(item); found = true) {
    const Value key = fold_case(path.get(interpreter, item), bound.truth(0));
    interpreter.budget().work_on(key);
    if (!found || (kMax ? less(best_key, key) : less(key, best_key))) {
      best = item;
      best_key = key;
    }
  }
  return found ? best : Value::undefined("No aggregated item, sequence was empty.");
}

Value sum(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  const Path path = bound.has(0) ? Path(bound[0]) : Path();
  Value total = bound.get(1, Value::integer(0));
  if (total.is_text()) raise("sum() can't sum strings [use ''.join(seq) instead]");
  Cursor cursor(input);
  for (Value item; cursor.next(item);) {
    total = binary(interpreter, BinaryOp::add, total, path.get(interpreter, item));
  }
  return total;
}

Value batch(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const int64_t size = bound.integer(0, 0);
  std::vector<Value> out, group;
  Cursor cursor(input);
  for (Value item; cursor.next(item);) {
    if (static_cast<int64_t>(group.size()) == size) out.push_back(interpreter.list(std::exchange(group, {})));
    group.push_back(item);
  }
  if (!group.empty()) {
    const int64_t missing = size - static_cast<int64_t>(group.size());
    if (missing > 0 && bound.has(1) && !bound[1].is_none()) {
      interpreter.budget().allocate(missing * static_cast<int64_t>(sizeof(Value)));
      group.resize(static_cast<size_t>(size), bound[1]);
    }
    out.push_back(interpreter.list(std::move(group)));
  }
  return Value::iterator(std::move(out));
}

Value slice_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
  const int64_t slices = bound.integer(0, 0);
  const std::vector<Value> items = items_of(input);
  if (slices == 0) raise("integer division or modulo by zero");
  if (slices < 0) return Value::iterator({});
  interpreter.budget().allocate(slices * 64);
  interpreter.budget().work(slices);
  const int64_t count = static_cast<int64_t>(items.size()), each = count / slices, longer = count % slices;
  std::vector<Value> out;
  auto at = items.begin();
  for (int64_t i = 0; i < slices; ++i) {
    const auto end = at + each + (i < longer ? 1 : 0);
    std::vector<Value> part(at, end);
    if (bound.has(1) && !bound[1].is_none() && i >= longer) part.push_back(bound[1]);
    out.push_back(interpreter.list(std::move(part)));
    at = end;
  }
  return Value::iterator(std::move(out));
}

Value groupby(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const Path path(bound[0]);
  const auto fallback = bound.has(1) && !bound[1].is_none() ? std::optional<Value>(bound[1]) : std::nullopt;
  const std::vector<Value> items = items_of(input);
  std::vector<Value> keys;
  for (const Value& item : items) keys.push_back(fold_case(path.get(interpreter, item, fallback), bound.truth(2)));
  const std::vector<size_t> order = sorted_positions(interpreter, keys, false);
  std::vector<Value> out;
  for (size_t i = 0; i < order.size();) {
    std::vector<Value> group;
    const size_t begin = i;
    for (; i < order.size() && equal(keys[order[begin]], keys[order[i]]); ++i) group.push_back(items[order[i]]);
    const Value key = path.get(interpreter, group.front(), fallback);
    out.push_back(Value::tuple({key, interpreter.list(std::move(group))}));
    if (i == begin) ++i;  // a key that does not equal itself (NaN)
  }
  return interpreter.list(std::move(out));
}

Value attr(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"}, 1);
  // Attributes only: for dictionaries the methods, never the items.
  if (input.is(Kind::dict) && input.as_dict().find(bound[0])) return Value::undefined("no such attribute");
  return interpreter.attribute(input, bound.text(0));
}

// map('filter', arguments) or map(attribute='path', default=x).
Value map(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  if (!truthy(input)) return Value::iterator({});
  std::vector<Value> out;
  Cursor cursor(input);
  if (arguments.positional.empty()) {
    const Bound bound("map", arguments, {"attribute", "default"});
    if (!bound.has(0)) raise("map requires a filter argument");
    const Path path(bound[0]);
    const auto fallback = bound.has(1) && !bound[1].is_none() ? std::optional<Value>(bound[1]) : std::nullopt;
    for (Value item; cursor.next(item);) out.push_back(path.get(interpreter, item, fallback));
  } else {
    Arguments rest = arguments;
    const std::string name = to_str(rest.positional.front());
    rest.positional.erase(rest.positional.begin());
    for (Value item; cursor.next(item);) out.push_back(interpreter.apply_filter(name, item, rest));
  }
  interpreter.budget().allocate(static_cast<int64_t>(out.size() * sizeof(Value)));
  return Value::iterator(std::move(out));
}

// select and reject (by the item), selectattr and rejectattr (by an attribute of it): with a test's name, or by truth.
template <bool kKeep, bool kByAttribute>
Value select(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  if (!truthy(input)) return Value::iterator({});
  Arguments rest = arguments;
  const auto take_first = [&] {
    const Value value = rest.positional.front();
    rest.positional.erase(rest.positional.begin());
    return value;
  };
  if (kByAttribute && rest.positional.empty()) raise("Missing parameter for attribute name");
  const Path path = kByAttribute ? Path(take_first()) : Path();
  const std::optional<std::string> test =
      rest.positional.empty() ? std::nullopt : std::optional<std::string>(to_str(take_first()));
  std::vector<Value> out;
  Cursor cursor(input);
  for (Value item; cursor.next(item);) {
    interpreter.budget().work(1);
    const Value subject = path.get(interpreter, item);
    const bool holds = test ? interpreter.apply_test(*test, subject, rest) : truthy(subject);
    if (holds == kKeep) out.push_back(item);
  }
  interpreter.budget().allocate(static_cast<int64_t>(out.size() * sizeof(Value)));
  return Value::iterator(std::move(out));
}

constexpr FilterEntry kFilters[] = {
    {"attr", attr},
    {"batch", batch},
    {"count", length},
    {"dictsort", dictsort},
    {"first", first},
    {"groupby", groupby},
    {"items", items_filter},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", list},
    {"map", map},
    {"max", extreme<true>},
    {"min", extreme<false>},
    {"reject", select<false, false>},
    {"rejectattr", select<false, true>},
    {"reverse", reverse},
    {"select", select<true, false>},
    {"selectattr", select<true, true>},
    {"slice", slice_filter},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() { return kFilters; }

}  // namespace octet::jinja
