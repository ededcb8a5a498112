#include "tokenizer/template/globals.h"

#include <array>
#include <ctime>

#include "tokenizer/template/arguments.h"
#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/objects.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;  // MAX_RANGE of Jinja's sandbox

Value make_range(Interpreter& interpreter, const Arguments& arguments) {
  const Bound bound("range", arguments, {"start", "stop", "step"}, 1);
  Sequence range{Sequence::Form::range, {}};
  const int64_t first = bound.integer(0, 0);
  range.range_start = bound.has(1) ? first : 0;
  range.range_stop = bound.integer(1, first);
  range.range_step = bound.integer(2, 1);
  if (range.range_step == 0) raise("range() arg 3 must not be zero");
  const bool up = range.range_step > 0;
  for (int64_t i = range.range_start; up ? i < range.range_stop : i > range.range_stop;) {
    if (static_cast<int64_t>(range.items.size()) == kMaxRange) {
      exhausted("Range too big. The sandbox blocks ranges larger than MAX_RANGE (", kMaxRange, ").");
    }
    range.items.push_back(Value::integer(i));
    if (__builtin_add_overflow(i, range.range_step, &i)) break;
  }
  const auto count = static_cast<int64_t>(range.items.size());
  interpreter.budget().work(count / 8);
  interpreter.budget().allocate(count * static_cast<int64_t>(sizeof(Value)));
  return Value::sequence(std::move(range));
}

// dict(mapping or pairs, **named)
Dict build_dict(Interpreter& interpreter, const Arguments& arguments) {
  if (arguments.positional.size() > 1) {
    raise("dict expected at most 1 argument, got ", arguments.positional.size());
  }
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional.front();
    interpreter.budget().work_on(source);
    interpreter.budget().allocate(source.weight());
    if (source.is(Kind::dict)) {
      dict = source.as_dict();
    } else {
      Cursor cursor(source);
      for (Value pair; cursor.next(pair);) {
        const std::vector<Value> items = items_of(pair);
        if (items.size() != 2) raise("dictionary update sequence element has length ", items.size(), "; 2 is required");
        dict.set(items[0], items[1]);
      }
    }
  }
  for (const auto& argument : arguments.named) dict.set(argument.first, argument.second);
  return dict;
}

Value make_dict(Interpreter& interpreter, const Arguments& arguments) {
  return Value::dict(build_dict(interpreter, arguments));
}

Value make_namespace(Interpreter& interpreter, const Arguments& arguments) {
  return interpreter.make_namespace(build_dict(interpreter, arguments));
}

Value make_cycler(Interpreter&, const Arguments& arguments) {
  if (arguments.positional.empty()) raise("at least one item has to be provided");
  return Value::object(std::make_shared<Cycler>(arguments.positional));
}

Value make_joiner(Interpreter&, const Arguments& arguments) {
  const Bound bound("joiner", arguments, {"sep"});
  return Value::object(std::make_shared<Joiner>(bound.get(0, Value::text(", "))));
}

Value raise_exception(Interpreter&, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"}, 1);
  raise(to_str(bound[0]));
}

Value strftime_now(Interpreter& interpreter, const Arguments& arguments) {
  const Bound bound("strftime_now", arguments, {"format"}, 1);
  const std::string& format = bound.text(0);
  if (format.size() > 256) exhausted("strftime_now: expected a format of at most 256 bytes");
  const std::time_t now =
      interpreter.options().unix_time ? static_cast<std::time_t>(*interpreter.options().unix_time) : std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 4096> text{};
  // A space in front: strftime returns 0 both for "does not fit" and for an empty result.
  const size_t length = std::strftime(text.data(), text.size(), (" " + format).c_str(), &local);
  if (length == 0) exhausted("strftime_now: the formatted time is too long");
  std::string out(text.data() + 1, length - 1);
  if (!is_valid_utf8(out)) raise("strftime_now: expected a locale that writes UTF-8");
  return interpreter.text(std::move(out));
}

struct Entry {
  std::string_view name;
  Function::Code code;
};
constexpr Entry kGlobals[] = {
    {"range", make_range},          {"dict", make_dict},     {"namespace", make_namespace},
    {"cycler", make_cycler},        {"joiner", make_joiner}, {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
};

}  // namespace

std::optional<Value> global(std::string_view name) {
  for (const Entry& entry : kGlobals) {
    if (entry.name == name) return Value::object(std::make_shared<Function>(entry.name, entry.code));
  }
  return std::nullopt;
}

}  // namespace octet::jinja
