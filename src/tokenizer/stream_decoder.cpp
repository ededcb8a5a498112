#include "tokenizer/stream_decoder.h"

#include "tokenizer/utf8.h"

namespace octet {

std::string StreamDecoder::push(TokenId id) {
  if (options_.skip_special && tokenizer_->is_special(id)) return {};
  held_back_ += tokenizer_->token_bytes(id);
  std::string text;
  held_back_.erase(0, utf8::append_replacing_invalid(held_back_, text));
  return text;
}

std::string StreamDecoder::finish() {
  const std::string text = utf8::replace_invalid(held_back_);
  held_back_.clear();
  return text;
}

}  // namespace octet
