#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <random>

namespace octet {
namespace {

struct Model {
  BpeModel bpe;
  Vocabulary vocabulary;
};

// Random merges over the alphabet a, b, c: each joins two tokens made before it.
Model random_model(uint32_t seed, int num_merges) {
  std::mt19937 random(seed);
  std::vector<Vocabulary::Token> tokens;
  Model model;
  model.bpe.byte_ids.fill(TokenId{});
  const auto add = [&](std::string bytes) {
    tokens.push_back({std::move(bytes), Vocabulary::Kind::ordinary, true});
    return TokenId{static_cast<int32_t>(tokens.size()) - 1};
  };
  for (const char c : {'a', 'b', 'c'}) model.bpe.byte_ids[static_cast<uint8_t>(c)] = add({c});
  model.bpe.merges = MergeTable(static_cast<size_t>(num_merges));
  for (int32_t rank = 0; rank < num_merges; ++rank) {
    const TokenId left{static_cast<int32_t>(random() % tokens.size())};
    const TokenId right{static_cast<int32_t>(random() % tokens.size())};
    if (model.bpe.merges.find(left, right) != nullptr) continue;
    const auto& text = [&](TokenId id) { return tokens[static_cast<size_t>(id.value)].bytes; };
    model.bpe.merges.set({left, right, add(text(left) + text(right)), rank});
  }
  model.vocabulary = Vocabulary(std::move(tokens));
  return model;
}

// The definition, in quadratic time: merge the leftmost pair of the lowest rank until none is left.
std::vector<TokenId> encode_by_definition(const BpeModel& model, std::string_view piece) {
  std::vector<TokenId> ids;
  for (const char c : piece) ids.push_back(model.byte_ids[static_cast<uint8_t>(c)]);
  while (true) {
    const MergeTable::Merge* best = nullptr;
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto* merge = model.merges.find(ids[i], ids[i + 1]);
      if (merge == nullptr || (best != nullptr && merge->rank >= best->rank)) continue;
      best = merge;
      best_at = i;
    }
    if (best == nullptr) return ids;
    ids[best_at] = best->result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

TEST(Bpe, RandomModelsAndTextsAgreeWithTheDefinition) {
  std::mt19937 random(5);
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Model model = random_model(seed, 40);
    BpeEncoder encoder(model.bpe, model.vocabulary);
    for (int round = 0; round < 50; ++round) {
      std::string piece(random() % 60, ' ');
      for (char& c : piece) c = "abc"[random() % 3];
      std::vector<TokenId> ids;
      encoder.encode(piece, ids);
      EXPECT_EQ(ids, encode_by_definition(model.bpe, piece)) << piece << " seed " << seed;
    }
  }
}

TEST(MergeTable, EveryPairIsFoundAndNoOther) {
  constexpr int32_t kCount = 3000;
  MergeTable table(kCount);
  for (int32_t i = 0; i < kCount; ++i) table.set({TokenId{i}, TokenId{i * 7 % 1000}, TokenId{i}, i});
  for (int32_t i = 0; i < kCount; ++i) {
    const auto* found = table.find(TokenId{i}, TokenId{i * 7 % 1000});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->rank, i);
    EXPECT_EQ(table.find(TokenId{i}, TokenId{1000 + i}), nullptr);
  }
}

TEST(MergeTable, APairThatComesTwiceTakesTheLaterRank) {
  MergeTable table(2);
  table.set({TokenId{1}, TokenId{2}, TokenId{3}, 0});
  table.set({TokenId{1}, TokenId{2}, TokenId{3}, 1});
  EXPECT_EQ(table.find(TokenId{1}, TokenId{2})->rank, 1);
}

}  // namespace
}  // namespace octet
