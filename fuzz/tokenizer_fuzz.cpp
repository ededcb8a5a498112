// libFuzzer target: a tokenizer.json, a zero byte, and a text that it encodes. Not part of the build:
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Isrc fuzz/tokenizer_fuzz.cpp src/tokenizer/*.cpp \
//     src/base/{json,error}.cpp -lpcre2-8 -lutf8proc -o tokenizer_fuzz
//   ./tokenizer_fuzz CORPUS tests/tokenizer/data
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\0');
  const std::string_view json = input.substr(0, end);
  const std::string_view text = end == std::string_view::npos ? input : input.substr(end + 1);
  try {
    const octet::Tokenizer tokenizer = octet::Tokenizer::parse(json, "fuzz");
    octet::StreamDecoder stream(tokenizer, {.skip_special = true});
    for (const octet::TokenId id : tokenizer.encode(text, {.add_special_tokens = true})) stream.push(id);
    stream.finish();
  } catch (const octet::Error& error) {
    if (error.code() == octet::ErrorCode::internal) throw;  // our own mistake
  }
  return 0;
}
