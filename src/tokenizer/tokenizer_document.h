// tokenizer/tokenizer_document.h — the JSON of a tokenizer.json, with its two large members kept out of the tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace octet {

/// "model.vocab" and "model.merges" have hundreds of thousands of entries. As Json values they would take most of the
/// time and memory of loading, so they are read into plain lists; the tree holds an empty object and array instead.
struct TokenizerDocument {
  struct VocabEntry {
    std::string spelling;
    int32_t id;
  };
  struct MergeEntry {
    std::string left;
    std::string right;
  };
  Json tree;
  std::vector<VocabEntry> vocab;
  std::vector<MergeEntry> merges;
};

/// Parses the document; `where` names it in messages.
/// Throws   Error(bad_tokenizer) on malformed text, a duplicate key, nesting beyond JsonLimits, an id that is no
///          integer in [0, kMaxTokens), or a merge that is neither "a b" nor ["a", "b"].
TokenizerDocument read_tokenizer_document(std::string_view json, std::string_view where);

}  // namespace octet
