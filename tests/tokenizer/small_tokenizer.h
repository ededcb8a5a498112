// A tokenizer.json small enough to read, as a document that tests change.
#pragma once

#include <string>

#include "base/json.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/tokenizer.h"

namespace octet::test {

/// 256 tokens of one byte each (id = byte), then ab 256, abc 257, " a" 258, and the added tokens <s> 259 (special) and
/// <tool> 260 (not special). One Split at runs of white space, kept with ByteLevel.
inline Json small_tokenizer() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    const char as_char = static_cast<char>(static_cast<unsigned char>(byte));
    vocab[byte_level::spelling_of({&as_char, 1})] = byte;
  }
  vocab["ab"] = 256;
  vocab["abc"] = 257;
  vocab["\u0120a"] = 258;
  const auto added = [](int id, const char* content, bool special) {
    return Json{{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", special}};
  };
  return {
      {"version", "1.0"},
      {"added_tokens", {added(259, "<s>", true), added(260, "<tool>", false)}},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"Regex", " ?\\S+|\\s+"}}}, {"behavior", "Isolated"}, {"invert", false}},
          {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}}}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model",
       {{"type", "BPE"},
        {"vocab", std::move(vocab)},
        {"merges", Json::array({"a b", Json::array({"ab", "c"}), "\u0120 a"})}}},
  };
}

inline Tokenizer parse(const Json& document) { return Tokenizer::parse(document.dump(), "tokenizer.json"); }

}  // namespace octet::test
