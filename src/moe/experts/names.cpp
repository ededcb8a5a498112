#include "moe/experts/names.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace octet {
namespace {

/// A name that users bring from other engines, and the backends that it stands for. A trailing * is any ending.
struct Alias {
  std::string_view name;
  std::string_view meaning;
};

constexpr std::array kAliases = {
    Alias{"cpu", "cpu.*"},
    Alias{"triton", "triton.*"},
    Alias{"triton_kernel", "triton.*"},
    Alias{"marlin", "cuda.fp4_rows, cuda.fp4_tiles_sm90"},
    Alias{"deep_gemm", "cuda.fp8_tiles_sm90"},
    Alias{"cutlass", "cutlass.*"},
    Alias{"flashinfer_cutlass", "cutlass.*"},
    Alias{"flashinfer_mxfp4", "cuda.fp4_*"},
    Alias{"flashinfer_trtllm", "plugin.*"},
    Alias{"flashinfer_cutedsl", "plugin.*"},
};

/// The text up to a separator, which is taken off `rest` with it.
std::string_view take_until(std::string_view& rest, std::string_view separator) {
  const size_t at = std::min(rest.find(separator), rest.size());
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(std::min(at + separator.size(), rest.size()));
  return head;
}

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty() || pattern.back() != '*') return pattern == name;
  pattern.remove_suffix(1);
  return name.substr(0, pattern.size()) == pattern;
}

[[noreturn]] void refuse_form(std::string_view text) {
  fail(ErrorCode::bad_usage, "--moe-runner-backend: expected NAME or decode=NAME,prefill=NAME, got \"", text,
       "\"; `octet backends` lists the names");
}

std::string without_auto(std::string_view name) { return name == "auto" ? std::string() : std::string(name); }

}  // namespace

ForcedBackends parse_forced_backends(std::string_view text) {
  if (text.find_first_of("=,") == std::string_view::npos) return {without_auto(text), without_auto(text)};
  ForcedBackends forced;
  bool has_decode = false, has_prefill = false;
  if (text.back() == ',') refuse_form(text);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view name = take_until(rest, ",");
    const std::string_view phase = take_until(name, "=");
    bool& seen = phase == "decode" ? has_decode : has_prefill;
    const bool known = phase == "decode" || phase == "prefill";
    if (!known || seen || name.empty() || name.find('=') != std::string_view::npos) refuse_form(text);
    seen = true;
    (phase == "decode" ? forced.decode : forced.prefill) = without_auto(name);
  }
  return forced;
}

std::string_view alias_meaning(std::string_view name) {
  const auto at =
      std::find_if(kAliases.begin(), kAliases.end(), [&](const Alias& alias) { return alias.name == name; });
  return at == kAliases.end() ? std::string_view() : at->meaning;
}

bool selects(std::string_view forced, std::string_view backend) {
  if (forced.empty() || forced == backend) return true;
  for (std::string_view rest = alias_meaning(forced); !rest.empty();) {
    if (matches(take_until(rest, ", "), backend)) return true;
  }
  return false;
}

}  // namespace octet
