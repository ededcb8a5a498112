// scheduler/scheduler.h — which rows the next step computes. A pure state machine over a page pool: no model, no clock.
//
// First come, first served. Each step holds one row for every sequence that is decoding and, while rows are left,
// chunks of the prompts that are waiting. A request is admitted when pages for its prompt and its longest answer are
// free, so a running request never runs out of pages.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/ids.h"
#include "kv_cache/kv_cache.h"
#include "kv_cache/step_plan.h"

namespace octet {

struct SchedulerOptions {
  int64_t max_running_requests = 64;   // sequences in one step
  int64_t chunked_prefill_size = 512;  // rows of one step, decode rows included; at least max_running_requests
  int64_t max_logit_rows = 512;        // rows of one step whose logits are wanted
  int64_t context_length = 0;          // longest prompt + answer in tokens
};

class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, KvCache& cache);

  /// Queues a request. all_logits: logits of every prompt row are wanted, not only of the last.
  /// Throws Error(bad_request) with the numbers if it could never run: an empty prompt, or prompt + max_new_tokens
  /// beyond the context or the whole cache.
  void submit(RequestId request, std::vector<TokenId> prompt, int64_t max_new_tokens, bool all_logits);

  /// The next step; no sequences in it means that there is nothing to do. Valid until the next call of any method.
  /// The rows count as computed once plan() returns. Sequences whose last known token is in the plan have its logits
  /// wanted: the caller samples and calls append() or finish() for each of them before the next plan().
  const StepPlan& plan();

  /// Adds a sampled token: the sequence decodes it in the next step.
  void append(RequestId request, TokenId token);
  /// Ends a request, running or waiting, and frees its pages. Unknown requests are ignored.
  void finish(RequestId request);

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t running() const { return static_cast<int64_t>(running_.size()); }
  bool idle() const { return waiting_.empty() && running_.empty(); }

 private:
  struct Sequence {
    RequestId request;
    std::vector<TokenId> tokens;  // prompt and answer so far
    int64_t prompt_tokens = 0;
    int64_t computed = 0;    // tokens whose cache rows exist
    int64_t max_tokens = 0;  // prompt and longest answer
    bool all_logits = false;
    std::vector<PageId> pages;
  };

  void admit();
  void add_rows(Sequence& sequence, int64_t count, RowKind kind);

  SchedulerOptions options_;
  KvCache& cache_;
  std::deque<Sequence> waiting_;  // in order of arrival
  std::deque<Sequence> running_;  // in order of admission
  StepPlan plan_;
};

}  // namespace octet
