// tokenizer/template/lexer.h — template text to tokens, with Jinja's rules for white space around tags.
//
// Fixed settings of transformers: trim_blocks and lstrip_blocks on, keep_trailing_newline off.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/template/value.h"

namespace octet::jinja {

struct Token {
  enum class Type {
    data,         // text outside of tags
    print_begin,  // {{
    print_end,    // }}
    block_begin,  // {%
    block_end,    // %}
    name,
    string,
    number,
    op,  // operator or punctuation
    end
  };
  Type type;
  int line;
  std::string text;  // data, names and operators as written; strings unescaped
  Value number;      // Type::number
};

/// Splits a template into tokens, the last of type `end`. Comments and raw markers are gone.
/// where   names the template in messages.
/// Throws  Error(bad_template) with file and line.
std::vector<Token> tokenize(std::string_view source, std::string_view where);

}  // namespace octet::jinja
