// Stands in for kernels_avx2.cpp and kernels_avx512.cpp on other architectures.
#include "kernels/cpu/cpu_kernels.h"

namespace octet::cpu {

const CpuKernels* avx2_kernels() { return nullptr; }
const CpuKernels* avx512_kernels() { return nullptr; }

}  // namespace octet::cpu
