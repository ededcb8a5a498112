#include "tokenizer/template/arguments.h"

#include <algorithm>

namespace octet::jinja {

Bound::Bound(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names,
             size_t required)
    : function_(function), values_(names.size()) {
  if (arguments.positional.size() > names.size()) {
    raise(function, "() takes at most ", names.size(), " arguments, got ", arguments.positional.size());
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), values_.begin());
  for (const auto& argument : arguments.named) {
    const auto* name = std::find(names.begin(), names.end(), argument.first);
    if (name == names.end()) raise(function, "() got an unexpected keyword argument '", argument.first, "'");
    std::optional<Value>& value = values_[static_cast<size_t>(name - names.begin())];
    if (value) raise(function, "() got multiple values for argument '", argument.first, "'");
    value = argument.second;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!values_[i]) raise(function, "() misses its argument '", names.begin()[i], "'");
  }
}

int64_t Bound::integer(size_t i, int64_t fallback) const {
  if (!values_[i]) return fallback;
  if (values_[i]->is_undefined()) raise_undefined(*values_[i]);
  if (const auto value = integer_of(*values_[i])) return *value;
  raise(function_, "() needs an int, got '", type_name(*values_[i]), "'");
}

const std::string& Bound::text(size_t i) const {
  if (!values_[i]->is_text()) raise(function_, "() needs a str, got '", type_name(*values_[i]), "'");
  return values_[i]->as_text();
}

std::optional<std::string_view> Bound::optional_text(size_t i) const {
  if (!values_[i] || values_[i]->is_none()) return std::nullopt;
  return text(i);
}

}  // namespace octet::jinja
