// Trials of backends on a layer: who is refused, who is timed, and that the budget ends them.
#include "moe/experts/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu_weights.h"
#include "support/error_of.h"

namespace octet {
namespace {

using test::random_weight;
using test::TestWeight;

std::optional<Refusal> never_refuse(const MoeProblem&, const DeviceInfo&) { return std::nullopt; }
double short_bound(const MoeProblem&, const DeviceInfo&) { return 1e-3; }
double longer_bound(const MoeProblem&, const DeviceInfo&) { return 2e-3; }
double endless_bound(const MoeProblem&, const DeviceInfo&) { return 1e12; }
PackedWeights packs_nothing(const MoeProblem&) { return {}; }

/// The reference with a fault at the end.
class FaultyLayer final : public ExpertLayer {
 public:
  using Fault = void (*)(View2<float> y);
  FaultyLayer(std::unique_ptr<ExpertLayer> layer, Fault fault) : layer_(std::move(layer)), fault_(fault) {}
  int64_t workspace_bytes(int64_t num_tokens) const override { return layer_->workspace_bytes(num_tokens); }
  void run(const RoutingTable& table, View2<const float> x, View2<float> y, std::span<std::byte> workspace,
           ThreadPool& threads) const override {
    layer_->run(table, x, y, workspace, threads);
    fault_(y);
  }

 private:
  std::unique_ptr<ExpertLayer> layer_;
  Fault fault_;
};

template <FaultyLayer::Fault kFault>
std::unique_ptr<ExpertLayer> make_faulty(const MoeProblem& p, const DeviceInfo& d, ExpertWeights w) {
  return std::make_unique<FaultyLayer>(find_expert_backend("reference")->make(p, d, std::move(w)), kFault);
}

void nothing(View2<float>) {}
void scale_last_row(View2<float> y) {
  for (int64_t n = 0; n < y.cols; ++n) y(std::min<int64_t>(y.rows, kMostProofRows) - 1, n) *= 1.5f;
}
void add_nan(View2<float> y) { y(0, 0) = std::numeric_limits<float>::quiet_NaN(); }

/// A small layer with random weights, whose token t visits experts t and t + 1.
class Trials : public ::testing::Test {
 protected:
  Trials() {
    request_.problem = {.shape = {.hidden = 64, .expert_width = 32, .num_experts = 6, .top_k = 2},
                        .gate_up = kNvfp4Weight,
                        .down = kNvfp4Weight};
    for (int32_t e = 0; e < 6; ++e) {
      const auto seed = static_cast<uint32_t>(3 * e);
      for (const uint32_t part : {0u, 1u}) owned_.push_back(random_weight(kNvfp4Weight, 32, 64, seed + part));
      owned_.push_back(random_weight(kNvfp4Weight, 64, 32, seed + 2));
    }
    for (int32_t e = 0; e < 6; ++e) {
      weights_.ids.push_back(ExpertId{e});
      weights_.gate.push_back(owned_[static_cast<size_t>(3 * e)].view);
      weights_.up.push_back(owned_[static_cast<size_t>(3 * e + 1)].view);
      weights_.down.push_back(owned_[static_cast<size_t>(3 * e + 2)].view);
    }
  }

  static RoutingTable route(View2<const float> x) {
    RoutingTable table{.top_k = 2};
    for (int64_t t = 0; t < x.rows; ++t) {
      for (const int64_t slot : {0, 1}) {
        table.ids.push_back(static_cast<int32_t>((t + slot) % 6));
        table.weights.push_back(0.5f);
      }
    }
    return table;
  }

  std::vector<BackendTrial> run(std::vector<int64_t> buckets, std::span<const ExpertBackendEntry> table,
                                double budget_s = 60) {
    request_.buckets = std::move(buckets);
    return try_expert_backends(request_, this_cpu(), {.weights = weights_, .route = route}, threads_, budget_s, table);
  }

  SelectionRequest request_;
  std::vector<TestWeight> owned_;
  ExpertWeights weights_;
  ThreadPool threads_{2};
};

TEST_F(Trials, ABackendThatAgreesIsTimedInEveryBucket) {
  const std::vector<BackendTrial> trials = run({1, 8, 40}, std::span(find_expert_backend("cpu.rows"), 1));
  ASSERT_EQ(trials.size(), 3u);
  for (const BackendTrial& trial : trials) {
    EXPECT_EQ(trial.name, "cpu.rows");
    EXPECT_GT(trial.measured_us.value(), 0);
    EXPECT_FALSE(trial.mismatch) << *trial.mismatch;
  }
  EXPECT_EQ(trials[2].num_tokens, 40);
}

TEST_F(Trials, TheMostPromisingBackendOfEveryBucketComesBeforeTheSecondOfAny) {
  const ExpertBackendEntry table[] = {{"second", never_refuse, longer_bound, packs_nothing, make_faulty<nothing>},
                                      {"first", never_refuse, short_bound, packs_nothing, make_faulty<nothing>}};
  std::vector<std::string> order;
  for (const BackendTrial& trial : run({1, 8}, table)) {
    order.push_back(std::string(trial.name) + " " + std::to_string(trial.num_tokens));
  }
  EXPECT_EQ(order, (std::vector<std::string>{"first 1", "first 8", "second 1", "second 8"}));
}

TEST_F(Trials, ABackendThatIsWrongInOneRowOrAnswersNanIsRefusedByName) {
  const ExpertBackendEntry table[] = {{"right", never_refuse, short_bound, packs_nothing, make_faulty<nothing>},
                                      {"wrong", never_refuse, short_bound, packs_nothing, make_faulty<scale_last_row>},
                                      {"nan", never_refuse, short_bound, packs_nothing, make_faulty<add_nan>}};
  request_.trials = run({1, 40}, table);
  EXPECT_EQ(request_.trials.size(), 6u);
  const std::vector<SelectionRow> rows = select_expert_backends(request_, this_cpu(), table);
  for (const int64_t bucket : {1, 40}) {
    EXPECT_EQ(chosen_row(rows, bucket)->backend->name, "right");
    for (const SelectionRow& row : rows) {
      if (row.num_tokens != bucket || row.backend->name == "right") continue;
      ASSERT_TRUE(row.refusal) << row.backend->name;
      EXPECT_EQ(row.refusal->code, Refusal::Code::mismatch);
      EXPECT_TRUE(testing::contains(row.refusal->reason, "disagrees with the reference"));
    }
  }
}

TEST_F(Trials, ABackendThatCannotWinOrHasNoTimeLeftIsLeftOut) {
  const ExpertBackendEntry table[] = {{"endless", never_refuse, endless_bound, packs_nothing, make_faulty<nothing>},
                                      {"right", never_refuse, short_bound, packs_nothing, make_faulty<nothing>}};
  const std::vector<BackendTrial> trials = run({1, 8}, table);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_EQ(trials[0].name, "right");
  EXPECT_EQ(trials[1].name, "right");
  EXPECT_TRUE(run({1, 8}, table, 0).empty());
}

TEST_F(Trials, ARefusedBackendIsNotTried) {
  request_.forced = "reference";
  for (const BackendTrial& trial : run({1}, expert_backends())) EXPECT_EQ(trial.name, "reference");
}

TEST(TrialRows, AreTheSameEachTimeWithOneLoudChannelInAThousand) {
  const std::vector<float> x = trial_rows(300, 2048), shorter = trial_rows(3, 2048);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), x.begin()));
  std::vector<double> squares(2048);
  for (size_t i = 0; i < 256 * 2048; ++i) squares[i % 2048] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (size_t n = 0; n < squares.size(); ++n) {
    EXPECT_NEAR(std::sqrt(squares[n] / 256), n % 1000 == 0 ? 50 : 1, n % 1000 == 0 ? 12 : 0.25) << n;
  }
  EXPECT_EQ(x[256 * 2048], x[0]);
}

TEST(OutputNmse, IsRelativeAndInfiniteForNan) {
  const std::vector<float> expected = {3, 4};
  EXPECT_EQ(output_nmse(expected, expected), 0);
  EXPECT_NEAR(output_nmse(std::vector<float>{3, 5}, expected), 1.0 / 25, 1e-12);
  EXPECT_EQ(output_nmse(std::vector<float>{3, NAN}, expected), INFINITY);
}

}  // namespace
}  // namespace octet
