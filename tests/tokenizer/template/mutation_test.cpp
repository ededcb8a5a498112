// Random changes of templates and contexts: whatever comes out, it is text or an octet::Error, and soon.
#include <gtest/gtest.h>

#include <random>

#include "base/json.h"
#include "tokenizer/template/template.h"

namespace octet::jinja {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 20;

std::string golden_path() { return OCTET_SOURCE_DIR "/tests/tokenizer/template/golden.json"; }

std::vector<std::string> golden_templates(const Value& golden) {
  std::vector<std::string> sources;
  for (const Value& one : golden.as_dict().find("cases")->as_sequence().items) {
    sources.push_back(one.as_dict().find("template")->as_text());
  }
  return sources;
}

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  // One of: delete, repeat or exchange a piece, insert a fragment of the language, change a byte.
  std::string mutate(std::string text, const std::string& other) {
    static constexpr std::string_view kFragments[] = {
        "{{", "}}", "{%",   "%}",    "-%}",  "{#",   "#}", "(", ")", "[", "]", "|",          "'",  "\"",           "\\",
        "*",  "**", " is ", " not ", " in ", "loop", ":",  ",", ".", "~", "0", "9999999999", "-1", "{% endfor %}", "é"};
    const size_t at = below(text.size() + 1);
    const size_t length = below(std::min<size_t>(text.size() - at, 20) + 1);
    switch (below(5)) {
      case 0:
        return text.erase(at, length);
      case 1:
        return text.insert(at, text.substr(at, length));
      case 2: {
        const size_t from = below(other.size() + 1);
        return text.replace(at, length, other.substr(from, below(30)));
      }
      case 3:
        return text.insert(at, kFragments[below(std::size(kFragments))]);
      default:
        if (!text.empty()) text[below(text.size())] = static_cast<char>(below(256));
        return text;
    }
  }

 private:
  std::mt19937 random_;
};

// Renders `count` mutated templates; returns how many of them came out as text.
int render_mutations(uint32_t seed, int count) {
  const Value golden = Value::from_json(read_text_file(golden_path(), kMaxBytes), "golden", ErrorCode::bad_file);
  const std::vector<std::string> sources = golden_templates(golden);
  RenderOptions options;
  options.max_steps = 50'000;
  options.max_allocated_bytes = 10'000'000;
  Mutator mutator(seed);
  int rendered = 0;
  for (int i = 0; i < count; ++i) {
    std::string source = sources[mutator.below(sources.size())];
    for (size_t changes = 1 + mutator.below(3); changes > 0; --changes) {
      source = mutator.mutate(std::move(source), sources[mutator.below(sources.size())]);
    }
    try {
      Template::parse(source, "mutated").render(*golden.as_dict().find("variables"), options);
      ++rendered;
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::internal) << source << "\n" << e.what();
    }
  }
  return rendered;
}

TEST(TemplateMutations, RandomChangesOfTemplatesEndAsTextOrAsError) {
  const int rendered = render_mutations(/*seed=*/1, /*count=*/3000);
  EXPECT_GT(rendered, 300) << "too few mutations still render: they test the parser only";
}

TEST(TemplateMutations, ManyRandomChangesOfTemplatesEndAsTextOrAsErrorSlow) {
  EXPECT_GT(render_mutations(/*seed=*/2, /*count=*/200'000), 20'000);
}

TEST(TemplateMutations, RandomChangesOfContextsEndAsTextOrAsError) {
  const Value golden = Value::from_json(read_text_file(golden_path(), kMaxBytes), "golden", ErrorCode::bad_file);
  const std::vector<std::string> sources = golden_templates(golden);
  const std::string context =
      R"({"s": "héllo", "n": 7, "x": 2.5, "list": [3, 1, 2], "d": {"z": 1, "a": null}, "users": [)"
      R"({"name": "Bob", "age": 3}], "messages": [{"role": "user", "content": "U"}], "nested": )"
      R"({"a": {"b": [1, {"c": "d"}]}}, "e": "", "yes": true})";
  Mutator mutator(/*seed=*/3);
  int parsed = 0;
  for (int i = 0; i < 3000; ++i) {
    try {
      const Value variables = Value::from_json(mutator.mutate(context, context), "context", ErrorCode::bad_request);
      if (!variables.is(Kind::dict)) continue;
      ++parsed;
      Template::parse(sources[mutator.below(sources.size())], "case").render(variables);
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
    }
  }
  EXPECT_GT(parsed, 100);
}

}  // namespace
}  // namespace octet::jinja
