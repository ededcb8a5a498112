// The engine on the bundled model: answers, endings, cancellation, and what other requests notice of it (nothing).

#include "engine/engine.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/golden.h"
#include "support/error_of.h"

namespace octet {
namespace {

constexpr const char* kModel = OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4";

struct Outcome {
  std::vector<TokenId> tokens;
  std::string text;
  std::optional<FinishReason> finish;
  std::string error;
};

/// Runs everything that was submitted to its end.
std::map<RequestId, Outcome> run_all(Engine& engine) {
  std::map<RequestId, Outcome> outcomes;
  do {
    for (const Event& event : engine.poll()) {
      Outcome& outcome = outcomes[event.request];
      EXPECT_FALSE(outcome.finish.has_value()) << "an event after the last one";
      if (event.sample) outcome.tokens.push_back(event.sample->token);
      outcome.text += event.text;
      outcome.finish = event.finish;
      outcome.error = event.error;
    }
  } while (engine.step());
  return outcomes;
}

Request greedy(std::vector<TokenId> prompt, int64_t max_tokens = 40) {
  Request request{.prompt = std::move(prompt), .max_tokens = max_tokens};
  request.sampling.temperature = 0;
  return request;
}

class EngineTest : public ::testing::Test {
 protected:
  EngineTest()
      : engine_({.model_dir = kModel, .max_running_requests = 16}),
        golden_(Golden::load(std::string(kModel) + "/golden", 8192)) {}

  std::vector<TokenId> walrus() const { return golden_.prompts()[0].ids; }
  Outcome answer(Request request) {
    const RequestId id = engine_.submit(std::move(request));
    return run_all(engine_).at(id);
  }

  Engine engine_;
  Golden golden_;
};

TEST_F(EngineTest, GreedyAnswersEqualTheGoldenOnesAloneAndTogether) {
  std::vector<RequestId> ids;
  for (const GoldenPrompt& prompt : golden_.prompts()) {
    EXPECT_EQ(answer(greedy(prompt.ids)).tokens, prompt.greedy_ids) << "alone";
  }
  for (const GoldenPrompt& prompt : golden_.prompts()) {
    ids.push_back(engine_.submit(greedy(prompt.ids)));
    if (ids.size() % 3 == 0) engine_.step();  // they join while others are under way
  }
  const std::map<RequestId, Outcome> together = run_all(engine_);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(together.at(ids[i]).tokens, golden_.prompts()[i].greedy_ids) << i;
}

TEST_F(EngineTest, EndOfSequenceStopsWithoutItsText) {
  const Outcome outcome = answer(greedy(walrus()));
  EXPECT_EQ(outcome.finish, FinishReason::stop);
  EXPECT_EQ(outcome.text,
            "Walrus (noun): either of two large northern marine mammals having ivory tusks and tough hide over thick "
            "blubber.");
  EXPECT_EQ(outcome.tokens.back(), TokenId{8187});  // <|user|>, one of three end-of-sequence ids
}

TEST_F(EngineTest, EosIsTheUnionOfAllFiles) {
  EXPECT_EQ(engine_.eos(), (std::vector<TokenId>{TokenId{8180}, TokenId{8187}, TokenId{8189}}));
}

TEST_F(EngineTest, IgnoreEosGoesOnToTheLongestLength) {
  Request request = greedy(walrus(), 60);
  request.ignore_eos = true;
  const Outcome outcome = answer(std::move(request));
  EXPECT_EQ(outcome.finish, FinishReason::length);
  EXPECT_EQ(outcome.tokens.size(), 60u);
}

TEST_F(EngineTest, MaxTokensEndsWithLength) {
  const Outcome outcome = answer(greedy(walrus(), 3));
  EXPECT_EQ(outcome.finish, FinishReason::length);
  EXPECT_EQ(outcome.tokens.size(), 3u);
  EXPECT_EQ(outcome.text, "Walrus");
}

TEST_F(EngineTest, StopStringSplitOverTokensNeverShows) {
  Request request = greedy(walrus());
  request.stop = {"northern mar"};
  const Outcome outcome = answer(std::move(request));
  EXPECT_EQ(outcome.finish, FinishReason::stop);
  EXPECT_EQ(outcome.text, "Walrus (noun): either of two large ");
}

TEST_F(EngineTest, CancelFreesPagesAtOnceAndChangesNoOtherAnswer) {
  const std::vector<TokenId> expected = golden_.prompts()[1].greedy_ids;
  const int64_t free = engine_.runner().cache().free_pages();
  const RequestId kept = engine_.submit(greedy(golden_.prompts()[1].ids));
  const int64_t with_one = free - pages_for(static_cast<int64_t>(golden_.prompts()[1].ids.size()) + 40);
  const RequestId cancelled = engine_.submit(greedy(walrus()));
  engine_.step();
  engine_.step();
  engine_.cancel(cancelled);
  EXPECT_EQ(engine_.runner().cache().free_pages(), with_one);
  engine_.cancel(RequestId{12345});  // unknown: nothing happens
  const std::map<RequestId, Outcome> outcomes = run_all(engine_);
  EXPECT_EQ(outcomes.at(cancelled).finish, FinishReason::abort);
  EXPECT_EQ(outcomes.at(kept).tokens, expected);
  EXPECT_EQ(engine_.runner().cache().free_pages(), free);
}

TEST_F(EngineTest, CancelledWhileWaitingEndsToo) {
  std::vector<RequestId> ids;
  for (int i = 0; i < 40; ++i) ids.push_back(engine_.submit(greedy(walrus(), 400)));  // 16 run, 24 wait
  engine_.step();
  for (const RequestId id : ids) engine_.cancel(id);
  const std::map<RequestId, Outcome> outcomes = run_all(engine_);
  EXPECT_EQ(outcomes.size(), 40u);
  EXPECT_EQ(engine_.runner().cache().free_pages(), engine_.runner().cache().num_pages());
}

TEST_F(EngineTest, SamplesDependOnTheSeedAndNotOnTheBatch) {
  const auto sampled = [&](uint64_t seed) {
    Request request = greedy(golden_.prompts()[10].ids, 30);
    request.sampling.temperature = 1.0;
    request.sampling.top_p = 0.95;
    request.sampling.seed = seed;
    return request;
  };
  const Outcome alone = answer(sampled(7));
  EXPECT_EQ(answer(sampled(7)).tokens, alone.tokens);
  EXPECT_NE(answer(sampled(8)).tokens, alone.tokens);
  const RequestId in_batch = engine_.submit(sampled(7));
  for (const GoldenPrompt& prompt : golden_.prompts()) engine_.submit(greedy(prompt.ids));
  EXPECT_EQ(run_all(engine_).at(in_batch).tokens, alone.tokens);
}

TEST_F(EngineTest, LogprobsAreThoseOfTheGoldenTopFive) {
  Request request = greedy(walrus(), 1);
  request.top_logprobs = 5;
  engine_.submit(std::move(request));
  engine_.step();
  const std::vector<Event> events = engine_.poll();
  ASSERT_EQ(events.size(), 1u);
  const std::vector<TokenLogprob>& top = events[0].sample->top;
  ASSERT_EQ(top.size(), 5u);
  const std::vector<std::pair<int, double>> golden = {
      {54, 0.0}, {4358, -18.493494}, {41, -18.708050}, {50, -18.909670}, {44, -20.034309}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(top[i].token.value, golden[i].first);
    EXPECT_NEAR(top[i].logprob, golden[i].second, 1e-3);
  }
}

TEST_F(EngineTest, ImpossibleRequestsAreRefusedWithTheNumbersAndNothingIsQueued) {
  using testing::contains;
  using testing::error_of;
  const auto refused = [&](Request request) {
    return error_of(ErrorCode::bad_request, [&] { engine_.submit(std::move(request)); });
  };
  EXPECT_TRUE(contains(refused(greedy({})), "at least one token"));
  EXPECT_TRUE(contains(refused(greedy(walrus(), 600)), "longer than the context of 512"));
  EXPECT_TRUE(contains(refused(greedy({TokenId{8192}})), "8192"));
  EXPECT_TRUE(contains(refused(greedy(walrus(), 0)), "max_tokens"));
  Request request = greedy(walrus());
  request.sampling.top_p = 2;
  EXPECT_TRUE(contains(refused(std::move(request)), "top_p"));
  EXPECT_FALSE(engine_.step());
}

TEST_F(EngineTest, PromptsLongerThanAChunkGiveTheSameAnswer) {
  Engine small({.model_dir = kModel, .max_running_requests = 2, .chunked_prefill_size = 7});
  const GoldenPrompt& prompt = golden_.prompts()[8];  // Bible prose, beyond the indexer's top-k
  const RequestId id = small.submit(greedy(prompt.ids));
  EXPECT_EQ(run_all(small).at(id).tokens, prompt.greedy_ids);
}

TEST(Engine, APlanThatDoesNotFitIsRefusedWithItsLines) {
  const std::string message = testing::error_of(ErrorCode::no_memory, [] {
    Engine engine({.model_dir = kModel, .context_length = 512, .max_running_requests = 1 << 24});
  });
  EXPECT_TRUE(testing::contains(message, "kv cache"));
  EXPECT_TRUE(testing::contains(message, "--max-running-requests"));
}

TEST(Engine, AContextBeyondTheModelsIsRefused) {
  const std::string message =
      testing::error_of(ErrorCode::bad_request, [] { Engine engine({.model_dir = kModel, .context_length = 513}); });
  EXPECT_TRUE(testing::contains(message, "512"));
}

TEST(Engine, ACheckpointWithoutTokenizerServesIds) {
  Engine engine({.model_dir = OCTET_SOURCE_DIR "/tests/data/qwen3-moe"});
  Request request = greedy({TokenId{265}, TokenId{379}, TokenId{254}, TokenId{233}, TokenId{343}}, 12);
  request.ignore_eos = true;
  const RequestId id = engine.submit(std::move(request));
  EXPECT_EQ(run_all(engine).at(id).tokens.size(), 12u);
  EXPECT_TRUE(testing::contains(testing::error_of(ErrorCode::bad_file, [&] { engine.tokenizer(); }), "tokenizer.json"));
  EXPECT_TRUE(testing::contains(testing::error_of(ErrorCode::bad_file, [&] { engine.chat_template(); }), "template"));
}

TEST(Engine, ReferencePathGivesTheSameAnswer) {
  Engine engine({.model_dir = kModel, .numerics = NumericsClass::reference});
  const Golden golden = Golden::load(std::string(kModel) + "/golden", 8192);
  const RequestId id = engine.submit(greedy(golden.prompts()[3].ids));
  EXPECT_EQ(run_all(engine).at(id).tokens, golden.prompts()[3].greedy_ids);
}

}  // namespace
}  // namespace octet
