#include "tokenizer/template/template.h"

#include "tokenizer/template/interpreter.h"
#include "tokenizer/template/parser.h"

namespace octet::jinja {
namespace {

constexpr size_t kMaxTemplateBytes = size_t{1} << 20;

}  // namespace

Template Template::parse(std::string_view source, std::string_view where) {
  if (source.size() > kMaxTemplateBytes) {
    fail(ErrorCode::limit, where, ": expected a template of at most ", kMaxTemplateBytes, " bytes, got ",
         source.size());
  }
  return Template(std::string(where), std::make_shared<const Block>(jinja::parse(source, where)));
}

std::string Template::render(const Value& variables, const RenderOptions& options) const {
  OCTET_CHECK(variables.is(Kind::dict));
  Interpreter interpreter(*root_, variables, options);
  try {
    return interpreter.run(*root_);
  } catch (const Failure& e) {
    fail(e.code(), where_, ":", interpreter.line(), ": ", e.message());
  }
}

}  // namespace octet::jinja
