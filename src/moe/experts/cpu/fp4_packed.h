// moe/experts/cpu/fp4_packed.h — routed experts on the CPU with FP4 weights repacked for reading at memory speed.
//
// Every expert is one stretch of memory: panels of 16 rows (kernels/cpu/fp4_panels.h), first gate and up in turn, then
// down. As in rows.h a first set of items, (expert, range of inner rows), computes silu(gate) * up, and a second, one
// range of output rows each, adds every expert's part into y; an output element is written by one thread, which adds a
// token's experts in ascending order. Activations of both products are 16-bit integers with a scale for 16 of them.
#pragma once

#include "moe/experts/experts.h"

namespace octet::cpu_fp4_packed {

/// Takes NVFP4 and MXFP4 on processors with at least AVX2 and FMA, and every shape.
std::optional<Refusal> refuse(const MoeProblem& problem, const DeviceInfo& device);

/// Time to read the experts that uniform routing is expected to visit, at the device's read rate (10 GB/s if unknown).
double predicted_us(const MoeProblem& problem, const DeviceInfo& device);

/// The panels of all experts of a layer: the size of the canonical weights, and what padding to whole panels adds.
PackedWeights packed(const MoeProblem& problem);

/// Repacks with as many threads as the device has. The canonical weights are not read afterwards.
std::unique_ptr<ExpertLayer> make(const MoeProblem& problem, const DeviceInfo& device, ExpertWeights weights);

}  // namespace octet::cpu_fp4_packed
