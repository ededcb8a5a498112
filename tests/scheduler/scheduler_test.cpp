#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

constexpr SchedulerOptions kSmall = {
    .max_running_requests = 4, .chunked_prefill_size = 8, .max_logit_rows = 6, .context_length = 500};

std::vector<TokenId> tokens(int64_t count, int32_t first = 0) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(TokenId{first + static_cast<int32_t>(i)});
  return ids;
}

class SchedulerTest : public ::testing::Test {
 protected:
  void submit(int32_t request, int64_t prompt, int64_t max_new_tokens, bool all_logits = false) {
    scheduler_.submit(RequestId{request}, tokens(prompt, 1000 * request), max_new_tokens, all_logits);
  }
  std::string submit_error(int64_t prompt, int64_t max_new_tokens) {
    return error_of(ErrorCode::bad_request, [&] { submit(1, prompt, max_new_tokens); });
  }
  /// The next step as text: "request kind first_position+rows" for each sequence.
  std::string step() {
    std::string text;
    for (const SequenceRows& s : scheduler_.plan().sequences) {
      text += (text.empty() ? "" : ", ") + std::to_string(s.request.value);
      text += (s.kind == RowKind::decode ? " decode " : " prefill ") + std::to_string(s.position);
      text += "+" + std::to_string(s.query_len);
    }
    return text;
  }
  void append(int32_t request) { scheduler_.append(RequestId{request}, TokenId{7}); }
  void finish(int32_t request) { scheduler_.finish(RequestId{request}); }

  KvCache cache_{{.groups = {{.name = "kv", .layers = {0}, .row_width = 1}}}, 8};
  Scheduler scheduler_{kSmall, cache_};
};

TEST_F(SchedulerTest, WithoutRequestsAStepIsEmpty) {
  EXPECT_TRUE(scheduler_.idle());
  EXPECT_EQ(step(), "");
  EXPECT_EQ(scheduler_.plan().num_tokens(), 0);
}

TEST_F(SchedulerTest, APromptIsReadInChunksAndThenAnsweredTokenByToken) {
  submit(1, 18, 3);
  EXPECT_EQ(step(), "1 prefill 0+8");
  EXPECT_EQ(step(), "1 prefill 8+8");
  const StepPlan& plan = scheduler_.plan();
  EXPECT_EQ(plan.tokens, tokens(2, 1016));
  EXPECT_EQ(plan.positions, (std::vector<int64_t>{16, 17}));
  EXPECT_EQ(plan.logit_rows, std::vector<int64_t>{1});
  append(1);
  EXPECT_EQ(step(), "1 decode 18+1");
  append(1);
  EXPECT_EQ(scheduler_.plan().tokens, std::vector<TokenId>{TokenId{7}});
  finish(1);
  EXPECT_TRUE(scheduler_.idle());
  EXPECT_EQ(cache_.free_pages(), 8);
}

TEST_F(SchedulerTest, LogitsAreWantedOfTheLastPromptRowOnly) {
  submit(1, 18, 1);
  EXPECT_TRUE(scheduler_.plan().logit_rows.empty());
  EXPECT_TRUE(scheduler_.plan().logit_rows.empty());
  EXPECT_EQ(scheduler_.plan().logit_rows, std::vector<int64_t>{1});
}

TEST_F(SchedulerTest, WithAllLogitsEveryPromptRowIsWantedAndTheirLimitCutsTheChunk) {
  submit(1, 9, 0, /*all_logits=*/true);
  EXPECT_EQ(step(), "1 prefill 0+6");
  EXPECT_EQ(scheduler_.plan().logit_rows, (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(SchedulerTest, DecodeRowsComeFirstAndPromptsShareTheRestInOrder) {
  submit(1, 2, 9);
  EXPECT_EQ(step(), "1 prefill 0+2");
  append(1);
  submit(2, 5, 9);
  submit(3, 9, 9);
  EXPECT_EQ(step(), "1 decode 2+1, 2 prefill 0+5, 3 prefill 0+2");
  append(1);
  append(2);
  EXPECT_EQ(step(), "1 decode 3+1, 2 decode 5+1, 3 prefill 2+6");
}

TEST_F(SchedulerTest, AChunkIsFilledByTheNextPromptWhenOneIsCutByTheLogitLimit) {
  submit(1, 20, 0, /*all_logits=*/true);
  submit(2, 20, 1);
  // Six logit rows are used up by request 1, and request 2 gets no row, since its chunk could be its last.
  EXPECT_EQ(step(), "1 prefill 0+6");
  EXPECT_EQ(step(), "1 prefill 6+6");
  EXPECT_EQ(step(), "1 prefill 12+6");
  EXPECT_EQ(step(), "1 prefill 18+2, 2 prefill 0+6");
}

TEST_F(SchedulerTest, NoMoreRequestsRunThanAllowed) {
  for (int32_t request = 1; request <= 6; ++request) submit(request, 1, 1);
  EXPECT_EQ(step(), "1 prefill 0+1, 2 prefill 0+1, 3 prefill 0+1, 4 prefill 0+1");
  EXPECT_EQ(scheduler_.running(), 4);
  EXPECT_EQ(scheduler_.waiting(), 2);
  for (int32_t request = 1; request <= 4; ++request) finish(request);
  EXPECT_EQ(step(), "5 prefill 0+1, 6 prefill 0+1");
}

TEST_F(SchedulerTest, ARequestThatDoesNotFitIsNotOvertakenByASmallerOne) {
  submit(1, 1, 299);  // 5 of 8 pages
  submit(2, 1, 200);  // 4 pages
  submit(3, 1, 1);    // 1 page
  EXPECT_EQ(step(), "1 prefill 0+1");
  EXPECT_EQ(scheduler_.waiting(), 2);
  EXPECT_EQ(cache_.free_pages(), 3);
  finish(1);
  EXPECT_EQ(step(), "2 prefill 0+1, 3 prefill 0+1");
  EXPECT_EQ(cache_.free_pages(), 3);
}

TEST_F(SchedulerTest, ARequestMayUseTheWholeContextAndTheWholeCache) {
  submit(1, 499, 1);
  step();
  EXPECT_EQ(cache_.free_pages(), 0);
}

TEST_F(SchedulerTest, FinishingARunningOrWaitingRequestFreesWhatItHolds) {
  for (int32_t request = 1; request <= 6; ++request) submit(request, 1, 1);
  step();
  finish(2);  // running
  finish(5);  // waiting
  EXPECT_EQ(scheduler_.running(), 3);
  EXPECT_EQ(scheduler_.waiting(), 1);
  EXPECT_EQ(cache_.free_pages(), 8 - 3);
  for (const int32_t request : {1, 3, 4}) append(request);
  EXPECT_EQ(step(), "1 decode 1+1, 3 decode 1+1, 4 decode 1+1, 6 prefill 0+1");
}

TEST_F(SchedulerTest, FinishingAnUnknownOrFinishedRequestChangesNothing) {
  submit(1, 1, 1);
  step();
  finish(99);
  EXPECT_EQ(scheduler_.running(), 1);
  EXPECT_EQ(cache_.free_pages(), 7);
  finish(1);
  finish(1);
  EXPECT_EQ(cache_.free_pages(), 8);
  EXPECT_TRUE(scheduler_.idle());
}

TEST_F(SchedulerTest, FinishingInTheMiddleOfAPromptFreesItsPages) {
  submit(1, 300, 10);
  step();
  EXPECT_EQ(cache_.free_pages(), 3);
  finish(1);
  EXPECT_EQ(cache_.free_pages(), 8);
  EXPECT_EQ(step(), "");
}

TEST_F(SchedulerTest, ARequestThatCanNeverRunIsRefusedWithTheNumbersAndLeavesNoTrace) {
  EXPECT_TRUE(contains(submit_error(0, 5), "at least one token"));
  const std::string too_long = submit_error(400, 101);
  for (const char* part : {"prompt of 400 tokens", "up to 101", "context of 500", "lower max_tokens"}) {
    EXPECT_TRUE(contains(too_long, part));
  }
  EXPECT_TRUE(contains(submit_error(501, 0), "prompt of 501 tokens"));
  EXPECT_TRUE(contains(submit_error(1, -1), "up to -1"));
  EXPECT_TRUE(scheduler_.idle());
  EXPECT_NO_THROW(submit(1, 400, 100));
}

TEST_F(SchedulerTest, AnAnswerLengthNearTheEndOfItsTypeIsRefused) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(contains(submit_error(2, most), "up to 9223372036854775807"));
  EXPECT_TRUE(contains(submit_error(2, most - 1), "up to 9223372036854775806"));
  EXPECT_TRUE(contains(submit_error(2, -most), "up to -9223372036854775807"));
}

TEST(SchedulerLimits, ARequestLargerThanTheCacheIsRefusedWithItsPages) {
  KvCache cache({.groups = {{.name = "kv", .layers = {0}, .row_width = 1}}}, 3);
  Scheduler scheduler(kSmall, cache);
  const auto submit = [&](int64_t max_new_tokens) {
    scheduler.submit(RequestId{1}, tokens(100), max_new_tokens, /*all_logits=*/false);
  };
  const std::string message = error_of(ErrorCode::bad_request, [&] { submit(93); });
  EXPECT_TRUE(contains(message, "up to 193 tokens need 4 cache pages, the cache has 3"));
  EXPECT_NO_THROW(submit(92));
}

TEST(SchedulerLimits, OptionsThatCouldStarveARunningRequestAreRefused) {
  KvCache cache({.groups = {{.name = "kv", .layers = {0}, .row_width = 1}}}, 3);
  const auto refused = [&](SchedulerOptions options) {
    return !error_of(ErrorCode::internal, [&] { Scheduler(options, cache); }).empty();
  };
  EXPECT_FALSE(refused({4, 4, 4, 100}));
  EXPECT_TRUE(refused({4, 3, 4, 100}));
  EXPECT_TRUE(refused({4, 4, 3, 100}));
  EXPECT_TRUE(refused({0, 4, 4, 100}));
  EXPECT_TRUE(refused({4, 4, 4, 0}));
}

TEST_F(SchedulerTest, MistakesOfTheCallerAreCaught) {
  submit(1, 2, 1);
  EXPECT_NE(error_of(ErrorCode::internal, [&] { append(1); }), "") << "it waits";
  step();
  EXPECT_NE(error_of(ErrorCode::internal, [&] { scheduler_.plan(); }), "") << "no token was appended";
  append(1);
  EXPECT_NE(error_of(ErrorCode::internal, [&] { append(1); }), "") << "beyond its max_new_tokens";
  EXPECT_NE(error_of(ErrorCode::internal, [&] { append(99); }), "") << "unknown";
}

}  // namespace
}  // namespace octet
