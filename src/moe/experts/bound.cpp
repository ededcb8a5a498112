#include "moe/experts/bound.h"

#include <algorithm>
#include <cmath>

namespace octet {
namespace {

constexpr double kUnknownReadGbs = 10;

double bytes_a_weight(const WeightFormat& f) {
  return code_bits(f.code) / 8.0 + static_cast<double>(scale_bytes(f.scale)) / f.block_rows / f.block_columns;
}

}  // namespace

double expert_bytes(const MoeProblem& problem) {
  const double weights = static_cast<double>(problem.shape.hidden) * static_cast<double>(problem.shape.expert_width);
  return weights * (2 * bytes_a_weight(problem.gate_up) + bytes_a_weight(problem.down));
}

double expected_experts(const MoeShape& shape) {
  const double experts = shape.num_experts;
  if (experts == 0) return 0;
  const double missed = std::pow(1.0 - std::min(1.0, shape.top_k / experts), static_cast<double>(shape.num_tokens));
  return experts * (1.0 - missed);
}

double expert_read_us(const MoeProblem& problem, const DeviceInfo& device) {
  const double read_gbs = device.read_gbs > 0 ? device.read_gbs : kUnknownReadGbs;
  return expected_experts(problem.shape) * expert_bytes(problem) / (read_gbs * 1e3);
}

}  // namespace octet
