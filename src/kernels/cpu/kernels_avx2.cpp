// The kernels in AVX2 with FMA and F16C.
#include "kernels/cpu/lanes_avx2.h"
// After the lanes, which it is written in.
#include "kernels/cpu/kernels_impl.h"

namespace octet::cpu {
namespace {
constexpr CpuKernels kKernels = table("avx2");
}  // namespace

const CpuKernels* avx2_kernels() { return &kKernels; }

}  // namespace octet::cpu
