// Every expert backend there is. One line adds one, here or in gpu/kernels.h; order only breaks ties.

#include <algorithm>
#include <array>
#include <utility>

#include "moe/experts/cpu/fp4_packed.h"
#include "moe/experts/cpu/rows.h"
#include "moe/experts/experts.h"
#include "moe/experts/gpu/kernels.h"
#include "moe/experts/reference/reference.h"

namespace octet {
namespace {

// clang-format off
constexpr std::array kCpuBackends = {
    // name                               can it run here?            how long, at best?                what does it pack?         build it
    ExpertBackendEntry{"cpu.rows",        cpu_rows::refuse,           cpu_rows::predicted_us,           cpu_rows::packed,          cpu_rows::make},
    ExpertBackendEntry{"cpu.fp4_packed",  cpu_fp4_packed::refuse,     cpu_fp4_packed::predicted_us,     cpu_fp4_packed::packed,    cpu_fp4_packed::make},
    ExpertBackendEntry{"reference",       reference_experts::refuse,  reference_experts::predicted_us,  reference_experts::packed, reference_experts::make},
};
// clang-format on

template <size_t... kGpu>
constexpr auto with_gpu_kernels(std::index_sequence<kGpu...>) {
  std::array<ExpertBackendEntry, sizeof...(kGpu) + kCpuBackends.size()> all{gpu_kernels::entry<kGpu>()...};
  std::copy(kCpuBackends.begin(), kCpuBackends.end(), all.begin() + sizeof...(kGpu));
  return all;
}

constexpr auto kExpertBackends = with_gpu_kernels(std::make_index_sequence<gpu_kernels::kKernels.size()>());

}  // namespace

std::span<const ExpertBackendEntry> expert_backends() { return kExpertBackends; }

const ExpertBackendEntry* find_expert_backend(std::string_view name) {
  const auto at = std::find_if(kExpertBackends.begin(), kExpertBackends.end(),
                               [&](const ExpertBackendEntry& entry) { return entry.name == name; });
  return at == kExpertBackends.end() ? nullptr : &*at;
}

}  // namespace octet
