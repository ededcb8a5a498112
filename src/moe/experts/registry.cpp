// Every expert backend there is. One line adds one; order only breaks ties.

#include <algorithm>
#include <array>
#include <sstream>

#include "moe/experts/cpu/fp4_packed.h"
#include "moe/experts/cpu/rows.h"
#include "moe/experts/experts.h"
#include "moe/experts/reference/reference.h"

namespace octet {
namespace {

// clang-format off
constexpr std::array kExpertBackends = {
    // name                               can it run here?            how long, at best?                what does it pack?         build it
    ExpertBackendEntry{"cpu.rows",        cpu_rows::refuse,           cpu_rows::predicted_us,           cpu_rows::packed,          cpu_rows::make},
    ExpertBackendEntry{"cpu.fp4_packed",  cpu_fp4_packed::refuse,     cpu_fp4_packed::predicted_us,     cpu_fp4_packed::packed,    cpu_fp4_packed::make},
    ExpertBackendEntry{"reference",       reference_experts::refuse,  reference_experts::predicted_us,  reference_experts::packed, reference_experts::make},
};

/// Names that users bring from other engines, and the prefix of the backends that each stands for (docs/backends.md).
struct Alias {
  std::string_view name;
  std::string_view prefix;
};
constexpr std::array kAliases = {
    Alias{"triton", "triton."},
    Alias{"triton_kernel", "triton."},
    Alias{"marlin", "cuda.fp4_"},
    Alias{"deep_gemm", "cuda.fp8_tiles_sm90"},
    Alias{"cutlass", "cutlass."},
    Alias{"flashinfer_cutlass", "cutlass."},
    Alias{"flashinfer_mxfp4", "cuda.fp4_"},
    Alias{"cpu", "cpu."},
};
// clang-format on

/// Whether a forced name or alias selects this backend.
bool selects(std::string_view forced, std::string_view backend) {
  if (forced == backend) return true;
  return std::any_of(kAliases.begin(), kAliases.end(), [&](const Alias& alias) {
    return alias.name == forced && backend.substr(0, alias.prefix.size()) == alias.prefix;
  });
}

}  // namespace

std::span<const ExpertBackendEntry> expert_backends() { return kExpertBackends; }

const ExpertBackendEntry* find_expert_backend(std::string_view name) {
  const auto at = std::find_if(kExpertBackends.begin(), kExpertBackends.end(),
                               [&](const ExpertBackendEntry& entry) { return entry.name == name; });
  return at == kExpertBackends.end() ? nullptr : &*at;
}

std::vector<BackendCandidate> list_expert_backends(const MoeProblem& problem, const DeviceInfo& device) {
  std::vector<BackendCandidate> candidates;
  for (const ExpertBackendEntry& entry : kExpertBackends) {
    candidates.push_back(
        {.entry = &entry, .refusal = entry.refuse(problem, device), .bound_us = entry.predicted_us(problem, device)});
  }
  return candidates;
}

const ExpertBackendEntry& choose_expert_backend(const MoeProblem& problem, const DeviceInfo& device,
                                                std::string_view forced) {
  const bool automatic = forced.empty() || forced == "auto";
  const BackendCandidate* best = nullptr;
  std::ostringstream reasons;
  const std::vector<BackendCandidate> candidates = list_expert_backends(problem, device);
  for (const BackendCandidate& candidate : candidates) {
    if (!automatic && !selects(forced, candidate.entry->name)) {
      reasons << "\n  " << candidate.entry->name << ": not what \"" << forced << "\" names";
    } else if (candidate.refusal) {
      reasons << "\n  " << candidate.entry->name << ": refused: " << candidate.refusal->reason;
    } else if (best == nullptr || candidate.bound_us < best->bound_us) {
      best = &candidate;
    }
  }
  if (best == nullptr) {
    fail(ErrorCode::unsupported, "--moe-runner-backend ", automatic ? "auto" : forced,
         ": no such expert backend can run here; the backends of this build are:", reasons.str());
  }
  return *best->entry;
}

}  // namespace octet
