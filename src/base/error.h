// base/error.h — how octet reports what went wrong.
//
// Code that loads, parses or selects throws `Error` through `fail`. "This backend cannot do that" is not an error but
// an ordinary value, `Refusal`. `OCTET_CHECK` is for octet's own mistakes, never for input; it throws too, so that user
// input never ends the process.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace octet {

/// What kind of thing failed: docs/errors.md.
enum class ErrorCode {
  bad_usage,       // a flag or a call that cannot be meant: exit status 2
  bad_file,        // a file that is missing, unreadable or not of its declared type
  bad_checkpoint,  // weights that disagree with the configuration or with each other
  bad_config,      // config.json, generation_config.json or quantization settings that make no sense
  bad_tokenizer,   // tokenizer.json
  bad_template,    // a chat template that does not parse or that raised an exception
  bad_shape,       // dimensions that do not fit together
  bad_request,     // a prompt or sampling setting that can never be served
  unsupported,     // valid, but octet cannot do it yet: the message names what it can
  limit,           // a step, depth, size or time budget was used up
  no_memory,       // the memory plan does not fit
  bad_numerics,    // NaN or infinity where there must be none
  internal,        // octet's own mistake (OCTET_CHECK)
};

/// Stable lower-case name of a code, for example "bad_checkpoint".
std::string_view to_string(ErrorCode code);

/// The one exception type of octet. what() says where, what was expected, what was found, and what to do next.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Throws Error(code) with the parts streamed together: fail(ErrorCode::bad_file, path, ": expected ", a, ", got ", b).
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw Error(code, message.str());
}

/// Why a backend cannot serve a problem: a code from a closed list, and a sentence with the numbers.
struct Refusal {
  enum class Code {
    not_built,        // this binary was built without it
    instruction_set,  // the device lacks an instruction set or compute capability
    shared_memory,    // a tile needs more on-chip memory than the device has
    shape,            // a dimension is not divisible or is too large
    format,           // weight format not handled
    activation,       // activation function not handled
    routing,          // routing (top-k, expert count) not handled
    memory,           // the memory plan has no room for its packed weights
    numerics_class,   // outside the engine's numerics class
    mismatch,         // disagreed with the reference on a loaded layer
    not_selected,     // forced selection excludes it
  };
  Code code;
  std::string reason;
};

/// Stable lower-case name of a refusal code, for example "shared_memory".
std::string_view to_string(Refusal::Code code);

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}

}  // namespace octet

/// States an invariant of octet's own code. Throws Error(internal); never use it on user input.
#define OCTET_CHECK(condition)                                                       \
  do {                                                                               \
    if (!(condition)) ::octet::detail::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
