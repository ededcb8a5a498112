// moe/experts/bound.h — how long the experts of one layer must take at least, by the bytes that they read.
#pragma once

#include "moe/experts/experts.h"

namespace octet {

/// Stored bytes of one expert's three matrices on this rank, scales included.
double expert_bytes(const MoeProblem& problem);

/// Distinct experts that num_tokens tokens visit on average, routed uniformly:  E (1 - (1 - A/E)^T).
double expected_experts(const MoeShape& shape);

/// Microseconds to read the expected experts once at the device's rate; at 10 GB/s where that is unknown.
double expert_read_us(const MoeProblem& problem, const DeviceInfo& device);

}  // namespace octet
