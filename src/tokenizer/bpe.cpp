#include "tokenizer/bpe.h"

#include <algorithm>
#include <bit>

namespace octet {

MergeTable::MergeTable(size_t num_merges) : slots_(std::bit_ceil(2 * num_merges + 1)) {}

size_t MergeTable::slot(TokenId left, TokenId right) const {
  const uint64_t key = uint64_t{static_cast<uint32_t>(left.value)} << 32 | static_cast<uint32_t>(right.value);
  const size_t mask = slots_.size() - 1;
  // Fibonacci hashing: the high half of the product depends on every bit of the key.
  size_t at = static_cast<size_t>(key * 0x9E3779B97F4A7C15u >> 32) & mask;
  while (slots_[at].rank >= 0 && (slots_[at].left != left || slots_[at].right != right)) at = (at + 1) & mask;
  return at;
}

void MergeTable::set(const Merge& merge) { slots_[slot(merge.left, merge.right)] = merge; }

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const {
  const Merge& found = slots_[slot(left, right)];
  return found.rank >= 0 ? &found : nullptr;
}

void BpeEncoder::encode(std::string_view piece, std::vector<TokenId>& out) {
  if (model_.ignore_merges) {
    if (const auto whole = vocabulary_.find_from_merges(piece)) return out.push_back(*whole);
  }
  start(piece);
  merge_all();
  for (const Symbol& symbol : symbols_) {
    if (symbol.id.value >= 0) out.push_back(symbol.id);
  }
}

// One symbol a byte.
void BpeEncoder::start(std::string_view piece) {
  symbols_.clear();
  bool after_unknown = false;
  for (const char byte : piece) {
    TokenId id = model_.byte_ids[static_cast<uint8_t>(byte)];
    const bool is_unknown = id.value < 0;
    if (is_unknown) {
      if (!model_.unknown || (after_unknown && model_.fuse_unknown)) continue;
      id = *model_.unknown;
    }
    after_unknown = is_unknown;
    const auto at = static_cast<int32_t>(symbols_.size());
    symbols_.push_back({id, at - 1, at + 1});
  }
  if (!symbols_.empty()) symbols_.back().next = -1;
}

std::optional<BpeEncoder::Candidate> BpeEncoder::candidate_at(int32_t position) const {
  const Symbol& left = symbols_[static_cast<size_t>(position)];
  if (left.next < 0) return std::nullopt;
  const auto* merge = model_.merges.find(left.id, symbols_[static_cast<size_t>(left.next)].id);
  if (merge == nullptr) return std::nullopt;
  return Candidate{uint64_t{static_cast<uint32_t>(merge->rank)} << 32 | static_cast<uint32_t>(position), merge};
}

void BpeEncoder::push(int32_t position) {
  const auto candidate = candidate_at(position);
  if (!candidate) return;
  heap_.push_back(*candidate);
  std::push_heap(heap_.begin(), heap_.end());
}

// A symbol only ever grows, so equal ids mean that neither has changed since the candidate was found.
bool BpeEncoder::is_current(const Candidate& candidate) const {
  const Symbol& left = symbols_[static_cast<size_t>(candidate.position())];
  return left.id == candidate.merge->left && left.next >= 0 &&
         symbols_[static_cast<size_t>(left.next)].id == candidate.merge->right;
}

void BpeEncoder::merge_all() {
  heap_.clear();
  for (int32_t i = 0; i < static_cast<int32_t>(symbols_.size()); ++i) {
    if (const auto candidate = candidate_at(i)) heap_.push_back(*candidate);
  }
  std::make_heap(heap_.begin(), heap_.end());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Candidate best = heap_.back();
    heap_.pop_back();
    if (!is_current(best)) continue;
    Symbol& left = symbols_[static_cast<size_t>(best.position())];
    Symbol& right = symbols_[static_cast<size_t>(left.next)];
    left.id = best.merge->result;
    left.next = right.next;
    right.id = TokenId{};
    if (left.next >= 0) symbols_[static_cast<size_t>(left.next)].previous = best.position();
    if (left.previous >= 0) push(left.previous);
    push(best.position());
  }
}

}  // namespace octet
