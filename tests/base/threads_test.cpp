#include "base/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace octet {
namespace {

/// Seconds of processor time that all threads of this process have used.
double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// How often each part of one job ran; plain integers, so that the thread sanitizer sees a part that runs twice.
std::vector<int> parts_of_one_job(ThreadPool& pool) {
  std::vector<int> runs(static_cast<size_t>(pool.num_threads()), 0);
  pool.run([&](int part) { ++runs[static_cast<size_t>(part)]; });
  return runs;
}

class ThreadPoolOf : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, ::testing::Values(1, 2, 3, 4, 16, 33));

TEST_P(ThreadPoolOf, RunsEveryPartOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.num_threads(), GetParam());
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(parts_of_one_job(pool), std::vector<int>(static_cast<size_t>(GetParam()), 1)) << round;
  }
}

TEST_P(ThreadPoolOf, CoversEveryItemOnceInChunksOfTheAskedSize) {
  ThreadPool pool(GetParam());
  for (const int64_t count : {0, 1, 2, 63, 64, 65, 1000}) {
    for (const int64_t chunk : {1, 2, 7, 64, 999, 1000, 5000}) {
      std::vector<int> seen(static_cast<size_t>(count), 0);
      std::atomic<bool> sizes_fit{true};
      pool.for_chunks(count, chunk, [&](int64_t begin, int64_t end) {
        const bool fits = begin % chunk == 0 && end == std::min(count, begin + chunk);
        if (!fits) sizes_fit = false;
        for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(count), 1)) << count << " in chunks of " << chunk;
      EXPECT_TRUE(sizes_fit) << count << " in chunks of " << chunk;
    }
  }
}

TEST_P(ThreadPoolOf, RethrowsAnExceptionOfAnyPartAndStaysUsable) {
  ThreadPool pool(GetParam());
  for (int bad = 0; bad < GetParam(); ++bad) {
    std::vector<int> runs(static_cast<size_t>(GetParam()), 0);
    const auto job = [&](int part) {
      ++runs[static_cast<size_t>(part)];
      if (part == bad) throw std::runtime_error("part " + std::to_string(part));
    };
    try {
      pool.run(job);
      ADD_FAILURE() << "nothing thrown for part " << bad;
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(e.what(), "part " + std::to_string(bad));
    }
    EXPECT_EQ(runs, std::vector<int>(static_cast<size_t>(GetParam()), 1)) << "the other parts run to their end";
    EXPECT_EQ(parts_of_one_job(pool), std::vector<int>(static_cast<size_t>(GetParam()), 1));
  }
}

TEST_P(ThreadPoolOf, IsDestroyedSafelyBeforeItsFirstJobAndRightAfterOne) {
  for (int round = 0; round < 20; ++round) {
    { const ThreadPool unused(GetParam()); }
    ThreadPool pool(GetParam());
    EXPECT_EQ(parts_of_one_job(pool).size(), static_cast<size_t>(GetParam()));
  }
}

TEST(ThreadPool, WhenEveryPartThrowsOneExceptionArrivesAndTheNextJobHasNone) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(pool.run([](int part) { throw part; }), int);
    EXPECT_NO_THROW(pool.run([](int) {}));
  }
}

TEST(ThreadPool, AnExceptionInAChunkIsRethrown) {
  ThreadPool pool(3);
  const auto body = [](int64_t begin, int64_t) {
    if (begin == 70) throw std::out_of_range("70");
  };
  EXPECT_THROW(pool.for_chunks(100, 10, body), std::out_of_range);
  EXPECT_THROW(pool.for_chunks(100, 10, body), std::out_of_range);
}

TEST(ThreadPool, ThousandsOfTinyJobsInARowSeeTheWritesOfTheJobBefore) {
  ThreadPool pool(4);
  std::vector<int64_t> values(4, 0);
  constexpr int64_t kJobs = 5000;
  for (int64_t job = 0; job < kJobs; ++job) {
    // Each part reads what another thread may have written in the job before.
    const std::vector<int64_t> before = values;
    pool.run([&](int part) {
      const auto p = static_cast<size_t>(part);
      values[p] = before[(p + 1) % 4] + 1;
    });
  }
  EXPECT_EQ(values, std::vector<int64_t>(4, kJobs));
}

TEST(ThreadPool, WorkersWakeUpForAJobAfterTheyHaveSlept) {
  ThreadPool pool(3);
  for (int round = 0; round < 30; ++round) {
    if (round % 3 == 0) sleep_ms(2);  // far longer than workers spin
    // The thread that has part 0 waits for the other parts, so it needs a worker that is awake.
    std::atomic<int> others{0};
    bool helped = false;
    pool.run([&](int part) {
      if (part > 0) {
        ++others;
        return;
      }
      const Stopwatch watch;
      while (others < 2 && watch.seconds() < 20) std::this_thread::yield();
      helped = others == 2;
    });
    ASSERT_TRUE(helped) << "no worker took a part in round " << round;
  }
}

TEST(ThreadPool, AnIdlePoolUsesNoProcessorTime) {
  ThreadPool pool(8);
  parts_of_one_job(pool);
  sleep_ms(20);  // workers have stopped spinning
  const double before = cpu_seconds();
  sleep_ms(200);
  EXPECT_LT(cpu_seconds() - before, 0.05);
}

TEST(ThreadPool, JobsThatAlternateWithShortAndLongPausesLoseNoWakeUp) {
  ThreadPool pool(4);
  for (int round = 0; round < 400; ++round) {
    const int64_t begin = now_ns();
    // Pauses around the length of a worker's spinning, so that jobs arrive while workers fall asleep.
    while (now_ns() - begin < 1000 * (40 + round % 20)) {
    }
    ASSERT_EQ(parts_of_one_job(pool), std::vector<int>(4, 1)) << round;
  }
}

TEST(ThreadPool, TwoPoolsWorkAtTheSameTimeWithoutMixingTheirJobs) {
  const auto sum_with_own_pool = [](int64_t factor) {
    ThreadPool pool(3);
    std::vector<int64_t> values(500, 0);
    for (int round = 0; round < 200; ++round) {
      pool.for_chunks(500, 7, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) values[static_cast<size_t>(i)] += factor;
      });
    }
    return std::accumulate(values.begin(), values.end(), int64_t{0});
  };
  int64_t other = 0;
  std::thread second([&] { other = sum_with_own_pool(5); });
  EXPECT_EQ(sum_with_own_pool(2), 500 * 200 * 2);
  second.join();
  EXPECT_EQ(other, 500 * 200 * 5);
}

TEST(ThreadPool, AJobMayUseAnotherPool) {
  ThreadPool outer(3);
  std::vector<std::unique_ptr<ThreadPool>> inner;
  for (int part = 0; part < 3; ++part) inner.push_back(std::make_unique<ThreadPool>(2));
  std::atomic<int> runs{0};
  for (int round = 0; round < 100; ++round) {
    outer.run([&](int part) { inner[static_cast<size_t>(part)]->run([&](int) { ++runs; }); });
  }
  EXPECT_EQ(runs, 100 * 3 * 2);
}

TEST(ThreadPool, CountsBelowOneDoNothingAndChunksBelowOneCountAsOne) {
  ThreadPool pool(3);
  int calls = 0;
  pool.for_chunks(0, 4, [&](int64_t, int64_t) { ++calls; });
  pool.for_chunks(-5, 4, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
  std::atomic<int> items{0};
  pool.for_chunks(10, 0, [&](int64_t begin, int64_t end) {
    if (end == begin + 1) ++items;
  });
  EXPECT_EQ(items, 10);
}

TEST(ThreadPool, OneThreadRunsEverythingOnTheCaller) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  pool.run([&](int) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  int64_t next = 0;
  pool.for_chunks(10, 3, [&](int64_t begin, int64_t end) {
    EXPECT_EQ(begin, next);  // in order
    EXPECT_EQ(std::this_thread::get_id(), caller);
    next = end;
  });
  EXPECT_EQ(next, 10);
}

TEST(ThreadPool, ZeroThreadsMeansTheDefaultWhichLiesWithinTheMachine) {
  const int by_default = ThreadPool::default_num_threads();
  EXPECT_GE(by_default, 1);
  EXPECT_LE(by_default, static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  EXPECT_EQ(ThreadPool(0).num_threads(), by_default);
}

}  // namespace
}  // namespace octet
