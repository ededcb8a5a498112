// Templates and requests that try to use up time, memory or the stack.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tokenizer/template/template.h"

namespace octet::jinja {
namespace {

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Small enough that a test ends at once.
RenderOptions small_budgets() {
  RenderOptions options;
  options.max_steps = 500'000;
  options.max_allocated_bytes = int64_t{32} << 20;
  return options;
}

// "limit" for a template that ends in Error(limit), or what happened instead.
std::string limit_of(const std::string& source, const RenderOptions& options = small_budgets()) {
  try {
    const std::string text = Template::parse(source, "test").render(Value::dict({}), options);
    return "rendered " + std::to_string(text.size()) + " bytes";
  } catch (const Error& e) {
    return e.code() == ErrorCode::limit ? "limit" : e.what();
  }
}

TEST(TemplateLimits, EndlessWorkEndsInALimit) {
  EXPECT_EQ(limit_of("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "limit");
  EXPECT_EQ(limit_of("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"), "limit");
  EXPECT_EQ(limit_of("{% for i in range(100000) %}{% set x = ('a' * 100000) in ('a' * 1000000) %}{% endfor %}"),
            "limit");
  EXPECT_EQ(limit_of("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "limit");
}

TEST(TemplateLimits, GrowingValuesEndInALimit) {
  EXPECT_EQ(
      limit_of("{% set ns = namespace(x='ab') %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"),
      "limit");
  EXPECT_EQ(
      limit_of("{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"),
      "limit");
  EXPECT_EQ(limit_of("{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = [ns.x, ns.x] %}{% endfor "
                     "%}{{ ns.x }}"),
            "limit");
  EXPECT_EQ(
      limit_of(
          "{% set ns = namespace(x=[1]) %}{% for i in range(1000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}"),
      "limit");
  EXPECT_EQ(
      limit_of(
          "{% set ns = namespace(x='a'.upper) %}{% for i in range(1000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}"),
      "limit");
  EXPECT_EQ(limit_of("{{ 'a' * 9999999999 }}"), "limit");
  EXPECT_EQ(limit_of("{{ [[]] * 999999999 }}"), "limit");
  EXPECT_EQ(limit_of("{{ ('a' * 100000).replace('a', 'b' * 100000) }}"), "limit");
  EXPECT_EQ(limit_of("{{ ('b' * 100000).join('a' * 100000) }}"), "limit");
  EXPECT_EQ(limit_of("{{ ('\n' * 100000) | indent(100000, blank=true) }}"), "limit");
  EXPECT_EQ(limit_of("{{ 'a'.center(99999999999) }}"), "limit");
  EXPECT_EQ(limit_of("{{ 'a'.zfill(99999999999) }}"), "limit");
  EXPECT_EQ(limit_of("{{ '%99999999999d' % 1 }}"), "limit");
  EXPECT_EQ(limit_of("{{ '{:99999999999}'.format(1) }}"), "limit");
  EXPECT_EQ(limit_of("{{ '%.999f' % 1 }}"), "limit");
  EXPECT_EQ(limit_of("{{ [1] | tojson(indent=99999999) }}"), "limit");
  EXPECT_EQ(limit_of("{{ range(9999999999) }}"), "limit");
  EXPECT_EQ(limit_of("{{ [1] | slice(99999999999) | list }}"), "limit");
  EXPECT_EQ(limit_of("{{ [1] | batch(99999999999, 0) | list }}"), "limit");
  EXPECT_EQ(limit_of("{{ 9223372036854775807 + 1 }}"), "limit");
  EXPECT_EQ(limit_of("{{ 10 ** 30 }}"), "limit");
}

TEST(TemplateLimits, OutputBeyondItsBudgetEndsInALimit) {
  RenderOptions options;
  options.max_output_bytes = 100;
  EXPECT_EQ(limit_of("{% for i in range(101) %}x{% endfor %}", options), "limit");
  EXPECT_EQ(limit_of("{% for i in range(100) %}x{% endfor %}", options), "rendered 100 bytes");
}

TEST(TemplateLimits, DeepSyntaxIsRefusedBeforeItRuns) {
  for (const int n : {1000, 100000}) {
    EXPECT_EQ(limit_of("{{ " + repeat("(", n) + "1" + repeat(")", n) + " }}"), "limit");
    EXPECT_EQ(limit_of("{{ " + repeat("[", n) + repeat("]", n) + " }}"), "limit");
    EXPECT_EQ(limit_of("{{ " + repeat("- ", n) + "1 }}"), "limit");
    EXPECT_EQ(limit_of("{{ " + repeat("not ", n) + "1 }}"), "limit");
    EXPECT_EQ(limit_of("{{ 1" + repeat(" + 1", n) + " }}"), "limit");
    EXPECT_EQ(limit_of("{{ 1" + repeat("|abs", n) + " }}"), "limit");
    EXPECT_EQ(limit_of("{{ x" + repeat(".x", n) + " }}"), "limit");
    EXPECT_EQ(limit_of("{{ 1" + repeat(" if 1 else 1", n) + " }}"), "limit");
    EXPECT_EQ(limit_of(repeat("{% if 1 %}", n) + repeat("{% endif %}", n)), "limit");
    EXPECT_EQ(limit_of("{% set " + repeat("(", n) + "a" + repeat(")", n) + " = 1 %}"), "limit");
  }
  EXPECT_EQ(limit_of(std::string((size_t{1} << 20) + 1, 'x')), "limit");
}

TEST(TemplateLimits, LongButFlatSyntaxIsAccepted) {
  EXPECT_EQ(limit_of("{{ 1" + repeat(" ~ 1", 10000) + " }}"), "rendered 10001 bytes");
  EXPECT_EQ(limit_of("{% if 0 %}" + repeat("{% elif 0 %}", 5000) + "{% endif %}"), "rendered 0 bytes");
  EXPECT_EQ(limit_of(repeat("{% if a %}{% set b = 1 %}{% endif %}", 5000)), "rendered 0 bytes");
}

// The deepest programs that are allowed must fit into a thread's stack, with sanitizers too.
TEST(TemplateLimits, DeepestNestingFitsTheStackOfAThread) {
  const std::string calls = "{% macro f(n) %}" + repeat("{% if n %}", 50) + "{{ " + repeat("[", 40) + "f(n - 1)" +
                            repeat("]", 40) + " }}" + repeat("{% endif %}", 50) + "{% endmacro %}{{ f(1000) }}";
  const std::string sums = "{% macro f(n) %}{{ 1" + repeat(" + 1", 290) + " + f(n) }}{% endmacro %}{{ f(1) }}";
  const std::string loops = "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}";
  std::thread([&] {
    for (const std::string& source : {calls, sums, loops}) EXPECT_EQ(limit_of(source), "limit");
  }).join();
}

TEST(TemplateLimits, HostileTemplatesEndWithinSecondsUnderTheDefaultBudgetsSlow) {
  const auto start = std::chrono::steady_clock::now();
  limit_of(
      "{% for i in range(100000) %}{% set x = ('a' * 1000)|upper|lower|title|replace('a', 'b')|list|sort|join %}{% "
      "endfor %}",
      {});
  limit_of("{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{{ s[999999] }}{% endfor %}", {});
  limit_of("{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{{ s.rfind('b' ~ 'a' * 10000) }}{% endfor %}", {});
  limit_of(
      "{% set s = range(100000)|list %}{% for i in range(100000) %}{{ s|sort|first }}{{ s == s|list }}{% endfor %}",
      {});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace octet::jinja
