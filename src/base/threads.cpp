#include "base/threads.h"

#include <sched.h>

#include <algorithm>
#include <fstream>

#include "base/clock.h"
#include "base/error.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet {
namespace {

// Longer than the serial parts between two jobs of a step, far shorter than a scheduler tick.
constexpr int64_t kSpinNs = 50'000;
constexpr uint32_t kClosed = UINT32_MAX;  // a part number that no job has: nothing can be claimed

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Calls ready() until it is true or kSpinNs have passed; returns its last value.
template <class Ready>
bool spin_until(const Ready& ready) {
  const int64_t deadline = now_ns() + kSpinNs;
  do {
    for (int i = 0; i < 32; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (now_ns() < deadline);
  return ready();
}

constexpr uint64_t make_ticket(uint32_t job, uint32_t part) { return (uint64_t{job} << 32) | part; }
constexpr uint32_t job_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
constexpr uint32_t part_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

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

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(num_threads > 0 ? num_threads : default_num_threads()), ticket_(make_ticket(0, kClosed)) {
  workers_.reserve(static_cast<size_t>(num_threads_ - 1));
  try {
    for (int thread = 1; thread < num_threads_; ++thread) workers_.emplace_back([this] { worker(); });
  } catch (const std::exception&) {  // std::system_error, or no memory for a stack
    const size_t started = workers_.size() + 1;
    stop_workers();
    fail(ErrorCode::limit, "could start ", started, " of ", num_threads_, " threads; lower --threads");
  }
}

ThreadPool::~ThreadPool() { stop_workers(); }

void ThreadPool::stop_workers() {
  {
    std::lock_guard lock(mutex_);
    stop_.store(true);
    ticket_.store(make_ticket(job_of(ticket_.load()) + 1, kClosed));
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(FunctionRef<void(int)> job) {
  if (num_threads_ == 1) return job(0);
  // The last job's ticket has no part left to claim, so nobody reads these until the new ticket stands.
  const uint32_t number = job_of(ticket_.load(std::memory_order_relaxed)) + 1;
  job_.store(&job, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  ticket_.store(make_ticket(number, 0));
  if (sleepers_.load() > 0) {
    // The lock orders this wake-up after a worker's decision to sleep, so none is lost.
    { std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  while (run_one_part()) {
  }
  const auto all_done = [&] { return done_.load(std::memory_order_acquire) == num_threads_; };
  while (!spin_until(all_done)) std::this_thread::yield();  // more threads than processors: let the others run
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    std::swap(error, error_);
  }
  if (error) std::rethrow_exception(error);
}

/// Claims a part of the present job and runs it; false if none is left.
bool ThreadPool::run_one_part() {
  Ticket ticket = ticket_.load(std::memory_order_acquire);
  do {
    if (part_of(ticket) >= static_cast<uint32_t>(num_threads_)) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel));
  // The claim succeeded on this job's ticket, so run() waits for this part and the job is alive.
  try {
    (*job_.load(std::memory_order_relaxed))(static_cast<int>(part_of(ticket)));
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  done_.fetch_add(1, std::memory_order_acq_rel);
  return true;
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

/// Returns when the job's number is no longer `seen`.
void ThreadPool::wait_for_job(uint32_t seen) {
  const auto changed = [&] { return job_of(ticket_.load()) != seen; };
  if (spin_until(changed)) return;
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  wake_.wait(lock, changed);
  sleepers_.fetch_sub(1);
}

void ThreadPool::worker() {
  for (;;) {
    const uint32_t seen = job_of(ticket_.load(std::memory_order_acquire));
    while (run_one_part()) {
    }
    if (stop_.load()) return;
    wait_for_job(seen);
  }
}

}  // namespace octet
