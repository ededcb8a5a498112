// moe/experts/names.h — what users may write for --moe-runner-backend.
#pragma once

#include <string>
#include <string_view>

namespace octet {

/// The largest number of tokens in a step that counts as decoding; above it is prefill. Kernels that read each expert's
/// weights once for few rows end here (about 16 rows an expert).
inline constexpr int64_t kMostDecodeTokens = 64;

/// The sets of backends that --moe-runner-backend asks for, by phase: a backend's name, an alias of docs/backends.md,
/// or "" for every backend.
struct ForcedBackends {
  std::string decode;
  std::string prefill;
  const std::string& at(int64_t num_tokens) const { return num_tokens <= kMostDecodeTokens ? decode : prefill; }
  bool any() const { return !decode.empty() || !prefill.empty(); }
};

/// Reads NAME, or decode=NAME,prefill=NAME of which one may be missing; "auto" and "" mean every backend. Whether a
/// name exists is for selection to say. Throws Error(bad_usage) on any other form.
ForcedBackends parse_forced_backends(std::string_view text);

/// Whether a name, alias or "" selects the backend.
bool selects(std::string_view forced, std::string_view backend);

/// What an alias stands for, as names and prefixes: "cuda.fp4_rows, cuda.fp4_tiles_*"; "" if it is none.
std::string_view alias_meaning(std::string_view name);

}  // namespace octet
