#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <exception>
#include <fstream>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet {
namespace {

// About 50 microseconds: longer than the serial parts between two jobs of a step, far shorter than a scheduler tick.
constexpr int kSpins = 4000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

int ThreadPool::default_num_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cpus = 1;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cpus = std::max(1, CPU_COUNT(&set));
  // cgroup v2: "quota period" in microseconds, or "max period".
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  int64_t quota = 0, period = 0;
  if (file >> quota >> period && quota > 0 && period > 0) {
    cpus = static_cast<int>(std::clamp<int64_t>((quota + period - 1) / period, 1, cpus));
  }
  return cpus;
}

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads > 0 ? num_threads : default_num_threads()) {
  workers_.reserve(static_cast<size_t>(num_threads_ - 1));
  for (int thread = 1; thread < num_threads_; ++thread) workers_.emplace_back([this, thread] { worker(thread); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  generation_.fetch_add(1);
  { std::lock_guard lock(mutex_); }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(FunctionRef<void(int)> job) {
  if (num_threads_ == 1) return job(0);
  job_ = &job;
  unfinished_.store(num_threads_ - 1);
  generation_.fetch_add(1);
  if (sleepers_.load() > 0) {
    // The lock orders this wake-up after a worker's decision to sleep, so none is lost.
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  std::exception_ptr mine;
  try {
    job(0);
  } catch (...) {
    mine = std::current_exception();
  }
  for (int spin = 0; unfinished_.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < kSpins) {
      pause();
    } else {
      std::this_thread::yield();  // more threads than processors: let the others run
    }
  }
  std::exception_ptr theirs;
  {
    std::lock_guard lock(mutex_);
    std::swap(theirs, error_);
  }
  if (mine) std::rethrow_exception(mine);
  if (theirs) std::rethrow_exception(theirs);
}

void ThreadPool::for_chunks(int64_t count, int64_t chunk, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  chunk = std::max<int64_t>(chunk, 1);
  if (num_threads_ == 1 || count <= chunk) {
    for (int64_t begin = 0; begin < count; begin += chunk) body(begin, std::min(count, begin + chunk));
    return;
  }
  std::atomic<int64_t> next{0};
  run([&](int) {
    for (;;) {
      const int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count) return;
      body(begin, std::min(count, begin + chunk));
    }
  });
}

void ThreadPool::worker(int thread) {
  uint64_t seen = 0;
  for (;;) {
    int spin = 0;
    while (generation_.load(std::memory_order_acquire) == seen) {
      if (++spin < kSpins) {
        pause();
        continue;
      }
      std::unique_lock lock(mutex_);
      sleepers_.fetch_add(1);
      wake_.wait(lock, [&] { return generation_.load() != seen; });
      sleepers_.fetch_sub(1);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    try {
      (*job_)(thread);
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    unfinished_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

}  // namespace octet
