// kernels/cpu/fp4_group_scale.h — the scale of 16 activations as integers. Internal linkage, like all that is compiled
// for one instruction set (cpu_kernels.h).
#pragma once

#include "kernels/cpu/fp4_panels.h"

namespace octet::cpu {
namespace {

/// From the bits of the largest magnitude of 16 activations.
struct GroupScale {
  explicit GroupScale(int32_t largest_bits) {
    constexpr int32_t kInfinity = 0x7f800000;
    constexpr float kLargest = static_cast<float>(kActivationSteps);
    constexpr float kLeast = 0x1p-100f;  // below, the quotient would overflow
    float largest = 0;
    __builtin_memcpy(&largest, &largest_bits, 4);
    if (largest_bits >= kInfinity) {
      step = __builtin_nanf("");
    } else if (largest >= kLeast) {
      steps = kLargest / largest;
      step = largest / (2 * kLargest);
    }
  }
  float steps = 0;  // steps in 1
  float step = 0;   // what one step stands for, by half: codes are looked up doubled
};

inline void store_scale(float step, int64_t begin, int64_t k, uint8_t* out) {
  __builtin_memcpy(out + prepared_scales(k) + begin / kActivationGroup * 4, &step, 4);
}

}  // namespace
}  // namespace octet::cpu
