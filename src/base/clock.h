// base/clock.h — monotonic time.
#pragma once

#include <chrono>
#include <cstdint>

namespace octet {

/// Nanoseconds of the monotonic clock; only differences mean anything.
inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Seconds since construction.
class Stopwatch {
 public:
  double seconds() const { return static_cast<double>(now_ns() - start_ns_) * 1e-9; }

 private:
  int64_t start_ns_ = now_ns();
};

}  // namespace octet
