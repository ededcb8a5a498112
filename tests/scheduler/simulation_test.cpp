// Random runs of the scheduler beside a model of what it promises. After each step the model is compared with the plan,
// and every cached row of every sequence in it is read back as attention would.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"

namespace octet {
namespace {

/// What the model knows of one request.
struct Request {
  std::vector<TokenId> tokens;
  int64_t prompt_tokens = 0;
  int64_t max_tokens = 0;
  int64_t computed = 0;
  bool all_logits = false;

  bool decoding() const { return computed >= prompt_tokens; }
};

/// The scheduler's promises, restated plainly.
class Model {
 public:
  Model(const SchedulerOptions& options, const KvCache& cache) : options_(options), cache_(cache) {}

  void submit(RequestId id, Request request) {
    requests_[id] = std::move(request);
    waiting_.push_back(id);
  }
  void append(RequestId id, TokenId token) { requests_[id].tokens.push_back(token); }
  void finish(RequestId id) {
    requests_.erase(id);
    std::erase(waiting_, id);
    std::erase(running_, id);
  }
  const std::map<RequestId, Request>& requests() const { return requests_; }
  const std::vector<RequestId>& running() const { return running_; }
  const std::deque<RequestId>& waiting() const { return waiting_; }

  int64_t free_pages() const {
    int64_t free = cache_.num_pages();
    for (const RequestId id : running_) free -= pages_for(requests_.at(id).max_tokens);
    return free;
  }

  /// First come, first served, while a place and all pages are free.
  void admit() {
    while (!waiting_.empty() && static_cast<int64_t>(running_.size()) < options_.max_running_requests &&
           pages_for(requests_.at(waiting_.front()).max_tokens) <= free_pages()) {
      running_.push_back(waiting_.front());
      waiting_.pop_front();
    }
  }

  /// What is wrong with a plan; "" if nothing is.
  std::string fault(const StepPlan& plan) const {
    for (const auto& check :
         {&Model::order_fault, &Model::row_fault, &Model::page_fault, &Model::logit_fault, &Model::limit_fault}) {
      if (std::string text = (this->*check)(plan); !text.empty()) return text;
    }
    return {};
  }

  void compute(const StepPlan& plan) {
    for (const SequenceRows& s : plan.sequences) requests_[s.request].computed += s.query_len;
  }

 private:
  /// One decode row for every decoding request in order of admission, then prompts in order of admission.
  std::string order_fault(const StepPlan& plan) const {
    std::vector<RequestId> decode, prefill;
    for (const RequestId id : running_) (requests_.at(id).decoding() ? decode : prefill).push_back(id);
    size_t next_prefill = 0;
    for (size_t i = 0; i < plan.sequences.size(); ++i) {
      const SequenceRows& s = plan.sequences[i];
      if (i < decode.size()) {
        if (s.request != decode[i] || s.kind != RowKind::decode || s.query_len != 1) return "decode rows";
        continue;
      }
      while (next_prefill < prefill.size() && prefill[next_prefill] != s.request) ++next_prefill;
      if (next_prefill++ == prefill.size() || s.kind != RowKind::prefill) return "order of prompts";
    }
    return plan.sequences.size() < decode.size() ? "a decode row is missing" : "";
  }

  std::string row_fault(const StepPlan& plan) const {
    int64_t row = 0;
    for (const SequenceRows& s : plan.sequences) {
      const Request& r = requests_.at(s.request);
      if (s.first_row != row || s.query_len < 1 || s.position != r.computed) return "rows of a sequence";
      if (s.position + s.query_len > static_cast<int64_t>(r.tokens.size())) return "rows beyond the tokens";
      for (int64_t i = 0; i < s.query_len; ++i, ++row) {
        const auto at = static_cast<size_t>(row);
        if (at >= plan.tokens.size() || plan.tokens[at] != r.tokens[static_cast<size_t>(s.position + i)])
          return "a token";
        if (plan.positions[at] != s.position + i || plan.is_padding[at] != 0) return "a position or padding flag";
      }
    }
    return row == plan.num_tokens() ? "" : "rows without a sequence";
  }

  std::string page_fault(const StepPlan& plan) const {
    std::set<PageId> seen;
    for (const SequenceRows& s : plan.sequences) {
      if (static_cast<int64_t>(s.pages.size()) < pages_for(requests_.at(s.request).max_tokens)) return "too few pages";
      for (const PageId page : s.pages) {
        if (page.value < 0 || page.value >= cache_.num_pages()) return "a page that is none";
        if (!seen.insert(page).second) return "a shared page";
      }
    }
    return {};
  }

  std::string logit_fault(const StepPlan& plan) const {
    std::vector<int64_t> wanted;
    for (const SequenceRows& s : plan.sequences) {
      const Request& r = requests_.at(s.request);
      for (int64_t i = 0; i < s.query_len; ++i) {
        const bool last = s.position + i + 1 == static_cast<int64_t>(r.tokens.size());
        if (last || r.all_logits) wanted.push_back(s.first_row + i);
      }
    }
    return plan.logit_rows == wanted ? "" : "logit rows";
  }

  std::string limit_fault(const StepPlan& plan) const {
    const auto logits = static_cast<int64_t>(plan.logit_rows.size());
    if (plan.num_tokens() > options_.chunked_prefill_size) return "too many rows";
    if (logits > options_.max_logit_rows) return "too many logit rows";
    int64_t left = 0;  // prompt rows of running requests that are not in this step
    for (const RequestId id : running_)
      left += std::max<int64_t>(requests_.at(id).prompt_tokens - requests_.at(id).computed, 0);
    for (const SequenceRows& s : plan.sequences) left -= s.kind == RowKind::prefill ? s.query_len : 0;
    const bool full = plan.num_tokens() == options_.chunked_prefill_size || logits == options_.max_logit_rows;
    return left > 0 && !full ? "prompt rows wait though the step has room" : "";
  }

  SchedulerOptions options_;
  const KvCache& cache_;
  std::map<RequestId, Request> requests_;
  std::deque<RequestId> waiting_;
  std::vector<RequestId> running_;
};

/// A number that no other request and position has.
float stamp(RequestId id, int64_t position) { return static_cast<float>(id.value % 8000 * 2000 + position); }

/// Drives a scheduler and a model with the same random events.
class Simulation {
 public:
  Simulation(const SchedulerOptions& options, int64_t num_pages, uint32_t seed)
      : options_(options),
        cache_({.groups = {{.name = "kv", .layers = {0}, .row_width = 1}}}, num_pages),
        scheduler_(options, cache_),
        model_(options, cache_),
        random_(seed) {}

  void submit() {
    const int64_t longest = std::min(options_.context_length, cache_.num_pages() * kPageTokens);
    // Mostly short prompts, some long ones.
    const int64_t prompt = 1 + below(below(4) == 0 ? longest - 1 : longest / 8);
    Request request{.prompt_tokens = prompt,
                    .max_tokens = prompt + 1 + below(std::min<int64_t>(longest - prompt, 40)),
                    .all_logits = below(5) == 0};
    for (int64_t i = 0; i < prompt; ++i) request.tokens.push_back(TokenId{static_cast<int32_t>(below(1000))});
    const RequestId id{next_++};
    scheduler_.submit(id, request.tokens, request.max_tokens - prompt, request.all_logits);
    model_.submit(id, std::move(request));
  }

  void finish_any() {
    if (model_.requests().empty()) return;
    auto at = model_.requests().begin();
    std::advance(at, below(static_cast<int64_t>(model_.requests().size())));
    finish(at->first);
  }

  void step() {
    model_.admit();
    const StepPlan plan = scheduler_.plan();  // a copy: append() below invalidates the scheduler's own
    EXPECT_EQ(model_.fault(plan), "");
    EXPECT_EQ(scheduler_.running(), static_cast<int64_t>(model_.running().size()));
    EXPECT_EQ(scheduler_.waiting(), static_cast<int64_t>(model_.waiting().size()));
    EXPECT_EQ(scheduler_.idle(), model_.requests().empty());
    EXPECT_EQ(cache_.free_pages(), model_.free_pages());
    EXPECT_EQ(plan.num_tokens() == 0, model_.requests().empty()) << "a step without progress";
    write_and_read_cache(plan);
    model_.compute(plan);
    take_tokens(plan);
  }

  void run_to_end() {
    for (int steps = 0; !scheduler_.idle(); ++steps) {
      ASSERT_LT(steps, 100000) << "a request never ends";
      step();
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_TRUE(model_.requests().empty());
    EXPECT_EQ(cache_.free_pages(), cache_.num_pages());
  }

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(bound)); }
  Scheduler& scheduler() { return scheduler_; }
  Model& model() { return model_; }
  int64_t answered() const { return answered_; }

 private:
  void finish(RequestId id) {
    scheduler_.finish(id);
    model_.finish(id);
  }

  /// Every row is still what its sequence wrote: no page was shared, moved or given away.
  void write_and_read_cache(const StepPlan& plan) {
    for (const SequenceRows& s : plan.sequences) {
      const PagedRows rows = cache_.rows(0, 0, s.pages);
      for (int64_t p = s.position; p < s.position + s.query_len; ++p) *rows.row(p) = stamp(s.request, p);
    }
    int64_t wrong = 0;
    for (const SequenceRows& s : plan.sequences) {
      const PagedRows rows = cache_.rows(0, 0, s.pages);
      for (int64_t p = 0; p < s.position + s.query_len; ++p) wrong += *rows.row(p) != stamp(s.request, p);
    }
    EXPECT_EQ(wrong, 0) << "cached rows were overwritten";
  }

  /// Answers every sequence whose last token was computed, or ends it.
  void take_tokens(const StepPlan& plan) {
    for (const SequenceRows& s : plan.sequences) {
      const Request& r = model_.requests().at(s.request);
      if (r.computed < static_cast<int64_t>(r.tokens.size())) continue;
      ++answered_;
      if (r.computed + 1 >= r.max_tokens || below(30) == 0) {
        finish(s.request);
      } else {
        const TokenId token{static_cast<int32_t>(below(1000))};
        scheduler_.append(s.request, token);
        model_.append(s.request, token);
      }
    }
  }

  SchedulerOptions options_;
  KvCache cache_;
  Scheduler scheduler_;
  Model model_;
  std::mt19937 random_;
  int32_t next_ = 0;
  int64_t answered_ = 0;
};

struct Case {
  const char* name;
  SchedulerOptions options;
  int64_t num_pages;
};

// Ample, tight in each limit, and the smallest there is.
constexpr Case kCases[] = {{"ample", {16, 128, 128, 400}, 64},   {"few_pages", {16, 64, 64, 400}, 8},
                           {"few_rows", {8, 8, 64, 200}, 32},    {"few_logit_rows", {8, 64, 8, 200}, 32},
                           {"few_places", {2, 64, 64, 200}, 64}, {"one_of_everything", {1, 1, 1, 64}, 1}};

class SchedulerSimulation : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Limits, SchedulerSimulation, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(SchedulerSimulation, RandomEventsKeepEveryPromiseAndEveryRequestEnds) {
  Simulation simulation(GetParam().options, GetParam().num_pages, /*seed=*/1);
  for (int event = 0; event < 8000; ++event) {
    const int64_t kind = simulation.below(20);
    if (kind < 3 && simulation.model().requests().size() < 40) {
      simulation.submit();
    } else if (kind == 3 && simulation.below(3) == 0) {
      simulation.finish_any();
    } else {
      simulation.step();
    }
    if (HasFailure()) FAIL() << "after event " << event;
  }
  simulation.run_to_end();
  EXPECT_GT(simulation.answered(), 500);
}

/// A sound step with two decode rows and the first 14 rows of a prompt of 70, and the model that belongs to it.
class SchedulerModel : public ::testing::Test {
 protected:
  SchedulerModel() {
    for (const int32_t id : {1, 2}) submit(id, 3);
    const StepPlan prompts = next_plan();
    model_.compute(prompts);
    for (const int32_t id : {1, 2}) {
      scheduler_.append(RequestId{id}, TokenId{50 + id});
      model_.append(RequestId{id}, TokenId{50 + id});
    }
    submit(3, 70);
    plan_ = next_plan();
  }
  void submit(int32_t id, int64_t prompt_tokens) {
    Request request{.prompt_tokens = prompt_tokens, .max_tokens = prompt_tokens + 20};
    for (int32_t i = 0; i < prompt_tokens; ++i) request.tokens.push_back(TokenId{i});
    scheduler_.submit(RequestId{id}, request.tokens, 20, /*all_logits=*/false);
    model_.submit(RequestId{id}, std::move(request));
  }
  StepPlan next_plan() {
    model_.admit();
    return scheduler_.plan();
  }

  SchedulerOptions options_{4, 16, 16, 200};
  KvCache cache_{{.groups = {{.name = "kv", .layers = {0}, .row_width = 1}}}, 16};
  Scheduler scheduler_{options_, cache_};
  Model model_{options_, cache_};
  StepPlan plan_;
};

TEST_F(SchedulerModel, FindsNothingInASoundPlan) {
  ASSERT_EQ(plan_.sequences.size(), 3u);
  ASSERT_EQ(plan_.num_tokens(), 16);
  EXPECT_EQ(model_.fault(plan_), "");
}

// The model must be able to say no.
TEST_F(SchedulerModel, FindsEachFaultThatIsPutIntoAPlan) {
  const auto fault_after = [&](auto spoil) {
    StepPlan plan = plan_;
    spoil(plan);
    return model_.fault(plan);
  };
  EXPECT_EQ(fault_after([](StepPlan& p) { p.sequences[1].pages = p.sequences[0].pages; }), "a shared page");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.sequences[2].pages = p.sequences[2].pages.first(1); }), "too few pages");
  EXPECT_EQ(fault_after([](StepPlan& p) { std::swap(p.sequences[0], p.sequences[1]); }), "decode rows");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.sequences.erase(p.sequences.begin()); }), "decode rows");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.sequences.resize(1); }), "a decode row is missing");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.sequences[2].kind = RowKind::decode; }), "order of prompts");
  EXPECT_EQ(fault_after([](StepPlan& p) { ++p.sequences[0].position; }), "rows of a sequence");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.tokens[1] = TokenId{99}; }), "a token");
  EXPECT_EQ(fault_after([](StepPlan& p) { ++p.positions[5]; }), "a position or padding flag");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.is_padding[15] = 1; }), "a position or padding flag");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.logit_rows.pop_back(); }), "logit rows");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.logit_rows.push_back(15); }), "logit rows");
  EXPECT_EQ(fault_after([](StepPlan& p) { p.tokens.push_back(TokenId{0}); }), "rows without a sequence");
  EXPECT_EQ(fault_after([](StepPlan& p) {
              --p.sequences[2].query_len;
              p.tokens.pop_back();
            }),
            "prompt rows wait though the step has room");
}

}  // namespace
}  // namespace octet
