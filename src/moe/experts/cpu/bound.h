// moe/experts/cpu/bound.h — the least time of an expert layer on a CPU: reading its weights.
#pragma once

#include "moe/experts/experts.h"

namespace octet {

/// Bytes of codes and scales of one weight [n, k] of a format.
double weight_bytes(const WeightFormat& format, int64_t n, int64_t k);

/// Bytes of one expert's gate, up and down.
double expert_bytes(const MoeProblem& problem);

/// Time to read the experts that uniform routing is expected to visit, at the device's read rate (10 GB/s if unknown).
double read_bound_us(const MoeProblem& problem, const DeviceInfo& device);

}  // namespace octet
