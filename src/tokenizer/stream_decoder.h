// tokenizer/stream_decoder.h — text of tokens as they are generated, in whole characters only.
#pragma once

#include <string>

#include "tokenizer/tokenizer.h"

namespace octet {

/// Decodes one sequence token by token. The results of all calls in a row are what Tokenizer::decode gives.
class StreamDecoder {
 public:
  /// The tokenizer must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options = {})
      : tokenizer_(&tokenizer), options_(options) {}

  /// The text that may be shown now: what was held back and this token, without an incomplete character at the end.
  std::string push(TokenId id);

  /// The rest: U+FFFD if a character is incomplete, else nothing. The decoder is then as new.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::string held_back_;  // start of a character, at most 3 bytes between calls
};

}  // namespace octet
