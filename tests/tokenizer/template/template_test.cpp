// What golden_test.cpp cannot show: messages, JSON values, and what the interface promises.
#include "tokenizer/template/template.h"

#include <gtest/gtest.h>

#include <thread>

#include "tokenizer/template/print.h"

namespace octet::jinja {
namespace {

std::string render(std::string_view source, std::string_view json = "{}", const RenderOptions& options = {}) {
  return Template::parse(source, "test").render(Value::from_json(json, "variables", ErrorCode::bad_request), options);
}

std::string error_of(std::string_view source) {
  try {
    render(source);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Template, SyntaxErrorNamesFileLineExpectationAndFinding) {
  EXPECT_EQ(error_of("a\nb {{ 1 + }}"), "test:2: expected an expression, got '}}'");
  EXPECT_EQ(error_of("{% if x %}\n\n"),
            "test:2: expected '{% elif %}' or '{% else %}' or '{% endif %}', got the end of the template");
  EXPECT_EQ(error_of("{% import 'x' as y %}"),
            "test:1: expected a template in one file; octet loads no other files from templates, got 'import'");
}

TEST(Template, RunTimeErrorNamesTheLineOfTheExpression) {
  EXPECT_EQ(error_of("a\n{% set x = 1 %}\n{{ x.y.z }}"), "test:3: 'int object' has no attribute 'y'");
  EXPECT_EQ(error_of("\n\n{{ raise_exception('no') }}"), "test:3: no");
}

TEST(Template, UnknownFilterOrTestIsNamed) {
  EXPECT_EQ(error_of("{{ 1 | nope }}"), "test:1: expected a filter that octet knows, got 'nope'");
  EXPECT_EQ(error_of("{% if true %}{{ 1 is nope }}{% endif %}"), "test:1: No test named 'nope' found.");
}

TEST(Template, BytesThatAreNotUtf8AreRefused) {
  EXPECT_EQ(error_of("a \xff"), "test: expected UTF-8 text, got other bytes");
}

TEST(Template, OneTemplateRendersInSeveralThreadsAtOnce) {
  const Template shared = Template::parse("{% for i in range(100) %}{{ i }}{% endfor %}{{ x }}", "test");
  const std::string want = shared.render(Value::from_json(R"({"x": 1})", "x", ErrorCode::bad_request));
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  for (std::string& text : got) {
    threads.emplace_back(
        [&shared, &text] { text = shared.render(Value::from_json(R"({"x": 1})", "x", ErrorCode::bad_request)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : got) EXPECT_EQ(text, want);
}

TEST(JsonValue, KeysKeepTheirOrderAndNumbersTheirKind) {
  EXPECT_EQ(render("{{ d }}",
                   R"({"d": {"z": 1, "a": 1.0, "m": -0, "big": 18446744073709551616, "u": 18446744073709551615}})"),
            "{'z': 1, 'a': 1.0, 'm': 0, 'big': 18446744073709551616, 'u': 18446744073709551615}");
}

TEST(JsonValue, ManyKeysAreReadInLinearTime) {
  std::string json = "{";
  for (int i = 0; i < 100000; ++i) json += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":" + std::to_string(i);
  const Value value = Value::from_json(json + "}", "many", ErrorCode::bad_request);
  ASSERT_EQ(value.as_dict().size(), 100000u);
  EXPECT_EQ(value.as_dict().find("k99999")->as_integer(), 99999);
  EXPECT_EQ(value.as_dict().find("none"), nullptr);
}

TEST(JsonValue, MalformedTextIsAnErrorOfTheGivenCode) {
  std::string deep(65, '[');
  deep += std::string(65, ']');
  for (const std::string& json : {std::string("{"), std::string("[1,]"), std::string("{\"a\":1,\"a\":2}"),
                                  std::string("\"\xff\""), std::string(""), std::string("1 2"), deep}) {
    try {
      Value::from_json(json, "x", ErrorCode::bad_request);
      ADD_FAILURE() << "expected an error for " << json;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_request);
    }
  }
}

TEST(JsonValue, RoundTripsThroughToJson) {
  const std::string json = R"({"a": [1, 2.5, "x\ny", true, null, {}], "b": {"c": []}})";
  EXPECT_EQ(to_json(Value::from_json(json, "x", ErrorCode::bad_request), {}, 1000), json);
}

TEST(Template, ObjectsKeptBeyondTheirLoopStayHarmless) {
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}{% set ns.c = loop.cycle %}"
                   "{% set x = i %}{% macro m() %}{{ x }}{% endmacro %}{% set ns.m = m %}{{ loop.changed(loop) }}"
                   "{% endfor %}{{ ns.l.index }}[{{ ns.m() }}]"),
            "TrueFalse2[]");
  EXPECT_EQ(
      render("{% set ns = namespace() %}{% set ns.self = ns %}{% set ns.list = [ns] %}{{ ns.self.self.list[0].self }}"),
      "<Namespace>");
}

}  // namespace
}  // namespace octet::jinja
