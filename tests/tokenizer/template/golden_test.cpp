// Small templates against what Python's jinja2 makes of them (make_golden.py), and the bundled model's template.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "base/json.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/template/template.h"

namespace octet {
namespace {

using jinja::RenderOptions;
using jinja::Template;
using jinja::Value;

constexpr int64_t kMaxBytes = int64_t{1} << 20;

// 2026-08-22 12:30:05, local time; the same instant stands in transformers_jinja.py.
int64_t golden_time() {
  std::tm time{};
  time.tm_year = 2026 - 1900;
  time.tm_mon = 7;
  time.tm_mday = 22;
  time.tm_hour = 12;
  time.tm_min = 30;
  time.tm_sec = 5;
  time.tm_isdst = -1;
  return std::mktime(&time);
}

std::string text_of(const Value& dict, std::string_view key) {
  const Value* value = dict.as_dict().find(key);
  return value ? value->as_text() : std::string();
}

TEST(TemplateGolden, EveryCaseRendersTheBytesOfJinja2OrIsRefusedWithIt) {
  const std::string path = OCTET_SOURCE_DIR "/tests/tokenizer/template/golden.json";
  const Value golden = Value::from_json(read_text_file(path, kMaxBytes), path, ErrorCode::bad_file);
  const Value& variables = *golden.as_dict().find("variables");
  RenderOptions options;
  options.unix_time = golden_time();
  int rendered = 0, refused = 0;
  for (const Value& one : golden.as_dict().find("cases")->as_sequence().items) {
    const std::string source = text_of(one, "template");
    SCOPED_TRACE(text_of(one, "group") + ": " + source);
    const bool raises = one.as_dict().find("raises") != nullptr;
    try {
      const std::string text = Template::parse(source, "case").render(variables, options);
      EXPECT_FALSE(raises) << "jinja2 refuses this: " << text_of(one, "raises") << "\nrendered: " << text;
      if (!raises) {
        EXPECT_EQ(text, text_of(one, "text"));
      }
      ++rendered;
    } catch (const Error& e) {
      EXPECT_TRUE(raises) << e.what();
      EXPECT_TRUE(e.code() == ErrorCode::bad_template || e.code() == ErrorCode::limit) << e.what();
      ++refused;
    }
  }
  EXPECT_GE(rendered, 150);
  EXPECT_GE(refused, 100);
}

TEST(TemplateGolden, BundledModelsTemplateGivesThePromptTextsOfItsGoldens) {
  const std::string model = OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4";
  const auto chat = ChatTemplate::load(model);
  ASSERT_TRUE(chat.has_value());
  const Json golden =
      parse_json(read_text_file(model + "/golden/golden.json", kMaxBytes), "golden.json", ErrorCode::bad_file);
  int compared = 0;
  for (const Json& prompt : golden.at("prompts")) {
    if (!prompt.at("messages").is_array()) continue;  // a plain text
    EXPECT_EQ(chat->render(prompt.at("messages").dump()), prompt.at("text").get<std::string>());
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

// Fetches the published templates with pip where it can; the program prints what differs.
TEST(TemplateGolden, PublishedTemplatesRenderTheBytesOfJinja2Slow) {
  const std::string command =
      std::string("python3 " OCTET_SOURCE_DIR "/tests/tokenizer/template/compare_published.py --program ") +
      OCTET_TEMPLATE_RENDER;
  const int status = std::system(command.c_str());
  ASSERT_NE(status, -1);
  const int code = WEXITSTATUS(status);
  if (code == 77) GTEST_SKIP() << "the published templates or jinja2 could not be had";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace octet
