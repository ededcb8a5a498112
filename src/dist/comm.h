// dist/comm.h — what ranks of one model say to each other. A single rank is the only one so far; tensor and expert
// parallelism add implementations, not calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace octet {

/// Which part of the model this process holds.
struct RankLayout {
  int32_t rank = 0;
  int32_t num_ranks = 1;
  bool operator==(const RankLayout&) const = default;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual RankLayout layout() const = 0;
  /// Element-wise sum over all ranks, in rank order, left in `values` on every rank.
  virtual void all_reduce_sum(std::span<float> values) = 0;
  /// Rank 0's bytes on every rank: backend choices and sampled tokens.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
};

/// One rank: every call returns at once.
std::unique_ptr<Comm> make_single_comm();

}  // namespace octet
