#include "tokenizer/template/filters.h"

#include <cmath>
#include <cstdlib>

#include "tokenizer/template/arguments.h"
#include "tokenizer/template/format.h"
#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

// soft_str: a safe string stays safe, everything else becomes a plain string.
struct SoftText {
  std::string text;
  bool markup;
};
SoftText soft(const Value& value) { return {to_str(value), value.is_markup()}; }

template <std::string (*kFunction)(std::string_view)>
Value map_text(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("filter", arguments, {});
  const SoftText s = soft(input);
  return interpreter.text(kFunction(s.text), s.markup);
}

Value trim(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("trim", arguments, {"chars"});
  const SoftText s = soft(input);
  const auto chars = bound.optional_text(0);
  if (chars) interpreter.budget().work(input.weight() / 64 * static_cast<int64_t>(1 + chars->size() / 8));
  return interpreter.text(std::string(strip(s.text, Side::both, chars)), s.markup);
}

Value string(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("string", arguments, {});
  return input.is_text() ? input : interpreter.text(to_str(input));
}

Value safe(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("safe", arguments, {});
  return interpreter.text(to_str(input), true);
}

Value escape(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("escape", arguments, {});
  if (input.is_markup()) return input;
  return interpreter.text(escape_html(to_str(input)), true);
}

Value forceescape(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("forceescape", arguments, {});
  return interpreter.text(escape_html(to_str(input)), true);
}

Value replace_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const std::string text = to_str(input), from = to_str(bound[0]), to = to_str(bound[1]);
  const int64_t count = bound.has(2) && !bound[2].is_none() ? bound.integer(2, -1) : -1;
  interpreter.budget().allocate(count_occurrences(text, from) * static_cast<int64_t>(to.size()));
  return interpreter.text(replace(text, from, to, count));
}

// Upper case behind every run of - white space ( { [ <.
std::string title_words(std::string_view text) {
  std::string out;
  size_t at = 0;
  const auto is_break = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  while (at < text.size()) {
    const size_t begin = at;
    const bool breaks = is_break(next_code_point(text, at));
    const size_t first_end = at;
    for (size_t next = at; next < text.size(); at = next) {
      if (is_break(next_code_point(text, next)) != breaks) break;
    }
    out += to_upper(text.substr(begin, first_end - begin)) + to_lower(text.substr(first_end, at - first_end));
  }
  return out;
}

Value center(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width"});
  const Value text = string(interpreter, input, {});
  const Value width = Value::integer(bound.integer(0, 80));
  return interpreter.call(interpreter.attribute(text, "center"), {{width}, {}});
}

Value indent(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  if (input.is_undefined()) raise_undefined(input);
  if (!input.is_text()) raise("indent needs a str, got '", type_name(input), "'");
  std::string margin;
  if (bound.has(0) && bound[0].is_text()) {
    margin = bound[0].as_text();
  } else {
    const int64_t width = std::max<int64_t>(bound.integer(0, 4), 0);
    interpreter.budget().allocate(width);
    margin.assign(static_cast<size_t>(width), ' ');
  }
  // A newline is added first, so that a text that ends in one keeps it.
  const std::vector<std::string> lines = split_lines(input.as_text() + "\n", false);
  interpreter.budget().allocate(static_cast<int64_t>(lines.size()) * static_cast<int64_t>(margin.size()));
  std::string out = bound.truth(1) ? margin : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i > 0 && (bound.truth(2) || !lines[i].empty())) out += margin;
    out += lines[i];
  }
  return interpreter.text(std::move(out), input.is_markup());
}

Value truncate(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const std::string text = to_str(input), end = bound.has(2) ? bound.text(2) : "...";
  const int64_t length = bound.integer(0, 255), leeway = bound.integer(3, 5), end_length = count_code_points(end);
  if (length < end_length) raise("expected length >= ", end_length, ", got ", length);
  if (leeway < 0) raise("expected leeway >= 0, got ", leeway);
  if (count_code_points(text) <= length + leeway) return input;
  const std::string kept = text.substr(0, byte_offset(text, length - end_length));
  return interpreter.text((bound.truth(1) ? kept : split_right(kept, " ", 1).front()) + end);
}

Value wordcount(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("wordcount", arguments, {});
  const std::string text = to_str(input);
  int64_t count = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const bool word = c == '_' || is_alnum(c);
    count += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value::integer(count);
}

Value urlencode(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("urlencode", arguments, {});
  if (is_iterable(input) && !input.is_text()) raise("octet's urlencode takes a str, got '", type_name(input), "'");
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  static constexpr std::string_view kKept = "-._~/";
  std::string out;
  for (const char c : to_str(input)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (is_alnum(byte) || kKept.find(c) != std::string_view::npos)) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return interpreter.text(std::move(out));
}

Value format_filter(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    raise("can't handle positional and keyword arguments at the same time");
  }
  Dict named;
  for (const auto& argument : arguments.named) named.set(argument.first, argument.second);
  const Value values = arguments.named.empty() ? Value::tuple(arguments.positional) : Value::dict(std::move(named));
  return interpreter.text(percent_format(interpreter, to_str(input), values), input.is_markup());
}

Value default_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool missing = input.is_undefined() || (bound.truth(1) && !truthy(input));
  return missing ? bound.get(0, Value::text("")) : input;
}

// ---- numbers ----

// float(text) of Python; nothing if it is no number.
std::optional<double> parse_real(std::string_view text) {
  std::string digits(strip(text, Side::both));
  for (size_t at = digits.find('_'); at != std::string::npos; at = digits.find('_', at)) {
    const bool between_digits = at > 0 && at + 1 < digits.size() && digits[at - 1] >= '0' && digits[at - 1] <= '9' &&
                                digits[at + 1] >= '0' && digits[at + 1] <= '9';
    if (!between_digits) return std::nullopt;
    digits.erase(at, 1);
  }
  // strtod knows more than Python: hexadecimal numbers and nan(...).
  if (digits.empty() || digits.find_first_of("xX(pP") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  return value;
}

// int(text, base) of Python.
std::optional<Value> parse_integer(std::string_view text, int64_t base) {
  std::string_view digits = strip(text, Side::both);
  const bool negative = !digits.empty() && digits[0] == '-';
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  const char prefix = digits.size() > 2 && digits[0] == '0' ? static_cast<char>(digits[1] | 0x20) : '\0';
  const int64_t prefix_base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
  if (prefix_base != 0 && (base == 0 || base == prefix_base)) {
    digits.remove_prefix(2);
    base = prefix_base;
  } else if (base == 0) {
    if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
    base = 10;
  }
  if (digits.empty() || base < 2 || base > 36) return std::nullopt;
  std::string plain;
  int64_t value = 0;
  bool fits = true;
  for (size_t i = 0; i < digits.size(); ++i) {
    const char c = digits[i];
    if (c == '_' && i > 0 && i + 1 < digits.size() && digits[i - 1] != '_') continue;
    const char lower = static_cast<char>(c | 0x20);
    const int digit = c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
    if (digit >= base) return std::nullopt;
    plain += c;
    fits = fits && !__builtin_mul_overflow(value, base, &value) &&
           !(negative ? __builtin_sub_overflow(value, int64_t{digit}, &value)
                      : __builtin_add_overflow(value, int64_t{digit}, &value));
  }
  if (fits) return Value::integer(value);
  if (base != 10) exhausted("expected integers of at most 64 bits");
  plain.erase(0, std::min(plain.find_first_not_of('0'), plain.size() - 1));
  return Value::big_integer((negative ? "-" : "") + plain);
}

std::optional<Value> truncate_real(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (std::fabs(value) >= 9.2e18) exhausted("expected integers of at most 64 bits");
  return Value::integer(static_cast<int64_t>(value));
}

Value int_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  std::optional<Value> result;
  if (input.is_undefined()) raise_undefined(input);
  if (input.is_text()) {
    result = parse_integer(input.as_text(), bound.integer(1, 10));
    if (!result) {
      if (const auto real = parse_real(input.as_text())) result = truncate_real(*real);
    }
  } else if (const auto integer = integer_of(input)) {
    result = Value::integer(*integer);
  } else if (input.is(Kind::big_integer)) {
    result = input;
  } else if (input.is(Kind::real)) {
    result = truncate_real(input.as_real());
  }
  return result ? *result : bound.get(0, Value::integer(0));
}

Value float_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (input.is_undefined()) raise_undefined(input);
  std::optional<double> result = number_of(input);
  if (input.is_text()) result = parse_real(input.as_text());
  if (input.is(Kind::big_integer)) result = parse_real(input.digits());
  return result ? Value::real(*result) : bound.get(0, Value::real(0));
}

Value abs_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("abs", arguments, {});
  if (input.is_undefined()) raise_undefined(input);
  if (const auto integer = integer_of(input)) {
    if (*integer == INT64_MIN) exhausted("expected integers of at most 64 bits");
    return Value::integer(std::abs(*integer));
  }
  if (input.is(Kind::real)) return Value::real(std::fabs(input.as_real()));
  raise("bad operand type for abs(): '", type_name(input), "'");
}

// round(value, digits) of Python: exact on the binary value, halves to even.
double round_real(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 22) return value;
  if (digits < 0) {
    if (digits < -308) return 0.0;
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  char buffer[400];  // 309 digits of the largest double, a point and 22 digits
  std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value);
  return std::strtod(buffer, nullptr);
}

Value round_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::string method = bound.has(1) ? to_str(bound[1]) : "common";
  const int64_t precision = bound.integer(0, 0);
  if (input.is_undefined()) raise_undefined(input);
  const auto value = number_of(input);
  if (!value) raise("type ", type_name(input), " doesn't define __round__ method");
  if (method == "common") {
    if (!input.is(Kind::real) && precision >= 0) return Value::integer(*integer_of(input));
    const double rounded = round_real(*value, precision);
    return input.is(Kind::real) ? Value::real(rounded) : Value::integer(static_cast<int64_t>(rounded));
  }
  if (method != "ceil" && method != "floor") raise("method must be common, ceil or floor");
  const double unit = std::pow(10.0, static_cast<double>(precision));
  return Value::real((method == "ceil" ? std::ceil(*value * unit) : std::floor(*value * unit)) / unit);
}

// ---- JSON ----

Value tojson(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.truth(0);
  style.sort_keys = bound.truth(3);
  if (bound.has(1) && !bound[1].is_none()) {
    if (bound[1].is_text()) {
      style.indent = bound[1].as_text();
    } else {
      const int64_t width = std::max<int64_t>(bound.integer(1, 0), 0);
      if (width > 1000) exhausted("tojson: expected an indent of at most 1000, got ", width);
      style.indent = std::string(static_cast<size_t>(width), ' ');
    }
    style.item_separator = ",";
  }
  if (bound.has(2) && !bound[2].is_none()) {
    const std::vector<Value> separators = items_of(bound[2]);
    if (separators.size() != 2 || !separators[0].is_text() || !separators[1].is_text()) {
      raise("tojson: separators must be two strings");
    }
    style.item_separator = separators[0].as_text();
    style.key_separator = separators[1].as_text();
  }
  const int64_t limit = std::min(interpreter.options().max_output_bytes, interpreter.budget().bytes_left());
  return interpreter.text(to_json(input, style, limit));
}

// Not in Jinja; some templates written for other engines use it.
Value from_json(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("from_json", arguments, {});
  if (!input.is_text()) raise("from_json needs a str, got '", type_name(input), "'");
  interpreter.budget().allocate(input.weight() * 8);
  try {
    return Value::from_json(input.as_text(), "from_json", ErrorCode::bad_template);
  } catch (const Error& e) {
    raise(e.what());
  }
}

constexpr FilterEntry kFilters[] = {
    {"abs", abs_filter},
    {"capitalize", map_text<capitalize>},
    {"center", center},
    {"d", default_filter},
    {"default", default_filter},
    {"e", escape},
    {"escape", escape},
    {"float", float_filter},
    {"forceescape", forceescape},
    {"format", format_filter},
    {"from_json", from_json},
    {"indent", indent},
    {"int", int_filter},
    {"lower", map_text<to_lower>},
    {"replace", replace_filter},
    {"round", round_filter},
    {"safe", safe},
    {"string", string},
    {"title", map_text<title_words>},
    {"tojson", tojson},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", map_text<to_upper>},
    {"urlencode", urlencode},
    {"wordcount", wordcount},
};

}  // namespace

std::span<const FilterEntry> scalar_filters() { return kFilters; }

Filter find_filter(std::string_view name) {
  for (const auto& filters : {scalar_filters(), sequence_filters()}) {
    for (const FilterEntry& entry : filters) {
      if (entry.name == name) return entry.filter;
    }
  }
  return nullptr;
}

}  // namespace octet::jinja
