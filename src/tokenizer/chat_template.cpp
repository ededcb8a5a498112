#include "tokenizer/chat_template.h"

#include <filesystem>

#include "base/json.h"

namespace octet {
namespace {

using jinja::Dict;
using jinja::Kind;
using jinja::Sequence;
using jinja::Template;
using jinja::Value;

constexpr int64_t kMaxTemplateFileBytes = int64_t{1} << 20;
constexpr int64_t kMaxConfigBytes = int64_t{64} << 20;

// The keys that transformers passes to templates as special tokens.
constexpr std::string_view kSpecialTokenKeys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                  "pad_token", "cls_token", "mask_token"};

// "<s>" or {"content": "<s>", ...}; nothing if absent or null.
std::optional<std::string> token_text(const Json& config, std::string_view key, const std::string& where) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (found->is_object() && found->contains("content") && (*found)["content"].is_string()) {
    return (*found)["content"].get<std::string>();
  }
  fail(ErrorCode::bad_tokenizer, where, ": ", key, ": expected a text or an object with \"content\", got ",
       found->type_name(), "; fetch the file again from the model's publisher");
}

struct Sources {
  std::optional<Template> standard, tool_use;
};

// The chat_template key: a text, or a list of {"name": ..., "template": ...}.
Sources templates_of(const Json& config, const std::string& where) {
  Sources sources;
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return sources;
  const std::string key = where + ": chat_template";
  if (found->is_string()) {
    sources.standard = Template::parse(found->get_ref<const std::string&>(), key);
    return sources;
  }
  if (!found->is_array()) {
    fail(ErrorCode::bad_tokenizer, key, ": expected a text or a list of named templates, got ", found->type_name());
  }
  for (const Json& entry : *found) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() || !entry.contains("template") ||
        !entry["template"].is_string()) {
      fail(ErrorCode::bad_tokenizer, key, ": expected entries {\"name\": text, \"template\": text}");
    }
    const std::string& name = entry["name"].get_ref<const std::string&>();
    if (name != "default" && name != "tool_use") continue;
    Template parsed = Template::parse(entry["template"].get_ref<const std::string&>(), key + " \"" + name + "\"");
    (name == "default" ? sources.standard : sources.tool_use) = std::move(parsed);
  }
  if (!sources.standard) {
    if (!sources.tool_use) fail(ErrorCode::bad_tokenizer, key, ": expected a template named \"default\"");
    sources.standard = sources.tool_use;
  }
  return sources;
}

// A copy of a dictionary with one entry replaced.
Value with_entry(const Value& dict, std::string_view key, Value value) {
  Dict copy = dict.as_dict();
  copy.set(key, std::move(value));
  return Value::dict(std::move(copy));
}

// {"function": {"arguments": "{...}"}}: the arguments as an object. Anything that is no JSON object stays as it is, so
// that the template decides what to do with a malformed call in the history.
Value with_parsed_arguments(const Value& call) {
  const Value* function = call.is(Kind::dict) ? call.as_dict().find("function") : nullptr;
  if (!function || !function->is(Kind::dict)) return call;
  const Value* arguments = function->as_dict().find("arguments");
  if (!arguments || !arguments->is_text()) return call;
  try {
    Value parsed = Value::from_json(arguments->as_text(), "tool call arguments", ErrorCode::bad_request);
    if (!parsed.is(Kind::dict)) return call;
    return with_entry(call, "function", with_entry(*function, "arguments", std::move(parsed)));
  } catch (const Error&) {
    return call;
  }
}

Value prepare_message(const Value& message) {
  if (!message.is(Kind::dict)) {
    fail(ErrorCode::bad_request, "messages: expected objects, got ", jinja::type_name(message));
  }
  const Value* calls = message.as_dict().find("tool_calls");
  if (!calls || !calls->is(Kind::sequence)) return message;
  std::vector<Value> prepared;
  for (const Value& call : calls->as_sequence().items) prepared.push_back(with_parsed_arguments(call));
  return with_entry(message, "tool_calls", Value::list(std::move(prepared)));
}

Value prepare_messages(const Value& messages) {
  if (!messages.is(Kind::sequence)) {
    fail(ErrorCode::bad_request, "messages: expected an array of objects, got ", jinja::type_name(messages));
  }
  std::vector<Value> prepared;
  for (const Value& message : messages.as_sequence().items) prepared.push_back(prepare_message(message));
  return Value::list(std::move(prepared));
}

Value optional_array(const std::string& json, std::string_view where) {
  if (json.empty()) return Value::none();
  Value value = Value::from_json(json, where, ErrorCode::bad_request);
  if (!value.is(Kind::sequence) && !value.is_none()) {
    fail(ErrorCode::bad_request, where, ": expected a JSON array, got ", jinja::type_name(value));
  }
  return value;
}

}  // namespace

std::optional<ChatTemplate> ChatTemplate::load(const std::string& model_dir) {
  namespace fs = std::filesystem;
  const std::string config_path = (fs::path(model_dir) / "tokenizer_config.json").string();
  const std::string template_path = (fs::path(model_dir) / "chat_template.jinja").string();
  Json config = Json::object();
  if (fs::exists(config_path)) {
    config = parse_json(read_text_file(config_path, kMaxConfigBytes), config_path, ErrorCode::bad_tokenizer);
    if (!config.is_object()) {
      fail(ErrorCode::bad_tokenizer, config_path, ": expected a JSON object, got ", config.type_name());
    }
  }
  Sources sources;
  if (fs::exists(template_path)) {
    sources.standard = Template::parse(read_text_file(template_path, kMaxTemplateFileBytes), template_path);
  } else {
    sources = templates_of(config, config_path);
  }
  if (!sources.standard) return std::nullopt;
  ChatTemplate chat(std::move(*sources.standard));
  chat.tool_use_ = std::move(sources.tool_use);
  for (const std::string_view key : kSpecialTokenKeys) {
    if (auto text = token_text(config, key, config_path)) chat.special_tokens_.set(key, Value::text(std::move(*text)));
  }
  return chat;
}

ChatTemplate ChatTemplate::from_source(std::string_view source, std::string_view where) {
  return ChatTemplate(Template::parse(source, where));
}

std::string ChatTemplate::render(std::string_view messages_json, const ChatOptions& options) const {
  return render_value(Value::from_json(messages_json, "messages", ErrorCode::bad_request), options);
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, const ChatOptions& options) const {
  std::vector<Value> values;
  for (const ChatMessage& message : messages) {
    Dict dict;
    dict.set("role", Value::text(message.role));
    dict.set("content", Value::text(message.content));
    values.push_back(Value::dict(std::move(dict)));
  }
  return render_value(Value::list(std::move(values)), options);
}

std::string ChatTemplate::render_value(Value messages, const ChatOptions& options) const {
  Dict variables = special_tokens_;
  const Value tools = optional_array(options.tools, "tools");
  if (!options.variables.empty()) {
    const Value extra = Value::from_json(options.variables, "chat_template_kwargs", ErrorCode::bad_request);
    if (!extra.is(Kind::dict)) {
      fail(ErrorCode::bad_request, "chat_template_kwargs: expected a JSON object, got ", jinja::type_name(extra));
    }
    for (const Dict::Entry& entry : extra.as_dict().entries()) variables.set(entry.first, entry.second);
  }
  // After the extra variables: a request cannot replace its own messages.
  variables.set("messages", prepare_messages(messages));
  variables.set("tools", tools);
  variables.set("documents", optional_array(options.documents, "documents"));
  variables.set("add_generation_prompt", Value::boolean(options.add_generation_prompt));
  const bool has_tools = jinja::truthy(tools);
  const Template& chosen = has_tools && tool_use_ ? *tool_use_ : default_;
  return chosen.render(Value::dict(std::move(variables)), options.render);
}

}  // namespace octet
