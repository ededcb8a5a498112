// moe/experts/cpu/rows.h — routed experts on the CPU, reading canonical weights in place.
//
// (token, expert) pairs are grouped by expert. A first set of items, (expert, range of inner rows), computes
// silu(gate) * up; a second, one range of output rows each, adds every expert's part into y. An output element is
// written by one thread, which adds a token's experts in ascending order, so neither threads nor other tokens change
// its bits.
#pragma once

#include "moe/experts/experts.h"

namespace octet::cpu_rows {

/// Takes every format that the CPU kernels read in place (kernels/cpu/weight_rows.h), and every shape.
std::optional<Refusal> refuse(const MoeProblem& problem, const DeviceInfo& device);

/// Time to read the experts that uniform routing is expected to visit, at the device's read rate (10 GB/s if unknown).
double predicted_us(const MoeProblem& problem, const DeviceInfo& device);

/// Nothing: weights stay where the checkpoint has them.
PackedWeights packed(const MoeProblem& problem);

std::unique_ptr<ExpertLayer> make(const MoeProblem& problem, const DeviceInfo& device, ExpertWeights weights);

}  // namespace octet::cpu_rows
