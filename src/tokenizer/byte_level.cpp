#include "tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "tokenizer/utf8.h"

namespace octet::byte_level {
namespace {

constexpr char32_t kEnd = 0x144;  // one past the last character that spells a byte

constexpr bool spelled_as_itself(int byte) {
  return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

struct Table {
  std::array<char32_t, 256> character{};  // of each byte
  std::array<int16_t, kEnd> byte{};       // of each character, -1: none
};

constexpr Table make_table() {
  Table table;
  table.byte.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t character = spelled_as_itself(byte) ? static_cast<char32_t>(byte) : next++;
    table.character[static_cast<size_t>(byte)] = character;
    table.byte[character] = static_cast<int16_t>(byte);
  }
  return table;
}

constexpr Table kTable = make_table();

}  // namespace

std::optional<std::string> bytes_of(std::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const utf8::Step step = utf8::first_character(spelling);
    if (step.form != utf8::Form::whole || step.code_point >= kEnd || kTable.byte[step.code_point] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(static_cast<uint8_t>(kTable.byte[step.code_point]));
    spelling.remove_prefix(step.length);
  }
  return bytes;
}

std::string spelling_of(std::string_view bytes) {
  std::string spelling;
  for (const char byte : bytes) utf8::append(kTable.character[static_cast<uint8_t>(byte)], spelling);
  return spelling;
}

}  // namespace octet::byte_level
