// tokenizer/template/filters.h — the filters of `value | name(arguments)`.
#pragma once

#include <span>
#include <string_view>

#include "tokenizer/template/value.h"

namespace octet::jinja {

using Filter = Value (*)(Interpreter&, const Value& input, const Arguments& arguments);

struct FilterEntry {
  std::string_view name;
  Filter filter;
};

/// Null if there is no such filter.
Filter find_filter(std::string_view name);

/// Filters on text and numbers (filters.cpp).
std::span<const FilterEntry> scalar_filters();

/// Filters on lists and dictionaries (sequence_filters.cpp).
std::span<const FilterEntry> sequence_filters();

}  // namespace octet::jinja
