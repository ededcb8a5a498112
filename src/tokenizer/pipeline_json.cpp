// The parts of tokenizer.json that are trees of typed steps: normalizer, pre_tokenizer, post_processor, decoder.
#include <algorithm>
#include <array>
#include <utility>

#include "tokenizer/tokenizer_json.h"

namespace octet {
namespace {

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The leaves of a tree of "Sequence" nodes, in order. A node that is absent or null has none.
std::vector<JsonNode> leaves(const JsonNode& parent, const char* key, const char* children_key) {
  if (!parent.has(key)) return {};
  std::vector<JsonNode> pending = {parent.at(key)};
  std::vector<JsonNode> found;
  while (!pending.empty()) {
    const JsonNode node = std::move(pending.back());
    pending.pop_back();
    if (node.at("type").string() != "Sequence") {
      found.push_back(node);
      continue;
    }
    const JsonNode children = node.at(children_key);
    for (size_t i = children.array().size(); i > 0; --i) pending.push_back(children.at(i - 1));
  }
  return found;
}

[[noreturn]] void unsupported(const JsonNode& node, std::string_view supported) {
  fail(ErrorCode::unsupported, node.place(), ": type \"", node.at("type").string(), "\" is not supported; octet reads ",
       supported);
}

// The entry of `table` whose first member is `name`.
template <class Value, size_t kSize>
Value choose(const std::array<std::pair<std::string_view, Value>, kSize>& table, const JsonNode& name) {
  const auto entry =
      std::find_if(table.begin(), table.end(), [&](const auto& candidate) { return candidate.first == name.string(); });
  if (entry != table.end()) return entry->second;
  std::string names;
  for (const auto& candidate : table) names += (names.empty() ? "" : ", ") + std::string(candidate.first);
  name.mismatch("one of " + names);
}

PreTokenizer::Split parse_split(const JsonNode& node) {
  using Behavior = PreTokenizer::Behavior;
  constexpr std::array<std::pair<std::string_view, Behavior>, 5> kBehaviors = {{
      {"Removed", Behavior::removed},
      {"Isolated", Behavior::isolated},
      {"MergedWithPrevious", Behavior::merged_with_previous},
      {"MergedWithNext", Behavior::merged_with_next},
      {"Contiguous", Behavior::contiguous},
  }};
  const Behavior behavior = choose(kBehaviors, node.at("behavior"));
  const bool invert = node.boolean_or("invert", false);
  const JsonNode pattern = node.at("pattern");
  if (pattern.has("Regex")) {
    const JsonNode regex = pattern.at("Regex");
    return {Regex(regex.string(), regex.place()), behavior, invert};
  }
  const JsonNode literal = pattern.at("String");
  if (literal.string().empty()) literal.mismatch("a string that is not empty");
  return {literal.string(), behavior, invert};
}

PreTokenizer::Split parse_digits(const JsonNode& node) {
  const bool individual = node.boolean_or("individual_digits", false);
  return {Regex(individual ? R"(\p{N})" : R"(\p{N}+)", node.place()), PreTokenizer::Behavior::isolated, false};
}

void append_byte_level(const JsonNode& node, std::vector<PreTokenizer::Step>& steps) {
  if (node.boolean_or("add_prefix_space", true)) steps.emplace_back(PreTokenizer::PrefixSpace{});
  if (!node.boolean_or("use_regex", true)) return;
  steps.emplace_back(PreTokenizer::Split{Regex(kGpt2Pattern, node.place()), PreTokenizer::Behavior::isolated, false});
}

TokenId known_id(const JsonNode& id, const Vocabulary& vocabulary) {
  const TokenId token{static_cast<int32_t>(id.integer_below(kMaxTokens))};
  if (vocabulary.token(token) == nullptr) id.mismatch("the id of a token");
  return token;
}

// "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, ...]; "special_tokens" has the ids by name.
void apply_template(const JsonNode& node, TokenizerParts& parts) {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
  bool past_text = false;
  const JsonNode pieces = node.at("single");
  for (size_t i = 0; i < pieces.array().size(); ++i) {
    const JsonNode piece = pieces.at(i);
    if (piece.has("Sequence")) {
      if (past_text) piece.mismatch("one Sequence only");
      past_text = true;
      continue;
    }
    const std::string& name = piece.at("SpecialToken").at("id").string();
    const JsonNode ids = node.at("special_tokens").at(name.c_str()).at("ids");
    for (size_t k = 0; k < ids.array().size(); ++k) {
      (past_text ? after : before).push_back(known_id(ids.at(k), parts.vocabulary));
    }
  }
  if (!past_text) pieces.mismatch("a Sequence");
  parts.prefix.insert(parts.prefix.begin(), before.begin(), before.end());
  parts.suffix.insert(parts.suffix.end(), after.begin(), after.end());
}

}  // namespace

Normalizer parse_normalizer(const JsonNode& root) {
  using Form = Normalizer::Form;
  constexpr std::array<std::pair<std::string_view, Form>, 4> kForms = {
      {{"NFC", Form::nfc}, {"NFD", Form::nfd}, {"NFKC", Form::nfkc}, {"NFKD", Form::nfkd}}};
  std::vector<Form> forms;
  for (const JsonNode& node : leaves(root, "normalizer", "normalizers")) {
    const auto entry = std::find_if(kForms.begin(), kForms.end(),
                                    [&](const auto& form) { return form.first == node.at("type").string(); });
    if (entry == kForms.end()) unsupported(node, "NFC, NFD, NFKC, NFKD and Sequence");
    forms.push_back(entry->second);
  }
  return Normalizer(std::move(forms));
}

PreTokenizer parse_pre_tokenizer(const JsonNode& root) {
  std::vector<PreTokenizer::Step> steps;
  bool is_byte_level = false;
  for (const JsonNode& node : leaves(root, "pre_tokenizer", "pretokenizers")) {
    const std::string& type = node.at("type").string();
    if (is_byte_level) {
      fail(ErrorCode::unsupported, node.place(), ": type \"", type,
           "\" follows ByteLevel; octet reads a pre_tokenizer whose last step is ByteLevel");
    }
    if (type == "Split") {
      steps.emplace_back(parse_split(node));
    } else if (type == "Digits") {
      steps.emplace_back(parse_digits(node));
    } else if (type == "ByteLevel") {
      append_byte_level(node, steps);
      is_byte_level = true;
    } else {
      unsupported(node, "Split, Digits, ByteLevel and Sequence");
    }
  }
  if (!is_byte_level) {
    fail(ErrorCode::unsupported, root.place(),
         "pre_tokenizer has no ByteLevel step; octet reads byte-level BPE only, whose tokens are made of bytes");
  }
  return PreTokenizer(std::move(steps));
}

void parse_post_processor(const JsonNode& root, TokenizerParts& parts) {
  for (const JsonNode& node : leaves(root, "post_processor", "processors")) {
    const std::string& type = node.at("type").string();
    if (type == "TemplateProcessing") {
      apply_template(node, parts);
    } else if (type != "ByteLevel") {  // ByteLevel changes offsets into the text, not ids
      unsupported(node, "ByteLevel, TemplateProcessing and Sequence");
    }
  }
}

void check_decoder(const JsonNode& root) {
  bool is_byte_level = false;
  for (const JsonNode& node : leaves(root, "decoder", "decoders")) {
    const std::string& type = node.at("type").string();
    if (type != "ByteLevel" && type != "Fuse") unsupported(node, "ByteLevel, Fuse and Sequence");
    is_byte_level = is_byte_level || type == "ByteLevel";
  }
  if (!is_byte_level) {
    fail(ErrorCode::unsupported, root.place(), "decoder is not ByteLevel; octet reads byte-level BPE only");
  }
}

}  // namespace octet
