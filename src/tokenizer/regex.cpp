#include "tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/error.h"

namespace octet {
namespace {

constexpr size_t kMaxPatternBytes = 16 << 10;
constexpr uint32_t kHeapKiB = 64 << 10;  // of one search, where the JIT does not run
constexpr size_t kJitStackBytes = 1 << 20;
constexpr uint64_t kSteps = 1'000'000;      // of one attempt at one place...
constexpr uint64_t kStepsPerByte = 8;       // ...and more in long texts: a run of n spaces takes about 2n
constexpr int64_t kTimeNs = 2'000'000'000;  // of all searches in one text...
constexpr int64_t kTimeNsPerByte = 5'000;   // ...where real patterns take 10 to 200 ns a byte
constexpr int kTooLate = -1000;             // our own code, outside PCRE2's

// PCRE2 calls this at the start of each attempt (see Regex::Regex): its step limit holds for one attempt only, and a
// text has as many attempts as bytes.
int check_deadline(pcre2_callout_block*, void* deadline_ns) {
  return now_ns() > *static_cast<const int64_t*>(deadline_ns) ? kTooLate : 0;
}

std::string message_of(int pcre2_error) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(pcre2_error, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }
void RegexSearch::Free::operator()(pcre2_real_match_data_8* data) const { pcre2_match_data_free(data); }
void RegexSearch::Free::operator()(pcre2_real_match_context_8* context) const { pcre2_match_context_free(context); }
void RegexSearch::Free::operator()(pcre2_real_jit_stack_8* stack) const { pcre2_jit_stack_free(stack); }

Regex::Regex(std::string_view oniguruma_pattern, std::string_view where) {
  if (oniguruma_pattern.size() > kMaxPatternBytes) {
    fail(ErrorCode::unsupported, where, ": expected a pattern of at most ", kMaxPatternBytes, " bytes, got ",
         oniguruma_pattern.size());
  }
  const std::string pattern = "(?C1)(?:" + oniguruma_to_pcre2(oniguruma_pattern, where) + ")";
  // Ruby's ^ and $ match at every line.
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), kOptions, &error, &offset,
                            context.get()));
  if (!code_) {
    fail(ErrorCode::unsupported, where, ": expected a regular expression that PCRE2 can compile, got \"",
         oniguruma_pattern, "\": ", message_of(error));
  }
  // Where the JIT is not available (no executable memory, another processor), pcre2_match interprets: same matches.
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
}

RegexSearch::RegexSearch(size_t text_bytes)
    : deadline_ns_(std::make_unique<int64_t>(now_ns() + kTimeNs + kTimeNsPerByte * static_cast<int64_t>(text_bytes))),
      data_(pcre2_match_data_create(1, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      stack_(pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr)) {
  if (!data_ || !context_ || !stack_) throw std::bad_alloc();
  const uint64_t steps = kSteps + kStepsPerByte * text_bytes;
  const auto limit = static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX));
  pcre2_set_match_limit(context_.get(), limit);
  pcre2_set_depth_limit(context_.get(), limit);
  pcre2_set_heap_limit(context_.get(), kHeapKiB);
  pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
  pcre2_set_callout(context_.get(), check_deadline, deadline_ns_.get());
}

std::optional<RegexSearch::Match> RegexSearch::find(const Regex& regex, std::string_view subject, size_t from) {
  // Without NO_UTF_CHECK every call would read the whole subject: quadratic time.
  const int rc = pcre2_match(regex.code_.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from,
                             PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
  if (rc == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (rc < 0) {
    fail(ErrorCode::limit, "tokenizer: a regular expression of the pre-tokenizer took too long on a piece of ",
         subject.size(), " bytes (", rc == kTooLate ? "time limit exceeded" : message_of(rc),
         "); shorten the text, or check the pattern in tokenizer.json");
  }
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data_.get());
  return Match{offsets[0], offsets[1]};
}

}  // namespace octet
