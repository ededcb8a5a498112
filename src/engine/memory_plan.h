// engine/memory_plan.h — what an engine's memory is for, computed before any of it is taken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

struct MemoryLine {
  std::string name;  // "weights (mapped)", "packed weights", "kv cache", "activations", "logits"
  int64_t bytes = 0;
};

/// Lines in the order in which they are printed.
struct MemoryPlan {
  std::vector<MemoryLine> lines;
  int64_t total() const;  // at most INT64_MAX
};

/// a * b for sizes from flags and files: INT64_MAX where it would not fit.
int64_t saturating_product(int64_t a, int64_t b);

/// Throws Error(no_memory) with every line if the plan is larger than `available` bytes.
void require_fit(const MemoryPlan& plan, int64_t available);

/// For people: "13.8 MB", powers of 1000.
std::string format_bytes(int64_t bytes);

}  // namespace octet
