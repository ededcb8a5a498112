// base/threads.h — persistent worker threads for the parts of one step.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace octet {

/// A non-owning reference to a callable, so that handing work to the pool allocates nothing.
template <class Signature>
class FunctionRef;

template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& f)  // NOLINT(google-explicit-constructor): made for call sites
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, A... a) -> R { return (*static_cast<std::remove_reference_t<F>*>(object))(a...); }) {}
  R operator()(A... a) const { return call_(object_, a...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

/// A fixed set of threads that run one job at a time together with the caller.
/// Workers spin for a short while after a job and then sleep, so that back-to-back jobs of one step cost about a
/// microsecond each and an idle engine costs nothing. Parts of a job are claimed, not assigned: a worker that the
/// operating system has put aside claims nothing and holds nobody up. One caller at a time: a pool belongs to one
/// engine.
class ThreadPool {
 public:
  /// num_threads counts the caller; 0 means default_num_threads().
  /// Throws Error(limit) if the system refuses to start that many.
  explicit ThreadPool(int num_threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return num_threads_; }

  /// Runs job(part) once for each part in [0, num_threads) and returns when all are done. Any thread may run any part,
  /// each part runs on one thread: `part` chooses scratch memory. The first exception of a job is rethrown here.
  void run(FunctionRef<void(int)> job);

  /// Runs body(begin, end) over [0, count) in chunks of `chunk` items that threads take in order of availability.
  /// Which thread runs a chunk is not fixed, so a body must not let its result depend on the thread.
  void for_chunks(int64_t count, int64_t chunk, FunctionRef<void(int64_t, int64_t)> body);

  /// CPUs that this process may run on (affinity and cgroup quota), at least 1.
  static int default_num_threads();

 private:
  // The present job's number in the upper half, the next part to claim in the lower half.
  using Ticket = uint64_t;

  void stop_workers();
  void worker();
  bool run_one_part();
  void wait_for_job(uint32_t seen);

  const int num_threads_;
  std::vector<std::thread> workers_;
  std::atomic<Ticket> ticket_;
  std::atomic<FunctionRef<void(int)>*> job_{nullptr};
  std::atomic<int> done_{0};  // finished parts of the present job
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::exception_ptr error_;  // guarded by mutex_
};

}  // namespace octet
