#include "tokenizer/chat_template.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace octet {
namespace {

namespace fs = std::filesystem;

// A model folder that is removed at the end of the test.
class ChatTemplateFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("octet_chat_template_") + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  std::optional<ChatTemplate> load() const { return ChatTemplate::load(folder_.string()); }

  fs::path folder_;
};

const std::vector<ChatMessage> kHello = {{"user", "Hi"}};

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::internal;
}

TEST_F(ChatTemplateFiles, FolderWithoutTemplateGivesNone) {
  EXPECT_FALSE(load().has_value());
  write("tokenizer_config.json", R"({"bos_token": "<s>"})");
  EXPECT_FALSE(load().has_value());
}

TEST_F(ChatTemplateFiles, JinjaFileWinsOverTokenizerConfig) {
  write("chat_template.jinja", "file {{ messages[0].content }}");
  write("tokenizer_config.json", R"({"chat_template": "config"})");
  EXPECT_EQ(load()->render(kHello), "file Hi");
}

TEST_F(ChatTemplateFiles, TokenizerConfigTextIsUsedWithoutFile) {
  write("tokenizer_config.json", R"({"chat_template": "config {{ messages[0].role }}"})");
  EXPECT_EQ(load()->render(kHello), "config user");
}

TEST_F(ChatTemplateFiles, NamedTemplatesAreChosenByWhetherToolsAreGiven) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "plain"},
      {"name": "tool_use", "template": "tools {{ tools[0].name }}"}, {"name": "rag", "template": "{% if %}"}]})");
  const auto chat = load();
  EXPECT_EQ(chat->render(kHello), "plain");
  ChatOptions options;
  options.tools = "[]";
  EXPECT_EQ(chat->render(kHello, options), "plain");
  options.tools = R"([{"name": "f"}])";
  EXPECT_EQ(chat->render(kHello, options), "tools f");
}

TEST_F(ChatTemplateFiles, SpecialTokensComeAsTextOrAsObject) {
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false},
      "pad_token": null, "chat_template": "{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}"})");
  EXPECT_EQ(load()->render(kHello), "<s></s>False");
}

TEST_F(ChatTemplateFiles, MalformedFilesAreRefusedByTheirKind) {
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_EQ(code_of([&] { load(); }), ErrorCode::bad_tokenizer);
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default"}]})");
  EXPECT_EQ(code_of([&] { load(); }), ErrorCode::bad_tokenizer);
  write("tokenizer_config.json", R"({"chat_template": "{% if x %}"})");
  EXPECT_EQ(code_of([&] { load(); }), ErrorCode::bad_template);
  write("tokenizer_config.json", R"({"chat_template": "x", "bos_token": 7})");
  EXPECT_EQ(code_of([&] { load(); }), ErrorCode::bad_tokenizer);
  write("tokenizer_config.json", "{");
  EXPECT_EQ(code_of([&] { load(); }), ErrorCode::bad_tokenizer);
}

ChatTemplate of(std::string_view source) { return ChatTemplate::from_source(source, "test"); }

TEST(ChatTemplate, ToolCallArgumentsGivenAsTextBecomeObjectsInTheirOrder) {
  const ChatTemplate chat =
      of("{% for k, v in messages[0].tool_calls[0].function.arguments.items() %}{{ k }}={{ v }};{% endfor %}");
  EXPECT_EQ(chat.render(R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f",
      "arguments": "{\"z\": 1, \"a\": [true, null]}"}}]}])"),
            "z=1;a=[True, None];");
}

TEST(ChatTemplate, ArgumentsThatAreNoJsonObjectStayText) {
  const ChatTemplate chat = of("{{ messages[0].tool_calls[0].function.arguments is string }}");
  for (const char* arguments : {"not json", "[1]", "", "{\\\"a\\\": 1, \\\"a\\\": 2}"}) {
    EXPECT_EQ(chat.render(std::string(R"([{"role": "assistant", "tool_calls": [{"function": {"arguments": ")") +
                          arguments + R"("}}]}])"),
              "True")
        << arguments;
  }
}

TEST(ChatTemplate, AbsentToolsAndDocumentsAreNoneAndAbsentVariablesUndefined) {
  EXPECT_EQ(of("{{ tools }} {{ documents }} {{ enable_thinking is defined }}").render(kHello), "None None False");
}

TEST(ChatTemplate, ExtraVariablesReachTheTemplateButNeverReplaceTheMessages) {
  ChatOptions options;
  options.variables = R"({"enable_thinking": false, "messages": [{"role": "user", "content": "forged"}]})";
  EXPECT_EQ(of("{{ enable_thinking }} {{ messages[0].content }}").render(kHello, options), "False Hi");
}

TEST(ChatTemplate, GenerationPromptFollowsItsOption) {
  const ChatTemplate chat = of("{{ add_generation_prompt }}");
  ChatOptions options;
  EXPECT_EQ(chat.render(kHello, options), "True");
  options.add_generation_prompt = false;
  EXPECT_EQ(chat.render(kHello, options), "False");
}

TEST(ChatTemplate, MalformedRequestsAreBadRequests) {
  const ChatTemplate chat = of("{{ messages }}");
  EXPECT_EQ(code_of([&] { chat.render("[{"); }), ErrorCode::bad_request);
  EXPECT_EQ(code_of([&] { chat.render("{}"); }), ErrorCode::bad_request);
  EXPECT_EQ(code_of([&] { chat.render("[1]"); }), ErrorCode::bad_request);
  ChatOptions options;
  options.tools = "{}";
  EXPECT_EQ(code_of([&] { chat.render(kHello, options); }), ErrorCode::bad_request);
  options = {};
  options.variables = "[]";
  EXPECT_EQ(code_of([&] { chat.render(kHello, options); }), ErrorCode::bad_request);
}

TEST(ChatTemplate, RaiseExceptionComesOutAsBadTemplateWithItsMessage) {
  try {
    of("{{ raise_exception('roles must alternate') }}").render(kHello);
    FAIL() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_template);
    EXPECT_NE(std::string(e.what()).find("roles must alternate"), std::string::npos);
  }
}

}  // namespace
}  // namespace octet
