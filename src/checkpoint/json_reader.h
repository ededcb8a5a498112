// checkpoint/json_reader.h — reads large JSON of a known shape without building a tree: headers of safetensors files
// and shard indexes hold one entry a tensor, and a model may have 200,000 of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octet {

/// Takes values off the front of a JSON text in the order in which the caller expects them. Strict: RFC 8259, valid
/// UTF-8, nesting at most 64. The caller watches for duplicate keys. Every error is an Error(code) that names `where`,
/// the byte, what was expected and what was found. The text must outlive the reader.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::string_view where, ErrorCode code) : text_(text), where_(where), code_(code) {}

  /// Calls on_member(key) for each member of an object; it must take the member's value.
  template <class OnMember>
  void object(OnMember on_member) {
    expect('{');
    if (accept('}')) return;
    do {
      const std::string key = string();
      expect(':');
      on_member(key);
    } while (accept(','));
    expect('}');
  }

  /// Calls on_element() for each element of an array; it must take the element.
  template <class OnElement>
  void array(OnElement on_element) {
    expect('[');
    if (accept(']')) return;
    do {
      on_element();
    } while (accept(','));
    expect(']');
  }

  /// A string, with its escapes resolved, as UTF-8.
  std::string string();
  /// An integer in [0, 2^63).
  int64_t natural();
  /// Any value, which is checked and dropped.
  void skip_value() { skip_value(0); }
  /// Nothing but white space may follow.
  void end();
  /// Throws: expected ..., got the text at the present byte.
  [[noreturn]] void wrong(std::string_view expected) const;

 private:
  void skip_space();
  bool accept(char c);
  void expect(char c);
  void skip_value(int depth);
  void skip_word();
  void append_escape(std::string& out);
  uint32_t hex4();
  size_t utf8_length() const;

  std::string_view text_;
  std::string_view where_;
  ErrorCode code_;
  size_t at_ = 0;
};

}  // namespace octet
