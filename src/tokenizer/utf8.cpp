#include "tokenizer/utf8.h"

#include <cstdint>

namespace octet::utf8 {
namespace {

struct Lead {
  size_t length = 0;          // of the whole character; 0: no character starts with this byte
  uint8_t second_min = 0x80;  // bounds of the second byte: they exclude overlong forms,
  uint8_t second_max = 0xBF;  // surrogates and values above U+10FFFF
};

constexpr Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {.length = 1};
  if (byte >= 0xC2 && byte <= 0xDF) return {.length = 2};
  if (byte == 0xE0) return {.length = 3, .second_min = 0xA0};
  if (byte == 0xED) return {.length = 3, .second_max = 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {.length = 3};
  if (byte == 0xF0) return {.length = 4, .second_min = 0x90};
  if (byte >= 0xF1 && byte <= 0xF3) return {.length = 4};
  if (byte == 0xF4) return {.length = 4, .second_max = 0x8F};
  return {};
}

constexpr bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

}  // namespace

Step first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.length == 0) return {Form::invalid, 1, 0};
  if (lead.length == 1) return {Form::whole, 1, byte(0)};
  char32_t code_point = byte(0) & (0x7Fu >> lead.length);
  for (size_t i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {Form::incomplete, i, 0};
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte(i) < min || byte(i) > max) return {Form::invalid, i, 0};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  return {Form::whole, lead.length, code_point};
}

size_t last_character_length(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && is_continuation(text[text.size() - length])) ++length;
  return length;
}

bool is_valid(std::string_view text) {
  while (!text.empty()) {
    const Step step = first_character(text);
    if (step.form != Form::whole) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

size_t append_replacing_invalid(std::string_view text, std::string& out) {
  size_t taken = 0;
  while (taken < text.size()) {
    const Step step = first_character(text.substr(taken));
    if (step.form == Form::incomplete) break;
    out += step.form == Form::whole ? text.substr(taken, step.length) : kReplacement;
    taken += step.length;
  }
  return taken;
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (append_replacing_invalid(text, out) < text.size()) out += kReplacement;
  return out;
}

void append(char32_t code_point, std::string& out) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<uint8_t>(byte)); };
  const auto put_continuation = [&](int shift) { put(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
    put_continuation(0);
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put_continuation(6);
    put_continuation(0);
  } else {
    put(0xF0 | code_point >> 18);
    put_continuation(12);
    put_continuation(6);
    put_continuation(0);
  }
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace octet::utf8
