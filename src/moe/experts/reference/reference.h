// moe/experts/reference/reference.h — the expert layer that defines the answer: each (token, expert) pair on its own,
// weights dequantized exactly, double sums, no rounding of activations.
#pragma once

#include "moe/experts/experts.h"

namespace octet::reference_experts {

std::optional<Refusal> refuse(const MoeProblem& problem, const DeviceInfo& device);  // on a CPU, other activations only
double predicted_us(const MoeProblem& problem, const DeviceInfo& device);
PackedWeights packed(const MoeProblem& problem);  // nothing
std::unique_ptr<ExpertLayer> make(const MoeProblem& problem, const DeviceInfo& device, ExpertWeights weights);

}  // namespace octet::reference_experts
