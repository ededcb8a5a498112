// tokenizer/template/template.h — chat templates: Jinja as the transformers library runs it.
//
// Settings of transformers: immutable sandbox, trim_blocks, lstrip_blocks, no autoescape, loop controls, the
// `generation` tag, tojson without HTML escapes. Behaviour is that of jinja2 3.1.6 on Python 3.11, except:
// * No other files: include, import and extends are syntax errors.
// * Integers beyond 64 bits are printed but not computed with. Lone surrogates are refused.
// * Filters that give generators run at once. Printed generators, functions and namespaces show no addresses.
// * Filters filesizeformat, pprint, random, striptags, urlize, wordwrap and xmlattr are absent; from_json is added.
// * Letters whose other case is several letters keep their one-letter mapping, but for the German sharp s and the
//   dotted capital I.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/template/value.h"

namespace octet::jinja {

/// Budgets of one rendering. The defaults serve conversations of several megabytes and end a hostile template within a
/// few seconds.
struct RenderOptions {
  int64_t max_steps = 20'000'000;                   // evaluated nodes; about 64 bytes of text looked at count as one
  int max_depth = 1000;                             // statements and expressions inside each other, macros included
  int64_t max_output_bytes = int64_t{64} << 20;     // rendered text
  int64_t max_allocated_bytes = int64_t{1} << 30;   // all values made while rendering, also those dropped again
  std::optional<int64_t> unix_time = std::nullopt;  // what strftime_now() shows, in seconds; default: the present
};

struct Block;

/// A parsed template. Immutable: one may be rendered by several threads at once.
class Template {
 public:
  /// where   names the template in messages, for example "chat_template.jinja".
  /// Throws  Error(bad_template) on a syntax error: line, what was expected, what was found. Error(limit) on templates
  ///         larger than 1 MiB or nested too deeply.
  static Template parse(std::string_view source, std::string_view where);

  /// Renders with the given variables (a dictionary).
  /// Throws  Error(bad_template) if the template fails or calls raise_exception, whose text is in the message;
  ///         Error(limit) if a budget is used up.
  std::string render(const Value& variables, const RenderOptions& options = {}) const;

 private:
  Template(std::string where, std::shared_ptr<const Block> root) : where_(std::move(where)), root_(std::move(root)) {}

  std::string where_;
  std::shared_ptr<const Block> root_;
};

}  // namespace octet::jinja
