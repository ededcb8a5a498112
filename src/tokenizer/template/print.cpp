#include "tokenizer/template/print.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "tokenizer/template/text.h"

namespace octet::jinja {
namespace {

void append_repr(std::string& out, const Value& value);

void append_items(std::string& out, const std::vector<Value>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, items[i]);
  }
}

void append_sequence(std::string& out, const Sequence& sequence) {
  switch (sequence.form) {
    case Sequence::Form::tuple:
      out += '(';
      append_items(out, sequence.items);
      out += sequence.items.size() == 1 ? ",)" : ")";
      return;
    case Sequence::Form::range:
      out += "range(" + std::to_string(sequence.range_start) + ", " + std::to_string(sequence.range_stop);
      if (sequence.range_step != 1) out += ", " + std::to_string(sequence.range_step);
      out += ')';
      return;
    case Sequence::Form::list:
      break;
    case Sequence::Form::keys:
      out += "dict_keys(";
      break;
    case Sequence::Form::values:
      out += "dict_values(";
      break;
    case Sequence::Form::items:
      out += "dict_items(";
      break;
  }
  out += '[';
  append_items(out, sequence.items);
  out += sequence.form == Sequence::Form::list ? "]" : "])";
}

void append_dict(std::string& out, const Dict& dict) {
  out += '{';
  for (size_t i = 0; i < dict.size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, dict.entries()[i].first);
    out += ": ";
    append_repr(out, dict.entries()[i].second);
  }
  out += '}';
}

void append_repr(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      out += "Undefined";
      break;
    case Kind::none:
      out += "None";
      break;
    case Kind::boolean:
      out += value.as_boolean() ? "True" : "False";
      break;
    case Kind::integer:
      out += std::to_string(value.as_integer());
      break;
    case Kind::big_integer:
      out += value.digits();
      break;
    case Kind::real:
      out += repr_real(value.as_real());
      break;
    case Kind::text:
      out += value.is_markup() ? "Markup(" + repr_text(value.as_text()) + ")" : repr_text(value.as_text());
      break;
    case Kind::sequence:
      append_sequence(out, value.as_sequence());
      break;
    case Kind::dict:
      append_dict(out, value.as_dict());
      break;
    case Kind::iterator:
      out += "<generator object>";
      break;
    case Kind::object:
      out += value.as_object()->repr();
      break;
  }
}

// Writes one value as JSON text.
class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, int64_t max_bytes) : style_(style), max_bytes_(max_bytes) {}

  void write(const Value& value) {
    if (static_cast<int64_t>(out_.size()) > max_bytes_) exhausted("tojson: the text passes the limit of output bytes");
    switch (value.kind()) {
      case Kind::none:
        out_ += "null";
        return;
      case Kind::boolean:
        out_ += value.as_boolean() ? "true" : "false";
        return;
      case Kind::integer:
        out_ += std::to_string(value.as_integer());
        return;
      case Kind::big_integer:
        out_ += value.digits();
        return;
      case Kind::real:
        out_ += number(value.as_real());
        return;
      case Kind::text:
        write_text(value.as_text());
        return;
      case Kind::sequence:
        if (value.as_sequence().form == Sequence::Form::list || value.as_sequence().form == Sequence::Form::tuple) {
          return write_array(value.as_sequence().items);
        }
        break;
      case Kind::dict:
        return write_object(value.as_dict());
      default:
        break;
    }
    raise("Object of type ", type_name(value), " is not JSON serializable");
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string number(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return repr_real(value);
  }

  void escape(char32_t c) {
    std::array<char, 8> code{};
    if (c >= 0x10000) {  // a surrogate pair
      escape(0xD800 + ((c - 0x10000) >> 10));
      escape(0xDC00 + ((c - 0x10000) & 0x3FF));
      return;
    }
    std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
    out_ += code.data();
  }

  void write_text(std::string_view text) {
    static constexpr std::string_view kEscaped = "\"\\\n\r\t\b\f";
    static constexpr std::string_view kLetters = "\"\\nrtbf";
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      const char32_t c = next_code_point(text, at);
      const size_t known = c < 0x80 ? kEscaped.find(static_cast<char>(c)) : std::string_view::npos;
      if (known != std::string_view::npos) {
        out_ += '\\';
        out_ += kLetters[known];
      } else if (c < 0x20 || (style_.ensure_ascii && c > 0x7e)) {
        escape(c);
      } else {
        out_ += text.substr(begin, at - begin);
      }
    }
    out_ += '"';
  }

  void new_line() {
    if (!style_.indent) return;
    out_ += '\n';
    for (int i = 0; i < depth_; ++i) out_ += *style_.indent;
  }

  template <class WriteItem>
  void write_group(char open, char close, size_t count, WriteItem write_item) {
    out_ += open;
    ++depth_;
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line();
      write_item(i);
    }
    --depth_;
    if (count > 0) new_line();
    out_ += close;
  }

  void write_array(const std::vector<Value>& items) {
    write_group('[', ']', items.size(), [&](size_t i) { write(items[i]); });
  }

  void write_object(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(),
                       [](const Dict::Entry* a, const Dict::Entry* b) { return less(a->first, b->first); });
    }
    write_group('{', '}', entries.size(), [&](size_t i) {
      write_key(entries[i]->first);
      out_ += style_.key_separator;
      write(entries[i]->second);
    });
  }

  void write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::text:
        return write_text(key.as_text());
      case Kind::none:
        return write_text("null");
      case Kind::boolean:
        return write_text(key.as_boolean() ? "true" : "false");
      case Kind::integer:
        return write_text(std::to_string(key.as_integer()));
      case Kind::big_integer:
        return write_text(key.digits());
      case Kind::real:
        return write_text(number(key.as_real()));
      default:
        raise("keys must be str, int, float, bool or None, not ", type_name(key));
    }
  }

  const JsonStyle& style_;
  const int64_t max_bytes_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string to_str(const Value& value) {
  if (value.is_text()) return value.as_text();
  if (value.is_undefined()) return {};
  return to_repr(value);
}

std::string to_repr(const Value& value) {
  std::string out;
  append_repr(out, value);
  return out;
}

std::string to_json(const Value& value, const JsonStyle& style, int64_t max_bytes) {
  JsonWriter writer(style, max_bytes);
  writer.write(value);
  return writer.take();
}

}  // namespace octet::jinja
