#include "tokenizer/template/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

constexpr int kMaxPrecision = 100;  // digits behind the point; keeps every number in a small buffer

// [[fill]align][sign][#][0][width][,][.precision][type]
struct Spec {
  std::string fill = " ";
  char align = '\0';  // '<', '>', '^', '='; none: by type
  char sign = '-';
  bool alternate = false;
  bool thousands = false;
  int64_t width = 0;
  int precision = -1;
  char type = '\0';
};

int64_t read_digits(std::string_view text, size_t& at) {
  int64_t value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    if (value > 1'000'000) exhausted("a format width is larger than 1000000");
  }
  return value;
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  const auto peek = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  size_t fill_end = 0;
  if (!text.empty()) next_code_point(text, fill_end);
  if (is_align(peek(fill_end))) {
    spec.fill = std::string(text.substr(0, fill_end));
    spec.align = text[fill_end];
    at = fill_end + 1;
  } else if (is_align(peek(0))) {
    spec.align = text[at++];
  }
  if (peek(at) == '+' || peek(at) == '-' || peek(at) == ' ') spec.sign = text[at++];
  if (peek(at) == '#') spec.alternate = ++at > 0;
  if (peek(at) == '0') {
    if (spec.align == '\0') {
      spec.align = '=';
      spec.fill = "0";
    }
    ++at;
  }
  spec.width = read_digits(text, at);
  if (peek(at) == ',') spec.thousands = ++at > 0;
  if (peek(at) == '.') {
    ++at;
    spec.precision = static_cast<int>(read_digits(text, at));
  }
  if (at < text.size()) spec.type = text[at++];
  if (at < text.size()) raise("Invalid format specifier");
  return spec;
}

std::string pad(Interpreter& interpreter, const Spec& spec, std::string_view prefix, const std::string& body,
                char default_align) {
  const int64_t missing = spec.width - count_code_points(body) - count_code_points(prefix);
  if (missing <= 0) return std::string(prefix) + body;
  interpreter.budget().allocate(missing * 4);
  const char align = spec.align ? spec.align : default_align;
  const int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string before, after;
  for (int64_t i = 0; i < left; ++i) before += spec.fill;
  for (int64_t i = left; i < missing; ++i) after += spec.fill;
  return align == '=' ? std::string(prefix) + before + body : before + std::string(prefix) + body + after;
}

void group_thousands(std::string& digits) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, ",");
}

std::string sign_of(bool negative, char sign) { return negative ? "-" : sign == '-' ? "" : std::string(1, sign); }

std::string format_integer(Interpreter& interpreter, const Spec& spec, int64_t value) {
  const int base = spec.type == 'x' || spec.type == 'X' ? 16 : spec.type == 'o' ? 8 : spec.type == 'b' ? 2 : 10;
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::array<char, 72> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base);
  std::string digits(buffer.data(), end.ptr);
  if (spec.type == 'X') digits = to_upper(digits);
  if (spec.thousands) group_thousands(digits);
  std::string prefix = sign_of(value < 0, spec.sign);
  if (spec.alternate && base != 10) prefix += std::string("0") + spec.type;
  return pad(interpreter, spec, prefix, digits, '>');
}

// Digits of |value| under the printf conversion `type`, or Python's repr.
std::string real_digits(double value, const Spec& spec) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  if (spec.type == '\0' && spec.precision < 0) return repr_real(value);
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (precision > kMaxPrecision) exhausted("a format precision is larger than ", kMaxPrecision);
  const char type = spec.type == '\0' ? 'g' : spec.type == '%' ? 'f' : spec.type;
  const std::array<char, 7> conversion = {'%', '.', '*', type, '\0'};
  std::array<char, 512> buffer{};  // 309 digits of the largest double and kMaxPrecision more
  // The conversion is one of e, E, f, F, g, G, checked by the caller.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  std::snprintf(buffer.data(), buffer.size(), conversion.data(), precision, value);
#pragma GCC diagnostic pop
  return buffer.data();
}

std::string format_real(Interpreter& interpreter, const Spec& spec, double value) {
  std::string digits = real_digits(std::fabs(spec.type == '%' ? value * 100 : value), spec);
  if (spec.thousands) group_thousands(digits);
  if (spec.type == '%') digits += '%';
  return pad(interpreter, spec, sign_of(std::signbit(value) && !std::isnan(value), spec.sign), digits, '>');
}

std::string format_text(Interpreter& interpreter, const Spec& spec, const std::string& text) {
  std::string body = spec.precision < 0 ? text : text.substr(0, byte_offset(text, spec.precision));
  return pad(interpreter, spec, "", body, '<');
}

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// format(value, spec)
std::string format_value(Interpreter& interpreter, const Value& value, std::string_view spec_text) {
  if (spec_text.empty()) return to_str(value);
  const Spec spec = parse_spec(spec_text);
  if (value.is_text() && is_one_of(spec.type, std::string_view("\0s", 2))) {
    return format_text(interpreter, spec, value.as_text());
  }
  if (const auto number = number_of(value); number && is_one_of(spec.type, "eEfFgG%")) {
    return format_real(interpreter, spec, *number);
  }
  if (value.is(Kind::real) && spec.type == '\0') return format_real(interpreter, spec, value.as_real());
  if (const auto integer = integer_of(value); integer && is_one_of(spec.type, std::string_view("\0dxXob", 6))) {
    return format_integer(interpreter, spec, *integer);
  }
  raise("Unknown format code for object of type '", type_name(value), "'");
}

// Conversion specification of %: %[(name)][flags][width][.precision]type
class PercentFormatter {
 public:
  PercentFormatter(Interpreter& interpreter, std::string_view format, const Value& argument)
      : interpreter_(interpreter), format_(format), argument_(argument) {
    is_tuple_ = argument.is(Kind::sequence) && argument.as_sequence().form == Sequence::Form::tuple;
  }

  std::string run() {
    while (at_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_ += format_.substr(at_, percent - at_);
      at_ = percent;
      if (at_ < format_.size()) convert();
    }
    const size_t given = is_tuple_ ? argument_.as_sequence().items.size() : argument_.is(Kind::dict) ? used_ : 1;
    if (used_ < given && !named_) raise("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  char peek() const { return at_ < format_.size() ? format_[at_] : '\0'; }

  Value next_argument() {
    if (named_) return current_;
    if (is_tuple_) {
      const auto& items = argument_.as_sequence().items;
      if (used_ >= items.size()) raise("not enough arguments for format string");
      return items[used_++];
    }
    if (used_++ > 0) raise("not enough arguments for format string");
    return argument_;
  }

  void convert() {
    ++at_;
    if (peek() == '(') {
      const size_t end = format_.find(')', at_);
      if (end == std::string_view::npos) raise("incomplete format key");
      if (!argument_.is(Kind::dict)) raise("format requires a mapping");
      const std::string_view key = format_.substr(at_ + 1, end - at_ - 1);
      const Value* value = argument_.as_dict().find(key);
      if (!value) raise("KeyError: '", key, "'");
      current_ = *value;
      named_ = true;
      at_ = end + 1;
    }
    Spec spec;
    spec.align = '>';
    for (; is_one_of(peek(), "-+ #0") && peek() != '\0'; ++at_) {
      if (peek() == '-') spec.align = '<';
      if (peek() == '+' || (peek() == ' ' && spec.sign != '+')) spec.sign = peek();
      if (peek() == '#') spec.alternate = true;
      if (peek() == '0' && spec.align != '<') {
        spec.align = '=';
        spec.fill = "0";
      }
    }
    if (spec.align == '<') spec.fill = " ";
    spec.width = read_digits(format_, at_);
    if (peek() == '.') {
      ++at_;
      spec.precision = static_cast<int>(read_digits(format_, at_));
    }
    if (at_ >= format_.size()) raise("incomplete format");
    spec.type = format_[at_++];
    write(spec);
  }

  void write(Spec spec) {
    if (spec.type == '%') {
      out_ += '%';
      return;
    }
    const Value value = next_argument();
    interpreter_.budget().allocate(value.weight());
    if (spec.type == 's' || spec.type == 'r') {
      if (spec.align == '=') {
        spec.align = '>';
        spec.fill = " ";
      }
      out_ += format_text(interpreter_, spec, spec.type == 's' ? to_str(value) : to_repr(value));
    } else if (is_one_of(spec.type, "diuxXo")) {
      if (value.is_undefined()) raise_undefined(value);
      const auto number = number_of(value);
      if (!number) raise("%", spec.type, " format: a number is required, not ", type_name(value));
      const bool fits = std::fabs(*number) < 9e18;
      if (!fits) exhausted("expected integers of at most 64 bits");
      if (value.is(Kind::real) && is_one_of(spec.type, "xXo")) raise("an integer is required, not float");
      spec.precision = -1;
      out_ +=
          format_integer(interpreter_, spec, value.is(Kind::real) ? static_cast<int64_t>(*number) : *integer_of(value));
    } else if (is_one_of(spec.type, "eEfFgG")) {
      if (value.is_undefined()) raise_undefined(value);
      const auto number = number_of(value);
      if (!number) raise("must be real number, not ", type_name(value));
      out_ += format_real(interpreter_, spec, *number);
    } else {
      raise("unsupported format character '", std::string(1, spec.type), "'");
    }
  }

  Interpreter& interpreter_;
  std::string_view format_;
  const Value& argument_;
  bool is_tuple_ = false;
  bool named_ = false;
  Value current_;  // the value of %(name)
  size_t used_ = 0;
  size_t at_ = 0;
  std::string out_;
};

class BraceFormatter {
 public:
  BraceFormatter(Interpreter& interpreter, const Arguments& arguments)
      : interpreter_(interpreter), arguments_(arguments) {}

  // nested: a format spec, which may hold fields itself ('{:{width}}').
  std::string run(std::string_view format, bool nested) {
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if (c != '{' && c != '}') {
        out += c;
        ++at;
      } else if (!nested && at + 1 < format.size() && format[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '}') {
        raise("Single '}' encountered in format string");
      } else {
        const size_t end = field_end(format, at);
        out += field(format.substr(at + 1, end - at - 1), nested);
        at = end + 1;
      }
    }
    return out;
  }

 private:
  static size_t field_end(std::string_view format, size_t begin) {
    int open = 0;
    for (size_t at = begin; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    raise("expected '}' before end of string");
  }

  std::string field(std::string_view text, bool nested) {
    interpreter_.budget().work(1);
    const size_t name_end = std::min(text.find_first_of("!:"), text.size());
    Value value = resolve(text.substr(0, name_end));
    std::string_view rest = text.substr(name_end);
    if (!rest.empty() && rest[0] == '!') {
      const char conversion = rest.size() > 1 ? rest[1] : '\0';
      if (conversion == 'r') {
        value = interpreter_.text(to_repr(value));
      } else if (conversion == 's') {
        value = interpreter_.text(to_str(value));
      } else {
        raise("Unknown conversion specifier in a format field");
      }
      rest.remove_prefix(2);
    }
    if (!rest.empty() && rest[0] != ':') raise("expected ':' after conversion specifier");
    if (!rest.empty()) rest.remove_prefix(1);
    if (nested && rest.find('{') != std::string_view::npos) raise("Max string recursion exceeded");
    interpreter_.budget().allocate(value.weight());
    return format_value(interpreter_, value, nested ? std::string(rest) : run(rest, true));
  }

  // name, name.attribute, name[key], in any mixture
  Value resolve(std::string_view path) {
    size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = argument(path.substr(0, at));
    while (at < path.size()) {
      if (path[at] == '.') {
        const size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
        value = interpreter_.attribute(value, path.substr(at + 1, end - at - 1));
        at = end;
      } else {
        const size_t end = path.find(']', at);
        if (end == std::string_view::npos) raise("Missing ']' in format string");
        const std::string_view key = path.substr(at + 1, end - at - 1);
        const auto index = number(key);
        value = interpreter_.item(value, index ? Value::integer(*index) : Value::text(std::string(key)));
        at = end + 1;
      }
    }
    return value;
  }

  static std::optional<int64_t> number(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    size_t at = 0;
    return read_digits(text, at);
  }

  Value argument(std::string_view name) {
    if (const auto index = name.empty() ? std::optional<int64_t>(next_++) : number(name)) {
      if (*index >= static_cast<int64_t>(arguments_.positional.size())) {
        raise("Replacement index ", *index, " out of range for positional args tuple");
      }
      return arguments_.positional[static_cast<size_t>(*index)];
    }
    for (const auto& argument : arguments_.named) {
      if (argument.first == name) return argument.second;
    }
    raise("KeyError: '", name, "'");
  }

  Interpreter& interpreter_;
  const Arguments& arguments_;
  int64_t next_ = 0;
};

}  // namespace

std::string percent_format(Interpreter& interpreter, std::string_view format, const Value& argument) {
  return PercentFormatter(interpreter, format, argument).run();
}

std::string brace_format(Interpreter& interpreter, std::string_view format, const Arguments& arguments) {
  return BraceFormatter(interpreter, arguments).run(format, false);
}

}  // namespace octet::jinja
