#include "moe/experts/cpu/bound.h"

#include <algorithm>
#include <cmath>

namespace octet {

double weight_bytes(const WeightFormat& f, int64_t n, int64_t k) {
  const double codes = code_bits(f.code) / 8.0;
  const double scales = static_cast<double>(scale_bytes(f.scale)) / f.block_rows / f.block_columns;
  return static_cast<double>(n) * static_cast<double>(k) * (codes + scales);
}

double expert_bytes(const MoeProblem& problem) {
  const MoeShape& s = problem.shape;
  return 2 * weight_bytes(problem.gate_up, s.expert_width, s.hidden) +
         weight_bytes(problem.down, s.hidden, s.expert_width);
}

double read_bound_us(const MoeProblem& problem, const DeviceInfo& device) {
  constexpr double kUnknownReadGbs = 10;
  const MoeShape& s = problem.shape;
  const double experts = s.num_experts;
  const double missed = std::pow(1.0 - std::min(1.0, s.top_k / experts), static_cast<double>(s.num_tokens));
  const double read_gbs = device.read_gbs > 0 ? device.read_gbs : kUnknownReadGbs;
  return experts * (1.0 - missed) * expert_bytes(problem) / (read_gbs * 1e3);
}

}  // namespace octet
