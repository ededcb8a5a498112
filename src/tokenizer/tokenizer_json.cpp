#include "tokenizer/tokenizer_json.h"

#include <algorithm>
#include <utility>

#include "tokenizer/byte_level.h"

namespace octet {
namespace {

constexpr size_t kMaxAddedTokenBytes = 1024;  // bounds the time that the search takes in each place of a text

int32_t parse_id(const JsonNode& id) { return static_cast<int32_t>(id.integer_below(kMaxTokens)); }

// The members of an object. Json::items() would copy each key.
const Json::object_t& entries(const JsonNode& node) { return node.object().get_ref<const Json::object_t&>(); }

// Where member `key` of the object at `node` stands, for messages; built only when needed.
JsonNode member(const JsonNode& node, const std::string& key, const Json& value) {
  return {value, node.place() + "[\"" + key + "\"]"};
}

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

// "vocab": {"spelling": id}
std::vector<Vocabulary::Token> parse_vocab(const JsonNode& vocab) {
  int32_t max_id = -1;
  for (const auto& [spelling, id] : entries(vocab)) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= static_cast<uint64_t>(kMaxTokens)) {
      parse_id(member(vocab, spelling, id));  // throws
    }
    max_id = std::max(max_id, id.get<int32_t>());
  }
  if (max_id < 0) vocab.mismatch("tokens");
  std::vector<Vocabulary::Token> tokens(static_cast<size_t>(max_id) + 1);
  for (const auto& [spelling, id] : entries(vocab)) {
    Vocabulary::Token& token = tokens[id.get<size_t>()];
    if (token.kind != Vocabulary::Kind::gap) member(vocab, spelling, id).mismatch("an id that no other token has");
    token = model_token(spelling);
  }
  return tokens;
}

AddedToken parse_added_token(const JsonNode& node) {
  AddedToken token;
  token.id = TokenId{parse_id(node.at("id"))};
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

// One entry of "merges": "a b", or ["a", "b"].
std::pair<std::string_view, std::string_view> merge_sides(const Json& entry, const JsonNode& list, size_t index) {
  if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
    return {entry[0].get_ref<const std::string&>(), entry[1].get_ref<const std::string&>()};
  }
  if (entry.is_string()) {
    const std::string_view text = entry.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string_view::npos && space == text.rfind(' ')) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  list.at(index).mismatch(R"("a b" or ["a", "b"])");
}

// Ids by spelling, for the merges only: afterwards everything is bytes.
class Spellings {
 public:
  explicit Spellings(const JsonNode& vocab) {
    ids_.reserve(vocab.object().size());
    for (const auto& [spelling, id] : entries(vocab)) ids_.emplace(spelling, TokenId{id.get<int32_t>()});
  }
  std::optional<TokenId> find(std::string_view spelling) const {
    const auto found = ids_.find(spelling);
    return found != ids_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  std::unordered_map<std::string_view, TokenId> ids_;
};

MergeTable parse_merges(const JsonNode& list, const Spellings& spellings) {
  const size_t count = list.array().size();
  MergeTable merges(count);
  std::string joined;
  for (size_t rank = 0; rank < count; ++rank) {
    const auto sides = merge_sides(list.value()[rank], list, rank);
    joined.assign(sides.first).append(sides.second);
    const auto left = spellings.find(sides.first);
    const auto right = spellings.find(sides.second);
    const auto result = spellings.find(joined);
    if (!left || !right || !result) list.at(rank).mismatch("two tokens of the vocabulary that make a third");
    merges.set({*left, *right, *result, static_cast<int32_t>(rank)});
  }
  return merges;
}

BpeModel parse_model(const JsonNode& model) {
  const Spellings spellings(model.at("vocab"));
  BpeModel bpe;
  for (int byte = 0; byte < 256; ++byte) {
    const char as_char = static_cast<char>(static_cast<uint8_t>(byte));
    const auto id = spellings.find(byte_level::spelling_of({&as_char, 1}));
    bpe.byte_ids[static_cast<size_t>(byte)] = id.value_or(TokenId{});
  }
  bpe.merges = parse_merges(model.at("merges"), spellings);
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
  const Json document = parse_json(json, where, ErrorCode::bad_tokenizer);
  const JsonNode root(document, std::string(where) + ": ");
  const JsonNode model = root.at("model");
  check_model(model);
  TokenizerParts parts;
  std::vector<Vocabulary::Token> tokens = parse_vocab(model.at("vocab"));
  parts.model = parse_model(model);
  parts.normalizer = parse_normalizer(root);
  parts.added_tokens = parse_added_tokens(root, parts.normalizer, tokens);
  parts.vocabulary = Vocabulary(std::move(tokens));
  parts.pre_tokenizer = parse_pre_tokenizer(root);
  parse_post_processor(root, parts);
  check_decoder(root);
  return parts;
}

}  // namespace octet
