#include "scheduler/scheduler.h"

#include <algorithm>

namespace octet {

Scheduler::Scheduler(const SchedulerOptions& options, KvCache& cache) : options_(options), cache_(cache) {
  OCTET_CHECK(options.max_running_requests > 0 && options.context_length > 0);
  OCTET_CHECK(options.chunked_prefill_size >= options.max_running_requests);
  OCTET_CHECK(options.max_logit_rows >= options.max_running_requests);
}

void Scheduler::submit(RequestId request, std::vector<TokenId> prompt, int64_t max_new_tokens, bool all_logits) {
  const auto prompt_tokens = static_cast<int64_t>(prompt.size());
  const int64_t longest = prompt_tokens + std::min(max_new_tokens, options_.context_length);  // cannot overflow
  if (prompt.empty()) fail(ErrorCode::bad_request, "prompt: expected at least one token, got none");
  if (max_new_tokens < 0 || longest > options_.context_length) {
    fail(ErrorCode::bad_request, "prompt of ", prompt_tokens, " tokens and an answer of up to ", max_new_tokens,
         " are longer than the context of ", options_.context_length,
         " tokens; shorten the prompt or lower max_tokens (--max-tokens)");
  }
  if (pages_for(longest) > cache_.num_pages()) {
    fail(ErrorCode::bad_request, "prompt and answer of up to ", longest, " tokens need ", pages_for(longest),
         " cache pages, the cache has ", cache_.num_pages(), "; shorten the prompt or lower max_tokens");
  }
  waiting_.push_back({.request = request,
                      .tokens = std::move(prompt),
                      .prompt_tokens = prompt_tokens,
                      .max_tokens = longest,
                      .all_logits = all_logits});
}

/// Moves waiting requests to the running ones, in order of arrival, while a place and all their pages are free.
void Scheduler::admit() {
  while (!waiting_.empty() && running() < options_.max_running_requests) {
    Sequence& next = waiting_.front();
    if (!cache_.allocate(pages_for(next.max_tokens), next.pages)) return;
    running_.push_back(std::move(next));
    waiting_.pop_front();
  }
}

const StepPlan& Scheduler::plan() {
  admit();
  plan_ = {};
  int64_t logit_rows = 0;
  // Decode rows first: no running answer waits for another's prompt.
  for (Sequence& sequence : running_) {
    if (sequence.computed < sequence.prompt_tokens) continue;
    OCTET_CHECK(sequence.computed + 1 == static_cast<int64_t>(sequence.tokens.size()));  // append() was called
    add_rows(sequence, 1, RowKind::decode);
    ++logit_rows;
  }
  for (Sequence& sequence : running_) {
    const int64_t left = sequence.prompt_tokens - sequence.computed;
    int64_t rows = std::min(left, options_.chunked_prefill_size - plan_.num_tokens());
    if (sequence.all_logits) rows = std::min(rows, options_.max_logit_rows - logit_rows);
    if (left <= 0 || rows <= 0 || logit_rows >= options_.max_logit_rows) continue;
    logit_rows += sequence.all_logits ? rows : rows == left ? 1 : 0;
    add_rows(sequence, rows, RowKind::prefill);
  }
  return plan_;
}

void Scheduler::add_rows(Sequence& sequence, int64_t count, RowKind kind) {
  const int64_t first = plan_.num_tokens();
  append_rows(plan_, sequence.request, kind,
              std::span(sequence.tokens).subspan(static_cast<size_t>(sequence.computed), static_cast<size_t>(count)),
              sequence.computed, sequence.pages);
  sequence.computed += count;
  const bool last = sequence.computed == static_cast<int64_t>(sequence.tokens.size());
  for (int64_t row = first; row < first + count; ++row) {
    if (sequence.all_logits || (last && row + 1 == first + count)) plan_.logit_rows.push_back(row);
  }
}

void Scheduler::append(RequestId request, TokenId token) {
  const auto at =
      std::find_if(running_.begin(), running_.end(), [&](const Sequence& s) { return s.request == request; });
  OCTET_CHECK(at != running_.end() && static_cast<int64_t>(at->tokens.size()) < at->max_tokens);  // pages end there
  at->tokens.push_back(token);
}

void Scheduler::finish(RequestId request) {
  const auto same = [&](const Sequence& s) { return s.request == request; };
  if (const auto at = std::find_if(running_.begin(), running_.end(), same); at != running_.end()) {
    cache_.release(at->pages);
    running_.erase(at);
  } else if (const auto queued = std::find_if(waiting_.begin(), waiting_.end(), same); queued != waiting_.end()) {
    waiting_.erase(queued);
  }
}

}  // namespace octet
