#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/utf8.h"

namespace octet {
namespace {

constexpr int64_t kMaxFileBytes = 64 << 20;  // the largest published tokenizer.json has 33 MB
constexpr size_t kMaxTextBytes = 1 << 30;    // positions in a piece are 32-bit

std::vector<AddedToken> with_normalized(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<AddedToken> chosen;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(chosen),
               [&](const AddedToken& token) { return token.normalized == normalized; });
  return chosen;
}

}  // namespace

Tokenizer Tokenizer::load(const std::string& tokenizer_json_path) {
  return parse(read_text_file(tokenizer_json_path, kMaxFileBytes), tokenizer_json_path);
}

Tokenizer Tokenizer::parse(std::string_view json, std::string_view where) {
  return Tokenizer(parse_tokenizer_json(json, where));
}

Tokenizer::Tokenizer(TokenizerParts parts)
    : vocabulary_(std::move(parts.vocabulary)),
      model_(std::move(parts.model)),
      normalizer_(std::move(parts.normalizer)),
      pre_tokenizer_(std::move(parts.pre_tokenizer)),
      raw_tokens_(with_normalized(parts.added_tokens, false)),
      normalized_tokens_(with_normalized(parts.added_tokens, true)),
      prefix_(std::move(parts.prefix)),
      suffix_(std::move(parts.suffix)) {}

std::vector<TokenId> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxTextBytes) {
    fail(ErrorCode::limit, "tokenizer: expected a text of at most ", kMaxTextBytes, " bytes, got ", text.size());
  }
  if (!utf8::is_valid(text)) return encode(utf8::replace_invalid(text), options);
  RegexSearch search(text.size());
  BpeEncoder encoder(model_, vocabulary_);
  std::vector<TokenId> ids;
  if (options.add_special_tokens) ids = prefix_;
  for (const TextPart& raw : raw_tokens_.split(text, options.match_special_tokens, search)) {
    if (raw.token) {
      ids.push_back(*raw.token);
      continue;
    }
    const std::string normalized = normalizer_.apply(raw.text);
    for (const TextPart& part : normalized_tokens_.split(normalized, options.match_special_tokens, search)) {
      if (part.token) {
        ids.push_back(*part.token);
      } else {
        encode_plain(part.text, search, encoder, ids);
      }
    }
  }
  if (options.add_special_tokens) ids.insert(ids.end(), suffix_.begin(), suffix_.end());
  return ids;
}

void Tokenizer::encode_plain(std::string_view text, RegexSearch& search, BpeEncoder& encoder,
                             std::vector<TokenId>& out) const {
  const Pieces pieces = pre_tokenizer_.split(text, search);
  for (const std::string_view piece : pieces.views) encoder.encode(piece, out);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (!options.skip_special || !is_special(id)) bytes += token_bytes(id);
  }
  return utf8::is_valid(bytes) ? bytes : utf8::replace_invalid(bytes);
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  const Vocabulary::Token* token = vocabulary_.token(id);
  return token != nullptr ? std::string_view(token->bytes) : std::string_view();
}

bool Tokenizer::is_special(TokenId id) const {
  const Vocabulary::Token* token = vocabulary_.token(id);
  return token != nullptr && token->kind == Vocabulary::Kind::added_special;
}

}  // namespace octet
