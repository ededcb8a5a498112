// The kernels in AVX-512.
#include "kernels/cpu/lanes_avx512.h"
// After the lanes, which it is written in.
#include "kernels/cpu/kernels_impl.h"

namespace octet::cpu {
namespace {
constexpr CpuKernels kKernels = table("avx512");
}  // namespace

const CpuKernels* avx512_kernels() { return &kKernels; }

}  // namespace octet::cpu
