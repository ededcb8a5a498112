// kv_cache/step_plan.h — what one step computes, as plain data: written by the scheduler, read by models.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace octet {

/// Why a sequence has rows in a step. A verify row checks drafted tokens; models treat all kinds alike.
enum class RowKind : uint8_t { prefill, decode, verify };

/// Consecutive rows of one sequence: positions [position, position + query_len).
struct SequenceRows {
  RequestId request;
  RowKind kind = RowKind::prefill;
  int64_t first_row = 0;          // in StepPlan::tokens
  int64_t query_len = 0;          // 1 or more
  int64_t position = 0;           // of the first row; equal to the number of cached tokens before this step
  std::span<const PageId> pages;  // page table; covers position + query_len tokens
};

/// One step. Rows of different sequences never see each other.
struct StepPlan {
  std::vector<TokenId> tokens;      // [T]
  std::vector<int64_t> positions;   // [T]
  std::vector<uint8_t> is_padding;  // [T] 1: the row only fills a bucket; it is not routed and reads no expert
  std::vector<SequenceRows> sequences;
  std::vector<int64_t> logit_rows;  // rows whose logits are wanted, ascending; may be empty

  int64_t num_tokens() const { return static_cast<int64_t>(tokens.size()); }
};

/// Appends rows [position, position + ids.size()) of one sequence to a plan, with positions and padding flags.
void append_rows(StepPlan& plan, RequestId request, RowKind kind, std::span<const TokenId> ids, int64_t position,
                 std::span<const PageId> pages);

}  // namespace octet
