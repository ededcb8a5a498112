// tokenizer/vocabulary.h — token ids and the bytes that they stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace octet {

inline constexpr int64_t kMaxTokens = 1 << 20;  // ids are below this; the largest published vocabulary has 262,144

/// Immutable once built. Ids may have gaps; such an id stands for no bytes.
class Vocabulary {
 public:
  enum class Kind : uint8_t {
    gap,            // no token has this id
    ordinary,       // made by merges
    added,          // recognized in text as a whole, shown
    added_special,  // recognized in text as a whole, hidden where special tokens are skipped
  };
  struct Token {
    std::string bytes;
    Kind kind = Kind::gap;
    bool from_merges = false;  // its bytes can be a whole piece of text; also true of an added token that the model has
  };

  Vocabulary() = default;
  /// tokens   indexed by id. Where two have the same bytes, the first is found.
  explicit Vocabulary(std::vector<Token> tokens);
  Vocabulary(Vocabulary&&) = default;  // the elements of a moved vector stay where they are, so the maps stay valid
  Vocabulary& operator=(Vocabulary&&) = default;

  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  /// nullptr if no token has this id.
  const Token* token(TokenId id) const;
  /// The token whose bytes are `bytes`; an added one comes before an ordinary one.
  std::optional<TokenId> find(std::string_view bytes) const;
  /// The token of the BPE model whose bytes are `bytes`.
  std::optional<TokenId> find_from_merges(std::string_view bytes) const;

 private:
  using Map = std::unordered_map<std::string_view, TokenId>;
  std::vector<Token> tokens_;
  Map from_merges_;
  Map others_;
};

}  // namespace octet
