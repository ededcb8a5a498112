// tokenizer/tokenizer.h — text to token ids and back, as a checkpoint's tokenizer.json defines it.
//
//   text -> added tokens cut out -> normalized -> split into pieces -> BPE of each piece's bytes -> ids
//
// Reads byte-level BPE, which is what the supported model families use; anything else is refused by name.
// The ids are those of Hugging Face's `tokenizers`, with two exceptions, both for rare characters that are newer than
// the Unicode tables of one side: categories are those of Unicode 14 here (PCRE2), and combining marks since about
// Unicode 9 are put in canonical order here (utf8proc), not there. One difference in text: an added token decodes as it
// is written, even where its characters would also spell bytes ("\u00e9").
// "truncation" and "padding" of the file are ignored: they serve training.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace octet {

struct EncodeOptions {
  bool match_special_tokens = true;  // false: special tokens in the text are plain text, as text of users should be
  bool add_special_tokens = false;   // put what the file's post_processor adds, usually BOS, around the ids
};

struct DecodeOptions {
  bool skip_special = false;  // leave out special tokens
};

/// What a tokenizer.json holds.
struct TokenizerParts {
  Vocabulary vocabulary;
  BpeModel model;
  std::vector<AddedToken> added_tokens;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::vector<TokenId> prefix;  // added in front by the post_processor
  std::vector<TokenId> suffix;  // and behind
};

/// Immutable; any number of threads may use one at the same time.
class Tokenizer {
 public:
  /// Reads a tokenizer.json.
  /// Throws   Error(bad_file) if it cannot be read, Error(bad_tokenizer) if it contradicts itself or is no
  ///          tokenizer.json, Error(unsupported) if it needs something that octet does not have; the message names
  ///          file and node.
  static Tokenizer load(const std::string& tokenizer_json_path);
  /// The same from memory; `where` names the document in messages.
  static Tokenizer parse(std::string_view json, std::string_view where);

  explicit Tokenizer(TokenizerParts parts);

  /// Ids of `text`. Bytes that are not UTF-8 are taken as U+FFFD.
  /// Throws   Error(limit) if the text has more than 1 GiB, or if a regular expression of the file takes too long.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;

  /// Text of `ids`: their bytes in a row, with U+FFFD for what is not UTF-8. Unknown ids stand for nothing.
  std::string decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  /// The token whose text is exactly `content` (plain text: " the", not the file's spelling of the space).
  std::optional<TokenId> find(std::string_view content) const { return vocabulary_.find(content); }

  /// One more than the largest id. A model's vocabulary may be larger; the ids beyond are padding.
  int32_t vocab_size() const { return vocabulary_.size(); }

  /// Bytes of one token, which need not be whole characters; empty for an id that no token has.
  std::string_view token_bytes(TokenId id) const;

  /// True for tokens that decode leaves out under skip_special.
  bool is_special(TokenId id) const;

 private:
  void encode_plain(std::string_view text, RegexSearch& search, BpeEncoder& encoder, std::vector<TokenId>& out) const;

  Vocabulary vocabulary_;
  BpeModel model_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  AddedTokens raw_tokens_;         // searched before normalization
  AddedTokens normalized_tokens_;  // searched after it
  std::vector<TokenId> prefix_;
  std::vector<TokenId> suffix_;
};

}  // namespace octet
