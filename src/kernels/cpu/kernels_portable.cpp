// The kernels in portable C++.
#include "kernels/cpu/lanes_portable.h"
// After the lanes, which it is written in.
#include "kernels/cpu/kernels_impl.h"

namespace octet::cpu {
namespace {
constexpr CpuKernels kKernels = table("portable");
}  // namespace

const CpuKernels* portable_kernels() { return &kKernels; }

}  // namespace octet::cpu
