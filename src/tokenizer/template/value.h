// tokenizer/template/value.h — the values that a template computes with: Python's, as far as chat templates use them.
//
// Containers never change once a Value refers to them (the sandbox of transformers forbids it too), so they are shared
// freely and cannot form cycles. Each knows its depth and its weight, which bound every recursion over it.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace octet::jinja {

/// What a template did wrong, without its position: the interpreter adds file and line and rethrows it as octet::Error.
class Failure : public std::exception {
 public:
  Failure(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
};

template <class... Parts>
std::string join_parts(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// Throws Failure(bad_template): the template asked for something that Python refuses.
template <class... Parts>
[[noreturn]] void raise(const Parts&... parts) {
  throw Failure(ErrorCode::bad_template, join_parts(parts...));
}

/// Throws Failure(limit): the template is valid and asks for too much.
template <class... Parts>
[[noreturn]] void exhausted(const Parts&... parts) {
  throw Failure(ErrorCode::limit, join_parts(parts...));
}

class Value;
class Object;
class Dict;
struct Sequence;
struct Iterator;

struct Undefined {
  std::shared_ptr<const std::string> reason;  // what using it reports; null: a generic sentence
};
struct None {};
/// An integer beyond 64 bits: carried and printed exactly, never computed with.
struct BigInteger {
  std::shared_ptr<const std::string> digits;
};
struct Text {
  std::shared_ptr<const std::string> bytes;  // valid UTF-8
  bool markup = false;                       // result of |safe: `+` escapes what is added to it
};

/// In the order of Value's variant.
enum class Kind { undefined, none, boolean, integer, big_integer, real, text, sequence, dict, iterator, object };

/// One value. Cheap to copy: everything large is shared.
class Value {
 public:
  Value() = default;  // undefined
  static Value undefined(std::string reason);
  static Value none() { return Value(Data(None{})); }
  static Value boolean(bool value) { return Value(Data(value)); }
  static Value integer(int64_t value) { return Value(Data(value)); }
  static Value big_integer(std::string digits);
  static Value real(double value) { return Value(Data(value)); }
  /// bytes must be valid UTF-8.
  static Value text(std::string bytes, bool markup = false);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value sequence(Sequence sequence);
  static Value dict(Dict dict);
  /// What Python calls a generator: no length, always true, and empty after it was read once.
  static Value iterator(std::vector<Value> items);
  static Value object(std::shared_ptr<Object> object);

  /// Converts a JSON document; objects keep their key order.
  /// Throws  Error(code) naming `where` on malformed text, a duplicate key, invalid UTF-8, or nesting beyond 64 levels.
  static Value from_json(std::string_view json, std::string_view where, ErrorCode code);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind k) const { return kind() == k; }
  bool is_undefined() const { return is(Kind::undefined); }
  bool is_none() const { return is(Kind::none); }
  bool is_text() const { return is(Kind::text); }

  // Each of these needs the matching kind.
  bool as_boolean() const { return std::get<bool>(data_); }
  int64_t as_integer() const { return std::get<int64_t>(data_); }
  double as_real() const { return std::get<double>(data_); }
  const std::string& as_text() const { return *std::get<Text>(data_).bytes; }
  const std::string& digits() const { return *std::get<BigInteger>(data_).digits; }
  const Sequence& as_sequence() const { return *std::get<std::shared_ptr<const Sequence>>(data_); }
  const Dict& as_dict() const { return *std::get<std::shared_ptr<const Dict>>(data_); }
  Iterator& as_iterator() const { return *std::get<std::shared_ptr<Iterator>>(data_); }
  const std::shared_ptr<Object>& as_object() const { return std::get<std::shared_ptr<Object>>(data_); }
  bool is_markup() const { return is_text() && std::get<Text>(data_).markup; }
  /// Why an undefined value is undefined.
  std::string reason() const;

  /// Levels of nesting below this value, and its size in bytes when printed out as a tree (roughly; saturates).
  int depth() const;
  int64_t weight() const;

  /// True if both are the same scalar or refer to the same container (`is sameas`).
  bool same_as(const Value& other) const;

 private:
  using Data = std::variant<Undefined, None, bool, int64_t, BigInteger, double, Text, std::shared_ptr<const Sequence>,
                            std::shared_ptr<const Dict>, std::shared_ptr<Iterator>, std::shared_ptr<Object>>;
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

/// Values in order: a list, or one of the things that Python keeps apart from it only in some respects.
struct Sequence {
  enum class Form { list, tuple, range, keys, values, items };
  Form form = Form::list;
  std::vector<Value> items;
  int64_t range_start = 0, range_stop = 0, range_step = 1;  // Form::range only
  int depth = 1;                                            // set by Value::sequence, as is weight
  int64_t weight = 0;
  /// Dictionary views have no subscript.
  bool indexable() const { return form == Form::list || form == Form::tuple || form == Form::range; }
};

struct Iterator {
  std::vector<Value> items;
  size_t next = 0;
};

/// A total order over hashable values in which 1, 1.0 and True are one key, as in Python.
struct KeyOrder {
  bool operator()(const Value& a, const Value& b) const;
};

/// A mapping in insertion order. Built once, then shared through Value::dict.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  /// Null if absent. Raises if the key is not hashable.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  /// Adds an entry or replaces its value in place. Raises if the key is not hashable.
  void set(const Value& key, Value value);
  void set(std::string_view key, Value value) { set(Value::text(std::string(key)), std::move(value)); }
  int depth() const { return depth_; }
  int64_t weight() const { return weight_; }

 private:
  std::optional<size_t> position(const Value& key) const;

  std::vector<Entry> entries_;
  std::map<Value, size_t, KeyOrder> index_;  // filled only when there are many entries; a tree, so no crafted
                                             // set of keys makes it slow
  int depth_ = 1;
  int64_t weight_ = 2;
};

class Interpreter;

/// Arguments of one call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Anything with behaviour of its own: macros, methods, global functions, `loop`, namespaces.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  /// Python's name of the type, for messages.
  virtual std::string_view type_name() const = 0;
  virtual std::string repr() const { return "<" + std::string(type_name()) + ">"; }
  /// Null if there is no such attribute.
  virtual std::optional<Value> attribute(std::string_view) { return std::nullopt; }
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter&, const Arguments&);
  virtual std::optional<int64_t> length() { return std::nullopt; }
  /// Nesting of the values that this object owns for good.
  virtual int depth() const { return 0; }
};

/// Python's name of the value's type: "str", "dict", "NoneType".
std::string_view type_name(const Value& value);

/// Python truth: empty, zero, none and undefined are false.
bool truthy(const Value& value);

/// Python's ==. Undefined equals undefined.
bool equal(const Value& a, const Value& b);

/// Python's <. Raises if the types have no order.
bool less(const Value& a, const Value& b);

/// Raises "unhashable type" for lists, dictionaries and tuples that hold one.
void require_hashable(const Value& value);

/// Integer value of an int or a bool.
std::optional<int64_t> integer_of(const Value& value);

/// Numeric value of an int, bool or float; nothing for others.
std::optional<double> number_of(const Value& value);

/// Raises what using an undefined value raises.
[[noreturn]] void raise_undefined(const Value& value);

/// Number of items or of code points; raises for what has no length.
int64_t length_of(const Value& value);

/// Reads an iterable item by item: lists, characters of a text, keys of a dictionary. Undefined is empty.
class Cursor {
 public:
  /// Raises if the value is not iterable.
  explicit Cursor(Value iterable);
  /// False at the end.
  bool next(Value& item);
  /// Items not yet read.
  int64_t remaining() const;

 private:
  Value source_;
  size_t position_ = 0;  // index, or byte offset in a text
};

bool is_iterable(const Value& value);

/// All items of an iterable.
std::vector<Value> items_of(const Value& iterable);

}  // namespace octet::jinja
