#include "tokenizer/tokenizer_json.h"

#include <algorithm>
#include <utility>

#include "tokenizer/byte_level.h"
#include "tokenizer/tokenizer_document.h"

namespace octet {
namespace {

constexpr size_t kMaxAddedTokenBytes = 1024;  // bounds the time that the search takes in each place of a text

// Refuses what would change ids and what byte-level BPE does not use.
void check_model(const JsonNode& model) {
  const auto refuse = [&](const char* key, std::string_view supported) {
    fail(ErrorCode::unsupported, model.at(key).place(), ": ", model.value()[key].dump(),
         " is not supported; octet reads ", supported);
  };
  if (model.has("type") && model.at("type").string() != "BPE") refuse("type", "BPE");
  if (model.boolean_or("byte_fallback", false)) refuse("byte_fallback", "byte-level BPE, where this is false");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (model.has(key) && !model.at(key).string().empty()) refuse(key, "BPE without prefixes and suffixes");
  }
  if (!model.has("dropout")) return;
  if (!model.at("dropout").value().is_number()) model.at("dropout").mismatch("a number or null");
  if (model.at("dropout").value().get<double>() != 0.0) refuse("dropout", "BPE without dropout");
}

Vocabulary::Token model_token(const std::string& spelling) {
  auto bytes = byte_level::bytes_of(spelling);
  const bool from_merges = bytes.has_value();
  return {from_merges ? *std::move(bytes) : spelling, Vocabulary::Kind::ordinary, from_merges};
}

// Ids by spelling, for the merges only: afterwards everything is bytes.
class Spellings {
 public:
  explicit Spellings(const std::vector<TokenizerDocument::VocabEntry>& vocab, const JsonNode& node) {
    ids_.reserve(vocab.size());
    for (const auto& entry : vocab) {
      if (ids_.emplace(entry.spelling, TokenId{entry.id}).second) continue;
      node.mismatch("each token once, not \"" + entry.spelling + "\" twice");
    }
  }
  std::optional<TokenId> find(std::string_view spelling) const {
    const auto found = ids_.find(spelling);
    return found != ids_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  std::unordered_map<std::string_view, TokenId> ids_;
};

std::vector<Vocabulary::Token> vocabulary_tokens(const std::vector<TokenizerDocument::VocabEntry>& vocab,
                                                 const JsonNode& node) {
  if (vocab.empty()) node.mismatch("tokens");
  const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  const int32_t max_id = std::max_element(vocab.begin(), vocab.end(), by_id)->id;
  std::vector<Vocabulary::Token> tokens(static_cast<size_t>(max_id) + 1);
  for (const auto& entry : vocab) {
    Vocabulary::Token& token = tokens[static_cast<size_t>(entry.id)];
    if (token.kind != Vocabulary::Kind::gap) {
      node.mismatch("ids that no other token has, not " + std::to_string(entry.id) + " for \"" + entry.spelling + "\"");
    }
    token = model_token(entry.spelling);
  }
  return tokens;
}

AddedToken parse_added_token(const JsonNode& node) {
  AddedToken token;
  token.id = TokenId{static_cast<int32_t>(node.at("id").integer_below(kMaxTokens))};
  token.content = node.at("content").string();
  token.single_word = node.boolean_or("single_word", false);
  token.lstrip = node.boolean_or("lstrip", false);
  token.rstrip = node.boolean_or("rstrip", false);
  token.special = node.boolean_or("special", false);
  token.normalized = node.boolean_or("normalized", !token.special);
  const size_t size = token.content.size();
  if (size == 0 || size > kMaxAddedTokenBytes) {
    node.at("content").mismatch("1 to " + std::to_string(kMaxAddedTokenBytes) + " bytes");
  }
  return token;
}

// An added token may repeat one of the model's, spelled alike; else its id must be free.
void add_to_vocabulary(const AddedToken& added, const std::string& normalized, const JsonNode& node,
                       std::vector<Vocabulary::Token>& tokens) {
  const auto id = static_cast<size_t>(added.id.value);
  if (id >= tokens.size()) tokens.resize(id + 1);
  Vocabulary::Token& token = tokens[id];
  const bool is_free = token.kind == Vocabulary::Kind::gap;
  const bool repeats_model =
      token.kind == Vocabulary::Kind::ordinary && token.bytes == model_token(added.content).bytes;
  if (!is_free && !repeats_model) node.at("id").mismatch("an id that no other token has");
  token.kind = added.special ? Vocabulary::Kind::added_special : Vocabulary::Kind::added;
  if (is_free) token.bytes = normalized;
}

std::vector<AddedToken> parse_added_tokens(const JsonNode& root, const Normalizer& normalizer,
                                           std::vector<Vocabulary::Token>& tokens) {
  std::vector<AddedToken> added;
  if (!root.has("added_tokens")) return added;
  const JsonNode list = root.at("added_tokens");
  added.reserve(list.array().size());
  for (size_t i = 0; i < list.array().size(); ++i) {
    const JsonNode node = list.at(i);
    AddedToken token = parse_added_token(node);
    const std::string normalized = token.normalized ? normalizer.apply(token.content) : token.content;
    add_to_vocabulary(token, normalized, node, tokens);
    token.content = normalized;
    added.push_back(std::move(token));
  }
  return added;
}

MergeTable merge_table(const std::vector<TokenizerDocument::MergeEntry>& entries, const Spellings& spellings,
                       const JsonNode& node) {
  MergeTable merges(entries.size());
  int32_t rank = 0;
  for (const auto& entry : entries) {
    const auto left = spellings.find(entry.left);
    const auto right = spellings.find(entry.right);
    const auto result = spellings.find(entry.left + entry.right);
    if (!left || !right || !result) {
      const Json got = entry.left + " " + entry.right;
      JsonNode(got, node.place() + "[" + std::to_string(rank) + "]")
          .mismatch("two tokens of the vocabulary that make a third");
    }
    merges.set({*left, *right, *result, rank++});
  }
  return merges;
}

BpeModel parse_model(const TokenizerDocument& document, const JsonNode& model) {
  const Spellings spellings(document.vocab, model.at("vocab"));
  BpeModel bpe;
  for (int byte = 0; byte < 256; ++byte) {
    const char as_char = static_cast<char>(static_cast<uint8_t>(byte));
    const auto id = spellings.find(byte_level::spelling_of({&as_char, 1}));
    bpe.byte_ids[static_cast<size_t>(byte)] = id.value_or(TokenId{});
  }
  bpe.merges = merge_table(document.merges, spellings, model.at("merges"));
  bpe.ignore_merges = model.boolean_or("ignore_merges", false);
  bpe.fuse_unknown = model.boolean_or("fuse_unk", false);
  if (model.has("unk_token")) {
    bpe.unknown = spellings.find(model.at("unk_token").string());
    if (!bpe.unknown) model.at("unk_token").mismatch("a token of the vocabulary");
  }
  return bpe;
}

}  // namespace

TokenizerParts parse_tokenizer_json(std::string_view json, std::string_view where) {
  const TokenizerDocument document = read_tokenizer_document(json, where);
  const JsonNode root(document.tree, std::string(where) + ": ");
  const JsonNode model = root.at("model");
  check_model(model);
  model.at("vocab").object();
  model.at("merges").array();
  TokenizerParts parts;
  std::vector<Vocabulary::Token> tokens = vocabulary_tokens(document.vocab, model.at("vocab"));
  parts.model = parse_model(document, model);
  parts.normalizer = parse_normalizer(root);
  parts.added_tokens = parse_added_tokens(root, parts.normalizer, tokens);
  parts.vocabulary = Vocabulary(std::move(tokens));
  parts.pre_tokenizer = parse_pre_tokenizer(root);
  parse_post_processor(root, parts);
  check_decoder(root);
  return parts;
}

}  // namespace octet
