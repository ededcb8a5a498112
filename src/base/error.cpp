#include "base/error.h"

namespace octet {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_usage:
      return "bad_usage";
    case ErrorCode::bad_file:
      return "bad_file";
    case ErrorCode::bad_checkpoint:
      return "bad_checkpoint";
    case ErrorCode::bad_config:
      return "bad_config";
    case ErrorCode::bad_tokenizer:
      return "bad_tokenizer";
    case ErrorCode::bad_template:
      return "bad_template";
    case ErrorCode::bad_shape:
      return "bad_shape";
    case ErrorCode::bad_request:
      return "bad_request";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::no_memory:
      return "no_memory";
    case ErrorCode::bad_numerics:
      return "bad_numerics";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

std::string_view to_string(Refusal::Code code) {
  switch (code) {
    case Refusal::Code::not_built:
      return "not_built";
    case Refusal::Code::instruction_set:
      return "instruction_set";
    case Refusal::Code::shared_memory:
      return "shared_memory";
    case Refusal::Code::shape:
      return "shape";
    case Refusal::Code::format:
      return "format";
    case Refusal::Code::activation:
      return "activation";
    case Refusal::Code::routing:
      return "routing";
    case Refusal::Code::memory:
      return "memory";
    case Refusal::Code::numerics_class:
      return "numerics_class";
    case Refusal::Code::mismatch:
      return "mismatch";
    case Refusal::Code::not_selected:
      return "not_selected";
  }
  return "mismatch";
}

namespace detail {

void check_failed(const char* file, int line, const char* condition) {
  // Only the file's name: a path of the build machine tells users nothing.
  std::string_view name(file);
  name.remove_prefix(name.find_last_of('/') == std::string_view::npos ? 0 : name.find_last_of('/') + 1);
  fail(ErrorCode::internal, name, ":", line, ": octet's own invariant does not hold: ", condition,
       "; this is a bug in octet, please report it with the command line");
}

}  // namespace detail
}  // namespace octet
