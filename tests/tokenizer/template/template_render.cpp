// template_render TEMPLATE CONTEXTS: renders a template file with each line of a file of JSON objects. Prints one line
// of JSON for each: {"text": ...} or {"error": ...}. For comparisons with Python's jinja2 (compare_published.py).
// The clock stands at 2026-08-22 12:30:05, local time.
#include <ctime>
#include <functional>
#include <iostream>
#include <sstream>

#include "base/json.h"
#include "tokenizer/template/print.h"
#include "tokenizer/template/template.h"

namespace {

using octet::ErrorCode;
using octet::jinja::Dict;
using octet::jinja::Template;
using octet::jinja::Value;

int64_t test_time() {
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

void print_result(const std::function<std::string()>& render) {
  constexpr int64_t kMaxBytes = int64_t{1} << 30;
  Dict line;
  try {
    line.set("text", Value::text(render()));
  } catch (const octet::Error& e) {
    line.set("error", Value::text(std::string(to_string(e.code())) + ": " + e.what()));
  }
  std::cout << to_json(Value::dict(std::move(line)), {}, kMaxBytes) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: template_render TEMPLATE CONTEXTS\n";
    return 2;
  }
  constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
  try {
    const std::string source = octet::read_text_file(argv[1], kMaxFileBytes);
    std::istringstream contexts(octet::read_text_file(argv[2], kMaxFileBytes));
    octet::jinja::RenderOptions options;
    options.unix_time = test_time();
    for (std::string line; std::getline(contexts, line);) {
      print_result([&] {
        const Value context = Value::from_json(line, "context", ErrorCode::bad_request);
        return Template::parse(source, "template").render(context, options);
      });
    }
    return 0;
  } catch (const octet::Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
