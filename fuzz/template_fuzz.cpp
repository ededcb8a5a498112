// libFuzzer target of the chat-template interpreter. The input is a template, a zero byte, and a JSON object of
// variables; without a zero byte, a fixed conversation is rendered.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/template/template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using octet::jinja::Value;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const std::string_view variables =
      zero == std::string_view::npos
          ? R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null}], "x": 1.5})"
          : input.substr(zero + 1);
  octet::jinja::RenderOptions options;
  options.max_steps = 100'000;
  options.max_allocated_bytes = 16 << 20;
  options.max_output_bytes = 1 << 20;
  try {
    const Value context = Value::from_json(variables, "context", octet::ErrorCode::bad_request);
    if (!context.is(octet::jinja::Kind::dict)) return 0;
    octet::jinja::Template::parse(input.substr(0, zero), "template").render(context, options);
  } catch (const octet::Error& e) {
    // Malformed inputs are expected; octet's own broken invariants are findings.
    if (e.code() == octet::ErrorCode::internal) throw;
  }
  return 0;
}
