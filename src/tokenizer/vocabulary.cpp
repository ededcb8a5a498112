#include "tokenizer/vocabulary.h"

namespace octet {

Vocabulary::Vocabulary(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  from_merges_.reserve(tokens_.size());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    const TokenId id{static_cast<int32_t>(i)};
    if (token.from_merges) from_merges_.emplace(token.bytes, id);
    if (token.kind == Kind::gap || (token.from_merges && token.kind == Kind::ordinary)) continue;
    others_.emplace(token.bytes, id);
  }
}

const Vocabulary::Token* Vocabulary::token(TokenId id) const {
  if (id.value < 0 || id.value >= size()) return nullptr;
  const Token& token = tokens_[static_cast<size_t>(id.value)];
  return token.kind == Kind::gap ? nullptr : &token;
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes) const {
  const auto other = others_.find(bytes);
  return other != others_.end() ? std::optional(other->second) : find_from_merges(bytes);
}

std::optional<TokenId> Vocabulary::find_from_merges(std::string_view bytes) const {
  const auto found = from_merges_.find(bytes);
  return found != from_merges_.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace octet
