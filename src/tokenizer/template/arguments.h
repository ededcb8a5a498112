// tokenizer/template/arguments.h — the arguments of one call matched with parameter names.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/template/value.h"

namespace octet::jinja {

/// Arguments by parameter, as Python binds them.
class Bound {
 public:
  /// function  names the callee in messages.
  /// names     its parameters in order; the first `required` of them must be given.
  /// Raises    on surplus, unknown, doubled or missing arguments.
  Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names,
        size_t required = 0);

  bool has(size_t i) const { return values_[i].has_value(); }
  const Value& operator[](size_t i) const { return *values_[i]; }
  /// The argument, or `fallback` if it is absent.
  Value get(size_t i, Value fallback) const { return values_[i] ? *values_[i] : std::move(fallback); }
  bool truth(size_t i, bool fallback = false) const { return values_[i] ? truthy(*values_[i]) : fallback; }
  /// Raises if the argument is there and no int.
  int64_t integer(size_t i, int64_t fallback) const;
  /// Raises if the argument is not a string.
  const std::string& text(size_t i) const;
  /// Nothing for an argument that is absent or none. Raises if it is something else than a string.
  std::optional<std::string_view> optional_text(size_t i) const;

 private:
  std::string_view function_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace octet::jinja
