// tokenizer/chat_template.h — from a conversation to the text of a prompt, by the model's own template.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/template/template.h"
#include "tokenizer/template/value.h"

namespace octet {

/// One plain message. Conversations with tool calls or other fields are given as JSON instead.
struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
};

/// What the template sees beside the messages. JSON texts may be empty: then the variable is none (tools, documents) or
/// absent (extra variables), as in transformers.
struct ChatOptions {
  bool add_generation_prompt = true;
  std::string tools;      // JSON array in the shape of the OpenAI API
  std::string documents;  // JSON array
  std::string variables;  // JSON object: chat_template_kwargs such as {"enable_thinking": false}
  jinja::RenderOptions render;
};

/// The chat template of a checkpoint. Immutable: one may be used by several threads at once.
/// The rendered text holds the special tokens that the model wants: tokenize it without adding any.
class ChatTemplate {
 public:
  /// Reads chat_template.jinja or else the chat_template key of tokenizer_config.json (a text, or a list of named ones:
  /// "default", and "tool_use" for requests with tools), and the special-token names (bos_token, ...).
  /// model_dir  folder of the checkpoint.
  /// Returns    nothing if the checkpoint has no template.
  /// Throws     Error(bad_file, bad_tokenizer, bad_template) naming the file.
  static std::optional<ChatTemplate> load(const std::string& model_dir);

  /// A template that is given as text, without special-token names.
  static ChatTemplate from_source(std::string_view source, std::string_view where);

  /// Renders messages given as a JSON array in the shape of the OpenAI API. tool_calls[].function.arguments that are
  /// JSON texts become objects first, since templates iterate over them.
  /// Throws  Error(bad_request) on malformed JSON; Error(bad_template) if the template fails or rejects the messages;
  ///         Error(limit).
  std::string render(std::string_view messages_json, const ChatOptions& options = {}) const;

  std::string render(const std::vector<ChatMessage>& messages, const ChatOptions& options = {}) const;

 private:
  explicit ChatTemplate(jinja::Template standard) : default_(std::move(standard)) {}

  std::string render_value(jinja::Value messages, const ChatOptions& options) const;

  jinja::Template default_;
  std::optional<jinja::Template> tool_use_;
  jinja::Dict special_tokens_;  // "bos_token" -> "<s>"
};

}  // namespace octet
