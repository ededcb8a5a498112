// base/account.h — what each operation of a step cost: time, bytes and floating-point operations by named line.
//
// Every operation of a forward pass runs under a line from the first day, so that a step's time can be compared with
// the hardware's bound line by line. Lines are interned once, when a model is built; inside a step only numbers move.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace octet {

struct LineId {
  int32_t value = 0;
};

/// Least work that an operation had to do; the account adds these up over calls.
struct LineCost {
  int64_t bytes = 0;             // weights, cache and activations that must be read at least once
  int64_t flops = 0;             // multiply and add count as two
  int64_t distinct_experts = 0;  // routed experts really read
};

class Account {
 public:
  struct Line {
    std::string name;
    int64_t calls = 0;
    int64_t ns = 0;
    LineCost cost;
  };

  /// Finds or adds a line. Not inside a step.
  LineId line(std::string_view name);
  void add(LineId line, int64_t ns, const LineCost& cost);
  void reset();
  const std::vector<Line>& lines() const { return lines_; }

 private:
  std::vector<Line> lines_;
};

/// Charges the time from construction to destruction to one line.
class ScopedLine {
 public:
  ScopedLine(Account& account, LineId line, LineCost cost = {}) : account_(account), line_(line), cost_(cost) {}
  ~ScopedLine() { account_.add(line_, now_ns() - start_ns_, cost_); }
  ScopedLine(const ScopedLine&) = delete;
  ScopedLine& operator=(const ScopedLine&) = delete;
  LineCost& cost() { return cost_; }

 private:
  Account& account_;
  LineId line_;
  LineCost cost_;
  int64_t start_ns_ = now_ns();
};

}  // namespace octet
