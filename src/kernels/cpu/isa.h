// kernels/cpu/isa.h — which instruction set the CPU kernels use.
#pragma once

#include "kernels/cpu/cpu_kernels.h"
#include "tensor/device_info.h"

namespace octet::cpu {

enum class CpuIsa : uint8_t { portable, avx2, avx512 };

/// The largest instruction set that a processor with these features runs and this build has kernels for.
CpuIsa best_isa(const CpuFeatures& features);

/// True if best_isa could choose `isa` on a processor with these features.
bool can_run(CpuIsa isa, const CpuFeatures& features);

/// The kernels of `isa`, which this build must have.
const CpuKernels& kernels_for(CpuIsa isa);

/// `features` without everything that is beyond `isa`; for tests of the lesser paths on a better machine.
CpuFeatures limited_to(CpuIsa isa, CpuFeatures features);

}  // namespace octet::cpu
