#include "engine/memory_plan.h"

#include <cstdio>
#include <sstream>

#include "base/error.h"

namespace octet {

int64_t MemoryPlan::total() const {
  int64_t bytes = 0;
  for (const MemoryLine& line : lines) {
    if (__builtin_add_overflow(bytes, line.bytes, &bytes)) return INT64_MAX;
  }
  return bytes;
}

int64_t saturating_product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

std::string format_bytes(int64_t bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1000 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

void require_fit(const MemoryPlan& plan, int64_t available) {
  if (plan.total() <= available) return;
  std::ostringstream lines;
  for (const MemoryLine& line : plan.lines) lines << "\n  " << line.name << ": " << format_bytes(line.bytes);
  fail(ErrorCode::no_memory, "the memory plan needs ", format_bytes(plan.total()), ", there are ",
       format_bytes(available), "; lower --context-length or --max-running-requests. The plan:", lines.str());
}

}  // namespace octet
