// tokenizer/tokenizer_json.h — reads a tokenizer.json into its parts. Use Tokenizer::load.
#pragma once

#include <string_view>

#include "tokenizer/json_node.h"
#include "tokenizer/tokenizer.h"

namespace octet {

/// Parses and checks the whole document; `where` names it in messages. Errors as for Tokenizer::load.
TokenizerParts parse_tokenizer_json(std::string_view json, std::string_view where);

// The nodes of the document, one function each; pipeline_json.cpp has those that are trees of typed steps.

/// "normalizer"
Normalizer parse_normalizer(const JsonNode& root);
/// "pre_tokenizer", which must end in its only ByteLevel step
PreTokenizer parse_pre_tokenizer(const JsonNode& root);
/// "post_processor": ids in front and behind
void parse_post_processor(const JsonNode& root, TokenizerParts& parts);
/// "decoder", which must be ByteLevel
void check_decoder(const JsonNode& root);

}  // namespace octet
