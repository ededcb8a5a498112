#include "tokenizer/template/methods.h"

#include <algorithm>

#include "tokenizer/template/arguments.h"
#include "tokenizer/template/format.h"
#include "tokenizer/template/objects.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

Value texts(Interpreter& interpreter, const std::vector<std::string>& parts) {
  std::vector<Value> items;
  for (const std::string& part : parts) items.push_back(interpreter.text(part));
  return interpreter.list(std::move(items));
}

// Reverse searches are naive; their worst case is charged in advance.
void charge_reverse_search(Interpreter& interpreter, std::string_view text, std::string_view pattern) {
  interpreter.budget().work(static_cast<int64_t>(text.size() / 64) * static_cast<int64_t>(1 + pattern.size() / 8));
}

void require_separator(std::optional<std::string_view> separator) {
  if (separator && separator->empty()) raise("empty separator");
}

// ---- str ----

template <std::string (*kFunction)(std::string_view)>
Value map_case(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("str", arguments, {});
  return interpreter.text(kFunction(self.as_text()), self.is_markup());
}

template <Side kSide>
Value strip_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("strip", arguments, {"chars"});
  const auto chars = bound.optional_text(0);
  if (chars) interpreter.budget().work(self.weight() / 64 * static_cast<int64_t>(1 + chars->size() / 8));
  return interpreter.text(std::string(strip(self.as_text(), kSide, chars)), self.is_markup());
}

Value split_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("split", arguments, {"sep", "maxsplit"});
  const auto separator = bound.has(0) ? bound.optional_text(0) : std::nullopt;
  require_separator(separator);
  return texts(interpreter, split(self.as_text(), separator, bound.integer(1, -1)));
}

Value rsplit(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("rsplit", arguments, {"sep", "maxsplit"});
  const auto separator = bound.optional_text(0);
  require_separator(separator);
  charge_reverse_search(interpreter, self.as_text(), separator.value_or(""));
  return texts(interpreter, split_right(self.as_text(), separator, bound.integer(1, -1)));
}

Value splitlines(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("splitlines", arguments, {"keepends"});
  return texts(interpreter, split_lines(self.as_text(), bound.truth(0)));
}

Value partition(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("partition", arguments, {"sep"}, 1);
  const std::string &text = self.as_text(), &separator = bound.text(0);
  require_separator(separator);
  const size_t at = find_text(text, separator);
  const bool found = at != std::string::npos;
  return Value::tuple({interpreter.text(text.substr(0, at)), Value::text(found ? separator : ""),
                       interpreter.text(found ? text.substr(at + separator.size()) : "")});
}

Value rpartition(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("rpartition", arguments, {"sep"}, 1);
  const std::string &text = self.as_text(), &separator = bound.text(0);
  require_separator(separator);
  charge_reverse_search(interpreter, text, separator);
  const size_t at = text.rfind(separator);
  const bool found = at != std::string::npos;
  return Value::tuple({interpreter.text(found ? text.substr(0, at) : ""), Value::text(found ? separator : ""),
                       interpreter.text(found ? text.substr(at + separator.size()) : text)});
}

// The part [start, end) of a text in which str.find and its kin look; nothing if start lies behind the end.
struct Window {
  std::string_view text;
  int64_t start;
};

std::optional<Window> window(const Value& self, const Bound& bound) {
  const std::string_view text = self.as_text();
  if (!bound.has(1) && !bound.has(2)) return Window{text, 0};
  const int64_t length = count_code_points(text);
  const auto place = [&](size_t i, int64_t absent) {
    if (!bound.has(i) || bound[i].is_none()) return absent;
    const int64_t at = bound.integer(i, 0);
    return at < 0 ? std::max<int64_t>(at + length, 0) : at;
  };
  const int64_t start = place(1, 0), end = std::min(place(2, length), length);
  if (start > end) return std::nullopt;
  const size_t first = byte_offset(text, start);
  return Window{text.substr(first, byte_offset(text.substr(first), end - start)), start};
}

enum class Ends { starts, ends };

template <Ends kEnds>
Value affix(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound(kEnds == Ends::starts ? "startswith" : "endswith", arguments, {"prefix", "start", "end"}, 1);
  const auto part = window(self, bound);
  const auto matches = [&](const Value& candidate) {
    if (!candidate.is_text()) raise("startswith first arg must be str or a tuple of str, not ", type_name(candidate));
    if (!part) return false;
    const std::string& affix = candidate.as_text();
    return kEnds == Ends::starts
               ? part->text.substr(0, affix.size()) == affix
               : part->text.size() >= affix.size() && part->text.substr(part->text.size() - affix.size()) == affix;
  };
  const Value& candidates = bound[0];
  if (!candidates.is(Kind::sequence) || candidates.as_sequence().form != Sequence::Form::tuple) {
    return Value::boolean(matches(candidates));
  }
  interpreter.budget().work_on(candidates);
  const auto& items = candidates.as_sequence().items;
  return Value::boolean(std::any_of(items.begin(), items.end(), matches));
}

// Position in code points, or -1.
int64_t find_position(Interpreter& interpreter, const Value& self, const Bound& bound, bool reverse) {
  const std::string& pattern = bound.text(0);
  const auto part = window(self, bound);
  if (!part) return -1;
  if (reverse) charge_reverse_search(interpreter, part->text, pattern);
  const size_t at = reverse ? part->text.rfind(pattern) : find_text(part->text, pattern);
  return at == std::string_view::npos ? -1 : part->start + count_code_points(part->text.substr(0, at));
}

template <bool kReverse, bool kMustExist>
Value find_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("find", arguments, {"sub", "start", "end"}, 1);
  const int64_t at = find_position(interpreter, self, bound, kReverse);
  if (kMustExist && at < 0) raise("substring not found");
  return Value::integer(at);
}

Value count_method(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"sub", "start", "end"}, 1);
  const std::string& pattern = bound.text(0);
  const auto part = window(self, bound);
  return Value::integer(part ? count_occurrences(part->text, pattern) : 0);
}

Value replace_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"}, 2);
  const std::string &text = self.as_text(), &from = bound.text(0), &to = bound.text(1);
  interpreter.budget().allocate(count_occurrences(text, from) * static_cast<int64_t>(to.size()));
  return interpreter.text(replace(text, from, to, bound.integer(2, -1)), self.is_markup());
}

Value join_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("join", arguments, {"iterable"}, 1);
  Cursor cursor(bound[0]);
  std::string out;
  bool first = true;
  for (Value item; cursor.next(item); first = false) {
    if (!item.is_text()) raise("sequence item: expected str instance, ", type_name(item), " found");
    interpreter.budget().allocate(self.weight() + item.weight());
    if (!first) out += self.as_text();
    out += item.as_text();
  }
  return Value::text(std::move(out), self.is_markup());
}

template <bool kPrefix>
Value remove_affix(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("remove", arguments, {"affix"}, 1);
  std::string_view text = self.as_text();
  const std::string& affix = bound.text(0);
  if (text.size() >= affix.size()) {
    if (kPrefix && text.substr(0, affix.size()) == affix) text.remove_prefix(affix.size());
    if (!kPrefix && text.substr(text.size() - affix.size()) == affix) text.remove_suffix(affix.size());
  }
  return interpreter.text(std::string(text));
}

enum class Align { left, right, center };

template <Align kAlign>
Value pad(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("center", arguments, {"width", "fillchar"}, 1);
  const std::string fill = bound.has(1) ? bound.text(1) : " ";
  if (count_code_points(fill) != 1) raise("The fill character must be exactly one character long");
  const int64_t width = bound.integer(0, 0), missing = width - count_code_points(self.as_text());
  if (missing <= 0) return self;
  // Python puts the odd character to the left if the width is odd.
  const int64_t left = kAlign == Align::left    ? 0
                       : kAlign == Align::right ? missing
                                                : missing / 2 + (missing & width & 1);
  interpreter.budget().allocate(missing);
  interpreter.budget().allocate(missing * static_cast<int64_t>(fill.size() - 1));
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += self.as_text();
  for (int64_t i = left; i < missing; ++i) out += fill;
  return interpreter.text(std::move(out));
}

Value zfill(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("zfill", arguments, {"width"}, 1);
  const std::string& text = self.as_text();
  const int64_t missing = bound.integer(0, 0) - count_code_points(text);
  if (missing <= 0) return self;
  interpreter.budget().allocate(missing);
  const size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  return interpreter.text(text.substr(0, sign) + std::string(static_cast<size_t>(missing), '0') + text.substr(sign));
}

template <bool (*kIs)(char32_t)>
Value all_characters(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("is", arguments, {});
  const std::string& text = self.as_text();
  for (size_t at = 0; at < text.size();) {
    if (!kIs(next_code_point(text, at))) return Value::boolean(false);
  }
  return Value::boolean(!text.empty());
}

template <bool (*kWanted)(char32_t), bool (*kUnwanted)(char32_t)>
Value all_cased(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("is", arguments, {});
  const std::string& text = self.as_text();
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (kUnwanted(c)) return Value::boolean(false);
    found = found || kWanted(c);
  }
  return Value::boolean(found);
}

Value istitle(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("istitle", arguments, {});
  const std::string& text = self.as_text();
  const bool cased = to_upper(text) != text || to_lower(text) != text;
  return Value::boolean(cased && title_case(text) == text);
}

Value format_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return interpreter.text(brace_format(interpreter, self.as_text(), arguments), self.is_markup());
}

Value format_map(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("format_map", arguments, {"mapping"}, 1);
  if (!bound[0].is(Kind::dict)) raise("format_map() needs a dict, got '", type_name(bound[0]), "'");
  Arguments named;
  for (const Dict::Entry& entry : bound[0].as_dict().entries())
    named.named.emplace_back(to_str(entry.first), entry.second);
  return interpreter.text(brace_format(interpreter, self.as_text(), named));
}

// ---- list, tuple, range ----

Value index_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("index", arguments, {"value"}, 1);
  interpreter.budget().work_on(self);
  const auto& items = self.as_sequence().items;
  const auto found = std::find_if(items.begin(), items.end(), [&](const Value& item) { return equal(item, bound[0]); });
  if (found == items.end()) raise("the value is not in the list");
  return Value::integer(found - items.begin());
}

Value count_items(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"value"}, 1);
  const auto& items = self.as_sequence().items;
  return Value::integer(
      std::count_if(items.begin(), items.end(), [&](const Value& item) { return equal(item, bound[0]); }));
}

Value copy_method(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("copy", arguments, {});
  return self;  // values never change, so the value is its own copy
}

// ---- dict ----

Value get_method(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"}, 1);
  const Value* value = self.as_dict().find(bound[0]);
  return value ? *value : bound.get(1, Value::none());
}

template <Sequence::Form kForm>
Value dict_view(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  Sequence view{kForm, {}};
  const auto& entries = self.as_dict().entries();
  interpreter.budget().allocate(static_cast<int64_t>(entries.size() * 2 * sizeof(Value)));
  for (const Dict::Entry& entry : entries) {
    view.items.push_back(kForm == Sequence::Form::keys     ? entry.first
                         : kForm == Sequence::Form::values ? entry.second
                                                           : Value::tuple({entry.first, entry.second}));
  }
  return Value::sequence(std::move(view));
}

struct Entry {
  std::string_view name;
  Method::Code code;
};

constexpr Entry kTextMethods[] = {
    {"split", split_method},
    {"strip", strip_method<Side::both>},
    {"lstrip", strip_method<Side::left>},
    {"rstrip", strip_method<Side::right>},
    {"startswith", affix<Ends::starts>},
    {"endswith", affix<Ends::ends>},
    {"replace", replace_method},
    {"upper", map_case<to_upper>},
    {"lower", map_case<to_lower>},
    {"title", map_case<title_case>},
    {"capitalize", map_case<capitalize>},
    {"swapcase", map_case<swap_case>},
    {"casefold", map_case<to_lower>},
    {"rsplit", rsplit},
    {"splitlines", splitlines},
    {"partition", partition},
    {"rpartition", rpartition},
    {"find", find_method<false, false>},
    {"rfind", find_method<true, false>},
    {"index", find_method<false, true>},
    {"rindex", find_method<true, true>},
    {"count", count_method},
    {"join", join_method},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"center", pad<Align::center>},
    {"ljust", pad<Align::left>},
    {"rjust", pad<Align::right>},
    {"zfill", zfill},
    {"isdigit", all_characters<is_decimal>},
    {"isdecimal", all_characters<is_decimal>},
    {"isnumeric", all_characters<is_numeric>},
    {"isalpha", all_characters<is_alpha>},
    {"isalnum", all_characters<is_alnum>},
    {"isspace", all_characters<is_space>},
    {"isprintable", all_characters<is_printable>},
    {"isupper", all_cased<is_upper, is_lower>},
    {"islower", all_cased<is_lower, is_upper>},
    {"istitle", istitle},
    {"format", format_method},
    {"format_map", format_map},
};
constexpr Entry kSequenceMethods[] = {{"index", index_method}, {"count", count_items}};
constexpr Entry kListMethods[] = {{"copy", copy_method}};
constexpr Entry kDictMethods[] = {
    {"items", dict_view<Sequence::Form::items>},   {"get", get_method},   {"keys", dict_view<Sequence::Form::keys>},
    {"values", dict_view<Sequence::Form::values>}, {"copy", copy_method},
};
constexpr std::string_view kListChanges[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};

template <size_t kCount>
std::optional<Value> find_in(const Entry (&entries)[kCount], const Value& value, std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return Value::object(std::make_shared<Method>(value, entry.name, entry.code));
  }
  return std::nullopt;
}

template <size_t kCount>
std::optional<Value> unsafe_in(const std::string_view (&names)[kCount], const Value& value, std::string_view name) {
  if (std::find(std::begin(names), std::end(names), name) == std::end(names)) return std::nullopt;
  return Value::undefined("access to attribute '" + std::string(name) + "' of '" + std::string(type_name(value)) +
                          "' object is unsafe.");
}

}  // namespace

std::optional<Value> method(const Value& value, std::string_view name) {
  if (value.is_text()) return find_in(kTextMethods, value, name);
  if (value.is(Kind::dict)) {
    auto found = find_in(kDictMethods, value, name);
    return found ? found : unsafe_in(kDictChanges, value, name);
  }
  if (!value.is(Kind::sequence)) return std::nullopt;
  const Sequence& sequence = value.as_sequence();
  if (!sequence.indexable()) return std::nullopt;
  if (auto found = find_in(kSequenceMethods, value, name)) return found;
  if (sequence.form != Sequence::Form::list) return std::nullopt;
  auto found = find_in(kListMethods, value, name);
  return found ? found : unsafe_in(kListChanges, value, name);
}

}  // namespace octet::jinja
