#include "base/account.h"

namespace octet {

LineId Account::line(std::string_view name) {
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].name == name) return LineId{static_cast<int32_t>(i)};
  }
  lines_.push_back(Line{.name = std::string(name)});
  return LineId{static_cast<int32_t>(lines_.size() - 1)};
}

void Account::add(LineId line, int64_t ns, const LineCost& cost) {
  Line& entry = lines_[static_cast<size_t>(line.value)];
  ++entry.calls;
  entry.ns += ns;
  entry.cost.bytes += cost.bytes;
  entry.cost.flops += cost.flops;
  entry.cost.distinct_experts += cost.distinct_experts;
}

void Account::reset() {
  for (Line& line : lines_) line = Line{.name = std::move(line.name)};
}

}  // namespace octet
