// tokenizer/template/budget.h — what one rendering may still use.
#pragma once

#include <cstdint>

#include "tokenizer/template/value.h"

namespace octet::jinja {

/// Counts down work and memory; throws Failure(limit) when one is used up.
class Budget {
 public:
  Budget(int64_t steps, int64_t bytes) : steps_(steps), bytes_(bytes) {}

  /// One unit is one evaluated node or about 64 bytes looked at.
  void work(int64_t units) {
    if ((steps_ -= units) < 0) exhausted("the template takes too many steps");
  }
  void work_on(const Value& value) { work(1 + value.weight() / 64); }

  /// Call before the memory is allocated. Freed memory does not come back.
  void allocate(int64_t bytes) {
    if (bytes > bytes_ || bytes < 0) exhausted("the template takes too much memory");
    bytes_ -= bytes;
  }

  int64_t bytes_left() const { return bytes_; }

 private:
  int64_t steps_;
  int64_t bytes_;
};

}  // namespace octet::jinja
