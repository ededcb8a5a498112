// tokenizer/bpe.h — byte-pair encoding: from the bytes of one piece to token ids.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "tokenizer/vocabulary.h"

namespace octet {

/// Which two tokens merge into which, and how early. A hash table with open addressing.
class MergeTable {
 public:
  struct Merge {
    TokenId left;
    TokenId right;
    TokenId result;
    int32_t rank = -1;  // lower merges first
  };

  MergeTable() : MergeTable(0) {}
  explicit MergeTable(size_t num_merges);
  /// At most num_merges different pairs; a pair that is there already takes the new rank and result.
  void set(const Merge& merge);
  /// nullptr if the two never merge.
  const Merge* find(TokenId left, TokenId right) const;

 private:
  size_t slot(TokenId left, TokenId right) const;

  std::vector<Merge> slots_;  // a power of two, at most half full; rank -1: empty
};

/// The BPE model of a tokenizer.json whose alphabet is bytes.
struct BpeModel {
  std::array<TokenId, 256> byte_ids{};  // token of each single byte, value -1: none
  MergeTable merges;
  bool ignore_merges = false;      // a piece that is a token as a whole is not taken apart
  std::optional<TokenId> unknown;  // stands for bytes without a token; nullopt: such bytes are dropped
  bool fuse_unknown = false;       // one `unknown` for neighbouring such bytes
};

/// Encodes pieces one after the other with buffers that it keeps; belongs to one thread.
class BpeEncoder {
 public:
  BpeEncoder(const BpeModel& model, const Vocabulary& vocabulary) : model_(model), vocabulary_(vocabulary) {}

  /// Appends the ids of `piece`: starting from single bytes, the neighbours with the lowest rank are merged, the
  /// leftmost first, until none merge. Time O(n log n).
  void encode(std::string_view piece, std::vector<TokenId>& out);

 private:
  struct Symbol {
    TokenId id;  // value -1: merged into the symbol on its left
    int32_t previous;
    int32_t next;
  };
  struct Candidate {
    uint64_t order;  // rank, then position
    const MergeTable::Merge* merge;
    int32_t position() const { return static_cast<int32_t>(order & 0xFFFFFFFFu); }
    bool operator<(const Candidate& other) const { return order > other.order; }  // the heap's top is the lowest
  };

  void start(std::string_view piece);
  void merge_all();
  bool is_current(const Candidate& candidate) const;
  std::optional<Candidate> candidate_at(int32_t position) const;
  void push(int32_t position);

  const BpeModel& model_;
  const Vocabulary& vocabulary_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace octet
