#include "tokenizer/template/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

// No real conversation comes near; without a bound, a template could build values that overflow the stack or that
// print as more bytes than there are.
constexpr int kMaxDepth = 200;
constexpr int64_t kMaxWeight = int64_t{1} << 28;

constexpr size_t kIndexedFrom = 8;  // dictionaries below are searched linearly

void require_bounds(int depth, int64_t weight) {
  if (depth > kMaxDepth) exhausted("values are nested deeper than ", kMaxDepth, " levels");
  if (weight > kMaxWeight) exhausted("one value is larger than ", kMaxWeight >> 20, " MiB");
}

}  // namespace

Value Value::undefined(std::string reason) {
  return Value(Data(Undefined{std::make_shared<const std::string>(std::move(reason))}));
}

Value Value::big_integer(std::string digits) {
  return Value(Data(BigInteger{std::make_shared<const std::string>(std::move(digits))}));
}

Value Value::text(std::string bytes, bool markup) {
  return Value(Data(Text{std::make_shared<const std::string>(std::move(bytes)), markup}));
}

Value Value::sequence(Sequence sequence) {
  sequence.depth = 1;
  sequence.weight = 2;
  for (const Value& item : sequence.items) {
    sequence.depth = std::max(sequence.depth, item.depth() + 1);
    sequence.weight += item.weight() + 2;
    require_bounds(sequence.depth, sequence.weight);
  }
  return Value(Data(std::make_shared<const Sequence>(std::move(sequence))));
}

Value Value::list(std::vector<Value> items) { return sequence({Sequence::Form::list, std::move(items)}); }
Value Value::tuple(std::vector<Value> items) { return sequence({Sequence::Form::tuple, std::move(items)}); }

Value Value::dict(Dict dict) { return Value(Data(std::make_shared<const Dict>(std::move(dict)))); }

Value Value::iterator(std::vector<Value> items) {
  // The same bounds as for a list: its items are read and destroyed the same way.
  for (const Value& item : items) require_bounds(item.depth() + 1, 0);
  return Value(Data(std::make_shared<Iterator>(Iterator{std::move(items)})));
}

Value Value::object(std::shared_ptr<Object> object) {
  require_bounds(object->depth() + 1, 0);
  return Value(Data(std::move(object)));
}

std::string Value::reason() const {
  const auto& reason = std::get<Undefined>(data_).reason;
  return reason ? *reason : "the value is undefined";
}

int Value::depth() const {
  switch (kind()) {
    case Kind::sequence:
      return as_sequence().depth;
    case Kind::dict:
      return as_dict().depth();
    case Kind::iterator: {
      int depth = 0;
      for (const Value& item : as_iterator().items) depth = std::max(depth, item.depth());
      return depth + 1;
    }
    case Kind::object:
      return as_object()->depth() + 1;
    default:
      return 0;
  }
}

int64_t Value::weight() const {
  switch (kind()) {
    case Kind::text:
      return static_cast<int64_t>(as_text().size()) + 2;
    case Kind::big_integer:
      return static_cast<int64_t>(digits().size());
    case Kind::sequence:
      return as_sequence().weight;
    case Kind::dict:
      return as_dict().weight();
    case Kind::iterator:
      return static_cast<int64_t>(as_iterator().items.size());
    default:
      return 8;
  }
}

bool Value::same_as(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::sequence:
      return &as_sequence() == &other.as_sequence();
    case Kind::dict:
      return &as_dict() == &other.as_dict();
    case Kind::iterator:
      return &as_iterator() == &other.as_iterator();
    case Kind::object:
      return as_object() == other.as_object();
    case Kind::undefined:
      return std::get<Undefined>(data_).reason == std::get<Undefined>(other.data_).reason;
    default:
      return equal(*this, other);
  }
}

bool KeyOrder::operator()(const Value& a, const Value& b) const {
  const auto rank = [](const Value& v) {
    switch (v.kind()) {
      case Kind::boolean:
      case Kind::integer:
      case Kind::real:
        return 0;
      default:
        return 1 + static_cast<int>(v.kind());
    }
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  switch (a.kind()) {
    case Kind::boolean:
    case Kind::integer:
    case Kind::real: {
      // long double holds every int64_t exactly. NaN sorts behind all numbers.
      const auto wide = [](const Value& v) -> long double {
        if (const auto i = integer_of(v)) return static_cast<long double>(*i);
        return v.as_real();
      };
      const long double x = wide(a), y = wide(b);
      if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
      return x < y;
    }
    case Kind::text:
      return a.as_text() < b.as_text();
    case Kind::big_integer:
      return a.digits() < b.digits();
    case Kind::sequence:
      return std::lexicographical_compare(a.as_sequence().items.begin(), a.as_sequence().items.end(),
                                          b.as_sequence().items.begin(), b.as_sequence().items.end(), KeyOrder{});
    case Kind::iterator:
      return std::less<>{}(&a.as_iterator(), &b.as_iterator());
    case Kind::object:
      return std::less<>{}(a.as_object().get(), b.as_object().get());
    default:
      return false;  // one none, one undefined
  }
}

std::optional<size_t> Dict::position(const Value& key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    return found == index_.end() ? std::nullopt : std::optional<size_t>(found->second);
  }
  const KeyOrder before;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!before(entries_[i].first, key) && !before(key, entries_[i].first)) return i;
  }
  return std::nullopt;
}

const Value* Dict::find(const Value& key) const {
  require_hashable(key);
  const auto at = position(key);
  return at ? &entries_[*at].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (!index_.empty()) return find(Value::text(std::string(key)));
  for (const Entry& entry : entries_) {
    if (entry.first.is_text() && entry.first.as_text() == key) return &entry.second;
  }
  return nullptr;
}

void Dict::set(const Value& key, Value value) {
  require_hashable(key);
  depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
  weight_ += key.weight() + value.weight() + 4;
  require_bounds(depth_, weight_);
  if (const auto at = position(key)) {
    entries_[*at].second = std::move(value);
    return;
  }
  entries_.emplace_back(key, std::move(value));
  if (entries_.size() == kIndexedFrom) {
    for (size_t i = 0; i < entries_.size(); ++i) index_.emplace(entries_[i].first, i);
  } else if (entries_.size() > kIndexedFrom) {
    index_.emplace(key, entries_.size() - 1);
  }
}

Value Object::call(Interpreter&, const Arguments&) { raise("'", type_name(), "' object is not callable"); }

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
    case Kind::big_integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::text:
      return value.is_markup() ? "Markup" : "str";
    case Kind::dict:
      return "dict";
    case Kind::iterator:
      return "generator";
    case Kind::object:
      return value.as_object()->type_name();
    case Kind::sequence:
      switch (value.as_sequence().form) {
        case Sequence::Form::list:
          return "list";
        case Sequence::Form::tuple:
          return "tuple";
        case Sequence::Form::range:
          return "range";
        case Sequence::Form::keys:
          return "dict_keys";
        case Sequence::Form::values:
          return "dict_values";
        case Sequence::Form::items:
          return "dict_items";
      }
  }
  return "object";
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
      return value.as_boolean();
    case Kind::integer:
      return value.as_integer() != 0;
    case Kind::real:
      return value.as_real() != 0;
    case Kind::text:
      return !value.as_text().empty();
    case Kind::sequence:
      return !value.as_sequence().items.empty();
    case Kind::dict:
      return value.as_dict().size() != 0;
    default:
      return true;
  }
}

std::optional<int64_t> integer_of(const Value& value) {
  if (value.is(Kind::integer)) return value.as_integer();
  if (value.is(Kind::boolean)) return value.as_boolean() ? 1 : 0;
  return std::nullopt;
}

std::optional<double> number_of(const Value& value) {
  if (value.is(Kind::real)) return value.as_real();
  if (const auto i = integer_of(value)) return static_cast<double>(*i);
  return std::nullopt;
}

namespace {

// -1, 0, 1; nothing if one is NaN.
std::optional<int> compare_numbers(const Value& a, const Value& b) {
  const auto i = integer_of(a), j = integer_of(b);
  if (i && j) return *i < *j ? -1 : *i > *j ? 1 : 0;
  const long double x = i ? static_cast<long double>(*i) : static_cast<long double>(a.as_real());
  const long double y = j ? static_cast<long double>(*j) : static_cast<long double>(b.as_real());
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x < y ? -1 : x > y ? 1 : 0;
}

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value& x, const Value& y) { return x.same_as(y) || equal(x, y); });
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.entries().begin(), a.entries().end(), [&](const Dict::Entry& entry) {
    const Value* other = b.find(entry.first);
    return other && (entry.second.same_as(*other) || equal(entry.second, *other));
  });
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  if (number_of(a) && number_of(b)) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::big_integer:
      return a.digits() == b.digits();
    case Kind::text:
      return a.as_text() == b.as_text();
    case Kind::sequence: {
      const Sequence &x = a.as_sequence(), &y = b.as_sequence();
      return &x == &y || (x.form == y.form && equal_items(x.items, y.items));
    }
    case Kind::dict:
      return &a.as_dict() == &b.as_dict() || equal_dicts(a.as_dict(), b.as_dict());
    default:
      return a.same_as(b);
  }
}

bool less(const Value& a, const Value& b) {
  if (a.is_undefined()) raise_undefined(a);
  if (b.is_undefined()) raise_undefined(b);
  if (number_of(a) && number_of(b)) return compare_numbers(a, b) == -1;
  if (a.is_text() && b.is_text()) return a.as_text() < b.as_text();  // UTF-8 sorts as code points do
  if (a.is(Kind::sequence) && b.is(Kind::sequence) && a.as_sequence().form == b.as_sequence().form &&
      (a.as_sequence().form == Sequence::Form::list || a.as_sequence().form == Sequence::Form::tuple)) {
    const auto &x = a.as_sequence().items, &y = b.as_sequence().items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!x[i].same_as(y[i]) && !equal(x[i], y[i])) return less(x[i], y[i]);
    }
    return x.size() < y.size();
  }
  raise("'<' not supported between instances of '", type_name(a), "' and '", type_name(b), "'");
}

void require_hashable(const Value& value) {
  if (value.is(Kind::dict)) raise("unhashable type: 'dict'");
  if (!value.is(Kind::sequence)) return;
  const Sequence& sequence = value.as_sequence();
  if (sequence.form == Sequence::Form::range) return;
  if (sequence.form != Sequence::Form::tuple) raise("unhashable type: '", type_name(value), "'");
  for (const Value& item : sequence.items) require_hashable(item);
}

void raise_undefined(const Value& value) { raise(value.reason()); }

int64_t length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::text:
      return count_code_points(value.as_text());
    case Kind::sequence:
      return static_cast<int64_t>(value.as_sequence().items.size());
    case Kind::dict:
      return static_cast<int64_t>(value.as_dict().size());
    case Kind::object:
      if (const auto length = value.as_object()->length()) return *length;
      break;
    default:
      break;
  }
  raise("object of type '", type_name(value), "' has no len()");
}

bool is_iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::text:
    case Kind::sequence:
    case Kind::dict:
    case Kind::iterator:
      return true;
    default:
      return false;
  }
}

Cursor::Cursor(Value iterable) : source_(std::move(iterable)) {
  if (!is_iterable(source_)) raise("'", type_name(source_), "' object is not iterable");
}

bool Cursor::next(Value& item) {
  switch (source_.kind()) {
    case Kind::text: {
      const std::string& text = source_.as_text();
      if (position_ >= text.size()) return false;
      const size_t begin = position_;
      next_code_point(text, position_);
      item = Value::text(text.substr(begin, position_ - begin));
      return true;
    }
    case Kind::sequence:
      if (position_ >= source_.as_sequence().items.size()) return false;
      item = source_.as_sequence().items[position_++];
      return true;
    case Kind::dict:
      if (position_ >= source_.as_dict().size()) return false;
      item = source_.as_dict().entries()[position_++].first;
      return true;
    case Kind::iterator: {
      Iterator& iterator = source_.as_iterator();
      if (iterator.next >= iterator.items.size()) return false;
      item = iterator.items[iterator.next++];
      return true;
    }
    default:
      return false;
  }
}

int64_t Cursor::remaining() const {
  switch (source_.kind()) {
    case Kind::text:
      return count_code_points(std::string_view(source_.as_text()).substr(position_));
    case Kind::iterator:
      return static_cast<int64_t>(source_.as_iterator().items.size() - source_.as_iterator().next);
    case Kind::undefined:
      return 0;
    default:
      return length_of(source_) - static_cast<int64_t>(position_);
  }
}

std::vector<Value> items_of(const Value& iterable) {
  if (iterable.is(Kind::sequence)) return iterable.as_sequence().items;
  std::vector<Value> items;
  Cursor cursor(iterable);
  for (Value item; cursor.next(item);) items.push_back(item);
  return items;
}

}  // namespace octet::jinja
