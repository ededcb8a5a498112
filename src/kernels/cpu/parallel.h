// kernels/cpu/parallel.h — how the CPU path hands items of work to threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/threads.h"

namespace octet::cpu {

/// Work below this many nanoseconds stays on the caller's thread: a fork and join costs one to two microseconds, more
/// on a machine with other work to do.
inline constexpr double kForkNs = 6000;

/// About the time of one thread with AVX2: 25 GB/s of reads from cache or 30 GFLOP/s, whichever takes longer.
constexpr double estimated_ns(int64_t bytes, int64_t flops) {
  const double read = static_cast<double>(bytes) / 25.0;
  const double math = static_cast<double>(flops) / 30.0;
  return read > math ? read : math;
}

/// Runs body(thread, item) for every item in [0, count). Threads take items in order of availability; `thread`, in
/// [0, max_threads), is for choosing scratch memory, and results must not depend on it. work_ns is an estimate of the
/// whole on one thread.
template <class Body>
void for_items(ThreadPool& threads, int64_t count, double work_ns, int max_threads, const Body& body) {
  if (count <= 1 || work_ns < kForkNs || threads.num_threads() == 1 || max_threads <= 1) {
    for (int64_t item = 0; item < count; ++item) body(0, item);
    return;
  }
  std::atomic<int64_t> next{0};
  threads.run([&](int thread) {
    if (thread >= max_threads) return;
    for (;;) {
      const int64_t item = next.fetch_add(1, std::memory_order_relaxed);
      if (item >= count) return;
      body(thread, item);
    }
  });
}

/// for_items whose body(thread, item, following) also learns which item its thread takes next (count or more: none), so
/// that it can fetch that item's memory while it still computes.
template <class Body>
void for_items_ahead(ThreadPool& threads, int64_t count, double work_ns, int max_threads, const Body& body) {
  if (count <= 1 || work_ns < kForkNs || threads.num_threads() == 1 || max_threads <= 1) {
    for (int64_t item = 0; item < count; ++item) body(0, item, item + 1);
    return;
  }
  std::atomic<int64_t> next{0};
  threads.run([&](int thread) {
    if (thread >= max_threads) return;
    int64_t item = next.fetch_add(1, std::memory_order_relaxed);
    while (item < count) {
      const int64_t following = next.fetch_add(1, std::memory_order_relaxed);
      body(thread, item, following);
      item = following;
    }
  });
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t multiple) { return ceil_div(a, multiple) * multiple; }

}  // namespace octet::cpu
