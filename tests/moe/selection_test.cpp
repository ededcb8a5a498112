// The selection table: by rule, by name, by measurement, under a limit of memory; on devices that are not there.
#include "moe/experts/selection.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "moe/experts/shapes.h"
#include "support/error_of.h"
#include "tensor/hardware.h"

namespace octet {
namespace {

using testing::contains;

std::optional<Refusal> never_refuse(const MoeProblem&, const DeviceInfo&) { return std::nullopt; }
std::optional<Refusal> refuse_above_64(const MoeProblem& p, const DeviceInfo&) {
  if (p.shape.num_tokens <= 64) return std::nullopt;
  return Refusal{Refusal::Code::shape, "made for at most 64 tokens"};
}
template <int kUs>
double takes(const MoeProblem&, const DeviceInfo&) {
  return kUs;
}
/// Good at one token, bad at many; and the other way round.
double few_us(const MoeProblem& p, const DeviceInfo&) { return p.shape.num_tokens == 1 ? 10 : 1000; }
double many_us(const MoeProblem& p, const DeviceInfo&) { return p.shape.num_tokens == 1 ? 30 : 200; }
PackedWeights packs_nothing(const MoeProblem&) { return {}; }
PackedWeights packs_rows(const MoeProblem&) { return {"rows", 100}; }
PackedWeights packs_tiles(const MoeProblem&) { return {"tiles", 150}; }

SelectionRequest request_of(std::vector<int64_t> buckets, std::string forced = "") {
  return {.problem = find_moe_shape("tiny-glm5"), .buckets = std::move(buckets), .forced = std::move(forced)};
}

std::string chosen_name(const std::vector<SelectionRow>& rows, int64_t num_tokens) {
  const SelectionRow* row = chosen_row(rows, num_tokens);
  return row == nullptr ? "" : std::string(row->backend->name);
}

const SelectionRow& row_of(const std::vector<SelectionRow>& rows, std::string_view name, int64_t num_tokens) {
  for (const SelectionRow& row : rows) {
    if (row.backend->name == name && row.num_tokens == num_tokens) return row;
  }
  ADD_FAILURE() << name << " has no row";
  return rows.front();
}

std::string failure_of(const SelectionRequest& request, const DeviceInfo& device) {
  return testing::error_of(ErrorCode::unsupported,
                           [&] { check_every_bucket_served(select_expert_backends(request, device), request.forced); });
}

TEST(SelectionTable, HasARowForEveryBackendAndBucketInOrderWithABoundOrAReason) {
  const SelectionRequest request = request_of({1, 8, 512});
  for (const std::string_view hardware : hardware_names()) {
    const std::vector<SelectionRow> rows = select_expert_backends(request, find_hardware(hardware));
    const size_t size = expert_backends().size();
    ASSERT_EQ(rows.size(), 3 * size);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].backend, &expert_backends()[i % size]);
      EXPECT_EQ(rows[i].num_tokens, request.buckets[i / size]);
      EXPECT_EQ(rows[i].refusal.has_value(), rows[i].state == CandidateState::refused);
      EXPECT_FALSE(rows[i].refusal && rows[i].refusal->reason.empty());
      EXPECT_GT(rows[i].bound_us, 0);
    }
  }
}

TEST(SelectionTable, EachBucketHasAtMostOneChosenBackend) {
  const std::vector<SelectionRow> rows = select_expert_backends(request_of({1, 64, 65}), find_hardware("avx512-16c"));
  for (const int64_t bucket : {1, 64, 65}) {
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(),
                            [&](const SelectionRow& row) {
                              return row.num_tokens == bucket && row.state == CandidateState::chosen;
                            }),
              1);
  }
}

TEST(SelectionByRule, TheSmallestBoundWins) {
  for (const char* forced : {"", "auto"}) {
    const std::vector<SelectionRow> rows = select_expert_backends(request_of({1, 512}, forced), this_cpu());
    EXPECT_EQ(chosen_name(rows, 1), "cpu.rows");
    EXPECT_EQ(chosen_name(rows, 512), "cpu.rows");
    EXPECT_EQ(row_of(rows, "reference", 1).state, CandidateState::can_run);
  }
}

TEST(SelectionByRule, AFormatThatTheFastBackendRefusesGoesToTheReference) {
  SelectionRequest request = request_of({1});
  request.problem.down.permuted = true;
  EXPECT_EQ(chosen_name(select_expert_backends(request, this_cpu()), 1), "reference");
}

TEST(SelectionByRule, ResultsForAbsentHardwareDoNotDependOnThisMachine) {
  const std::vector<SelectionRow> rows =
      select_expert_backends({.problem = find_moe_shape("glm5-tp8")}, find_hardware("rtx-pro-6000"));
  EXPECT_EQ(chosen_row(rows, 1), nullptr);
  EXPECT_EQ(row_of(rows, "cpu.rows", 1).refusal->code, Refusal::Code::instruction_set);
  EXPECT_EQ(row_of(rows, "cuda.fp4_rows", 1).refusal->code, Refusal::Code::not_built);
  EXPECT_EQ(row_of(rows, "cutlass.nvfp4_128x256x128_s3_sm120", 1).refusal->code, Refusal::Code::shared_memory);
  // 8 experts of 2.65 MB at 1,792 GB/s.
  EXPECT_NEAR(row_of(rows, "cuda.fp4_rows", 1).bound_us, 11.85, 0.01);
}

TEST(SelectionByRule, TableOrderDecidesWithinThreePercent) {
  const ExpertBackendEntry table[] = {{"first", never_refuse, takes<102>, packs_nothing, nullptr},
                                      {"second", never_refuse, takes<100>, packs_nothing, nullptr}};
  EXPECT_EQ(chosen_name(select_expert_backends(request_of({1}), {}, table), 1), "first");
  const ExpertBackendEntry apart[] = {{"first", never_refuse, takes<104>, packs_nothing, nullptr},
                                      {"second", never_refuse, takes<100>, packs_nothing, nullptr}};
  EXPECT_EQ(chosen_name(select_expert_backends(request_of({1}), {}, apart), 1), "second");
}

TEST(SelectionByMeasurement, TheFastestMeasuredWinsOverBoundsAndUnmeasuredOnes) {
  const ExpertBackendEntry table[] = {{"promising", never_refuse, takes<1>, packs_nothing, nullptr},
                                      {"slow", never_refuse, takes<50>, packs_nothing, nullptr},
                                      {"fast", never_refuse, takes<60>, packs_nothing, nullptr}};
  SelectionRequest request = request_of({1, 8});
  request.trials = {{.name = "slow", .num_tokens = 1, .measured_us = 90.0},
                    {.name = "fast", .num_tokens = 1, .measured_us = 80.0}};
  const std::vector<SelectionRow> rows = select_expert_backends(request, {}, table);
  EXPECT_EQ(chosen_name(rows, 1), "fast");
  EXPECT_EQ(row_of(rows, "slow", 1).measured_us, 90.0);
  EXPECT_EQ(chosen_name(rows, 8), "promising");
}

TEST(SelectionByMeasurement, ABackendThatDisagreedIsRefusedInThatBucketOnly) {
  const ExpertBackendEntry table[] = {{"wrong", never_refuse, takes<1>, packs_nothing, nullptr},
                                      {"right", never_refuse, takes<9>, packs_nothing, nullptr}};
  SelectionRequest request = request_of({1, 8});
  request.trials = {{.name = "wrong", .num_tokens = 8, .measured_us = 1.0, .mismatch = "row 3: NaN"}};
  const std::vector<SelectionRow> rows = select_expert_backends(request, {}, table);
  EXPECT_EQ(chosen_name(rows, 1), "wrong");
  EXPECT_EQ(chosen_name(rows, 8), "right");
  EXPECT_EQ(row_of(rows, "wrong", 8).refusal->code, Refusal::Code::mismatch);
  EXPECT_EQ(row_of(rows, "wrong", 8).refusal->reason, "row 3: NaN");
}

TEST(SelectionByName, AForcedNameOrAliasRunsAndTheOthersSayWhyNot) {
  const std::vector<SelectionRow> rows = select_expert_backends(request_of({1, 512}, "reference"), this_cpu());
  EXPECT_EQ(chosen_name(rows, 1), "reference");
  EXPECT_EQ(chosen_name(rows, 512), "reference");
  EXPECT_EQ(row_of(rows, "cpu.rows", 1).refusal->code, Refusal::Code::not_selected);
  EXPECT_EQ(chosen_name(select_expert_backends(request_of({1}, "cpu"), this_cpu()), 1), "cpu.rows");
}

TEST(SelectionByName, PhasesCanHaveBackendsOfTheirOwn) {
  const SelectionRequest request = request_of({1, 64, 65, 4096}, "decode=cpu.rows,prefill=reference");
  const std::vector<SelectionRow> rows = select_expert_backends(request, this_cpu());
  EXPECT_EQ(chosen_name(rows, 64), "cpu.rows");
  EXPECT_EQ(chosen_name(rows, 65), "reference");
}

TEST(SelectionByName, AForcedNameThatCannotRunFailsWithEveryReasonAndIsNotReplaced) {
  SelectionRequest request = request_of({1}, "cpu.rows");
  request.problem.down.permuted = true;
  const std::string message = failure_of(request, this_cpu());
  EXPECT_TRUE(contains(message, "cpu.rows: format: "));
  EXPECT_TRUE(contains(message, "reference: not_selected: not what \"cpu.rows\" names"));
}

TEST(SelectionByName, OnlyTheBucketsWithoutAMemberThatCanRunAreListed) {
  const ExpertBackendEntry table[] = {{"rows", refuse_above_64, takes<1>, packs_nothing, nullptr},
                                      {"other", never_refuse, takes<9>, packs_nothing, nullptr}};
  const SelectionRequest request = request_of({1, 64, 512, 4096}, "rows");
  const std::vector<SelectionRow> rows = select_expert_backends(request, {}, table);
  EXPECT_EQ(chosen_name(rows, 64), "rows");
  EXPECT_EQ(chosen_name(rows, 512), "");
  const std::string message =
      testing::error_of(ErrorCode::unsupported, [&] { check_every_bucket_served(rows, request.forced); });
  EXPECT_TRUE(contains(message, "T=512, 4096:"));
  EXPECT_TRUE(contains(message, "rows: shape: made for at most 64 tokens"));
  EXPECT_FALSE(message.find("T=1") != std::string::npos);
}

TEST(SelectionByName, AnAliasWithoutABackendHereListsThemAllAndWhatItStandsFor) {
  const std::string message = failure_of(request_of({1}, "marlin"), this_cpu());
  for (const ExpertBackendEntry& entry : expert_backends()) EXPECT_TRUE(contains(message, std::string(entry.name)));
  EXPECT_TRUE(contains(message, "\"marlin\" stands for cuda.fp4_rows, cuda.fp4_tiles_sm90"));
}

TEST(SelectionByName, AFreeTableInWhichNothingRunsIsNoErrorUntilItIsChecked) {
  const SelectionRequest request = request_of({1});
  EXPECT_TRUE(contains(failure_of(request, find_hardware("h200")), "kernel not in this build"));
  EXPECT_NO_THROW(check_every_bucket_served(select_expert_backends(request, this_cpu()), ""));
}

class SelectionUnderMemory : public ::testing::Test {
 protected:
  std::vector<SelectionRow> select(int64_t room, int32_t num_layers = 1) const {
    SelectionRequest request = request_of({1, 512});
    request.packed_room_bytes = room;
    request.num_layers = num_layers;
    return select_expert_backends(request, {}, table_);
  }

  const ExpertBackendEntry table_[4] = {{"rows", never_refuse, few_us, packs_rows, nullptr},
                                        {"tiles", never_refuse, many_us, packs_tiles, nullptr},
                                        {"rows_too", never_refuse, takes<5000>, packs_rows, nullptr},
                                        {"in_place", never_refuse, takes<900>, packs_nothing, nullptr}};
};

TEST_F(SelectionUnderMemory, WithRoomForBothCopiesEachBucketGetsItsBest) {
  const std::vector<SelectionRow> rows = select(250);
  EXPECT_EQ(chosen_name(rows, 1), "rows");
  EXPECT_EQ(chosen_name(rows, 512), "tiles");
}

TEST_F(SelectionUnderMemory, WithRoomForOneCopyTheSetThatSlowsLeastIsKeptAndTheOtherRefusedWithNumbers) {
  // tiles alone: 3 times slower at 1 token; rows alone: 900 / 200 = 4.5 times at 512, in place.
  const std::vector<SelectionRow> rows = select(249);
  EXPECT_EQ(chosen_name(rows, 1), "tiles");
  EXPECT_EQ(chosen_name(rows, 512), "tiles");
  const Refusal refusal = row_of(rows, "rows", 1).refusal.value();
  EXPECT_EQ(refusal.code, Refusal::Code::memory);
  EXPECT_EQ(refusal.reason,
            "needs 100 bytes for packed weights \"rows\" beside 150 of the chosen ones, the memory plan has room for "
            "249");
  EXPECT_EQ(row_of(rows, "in_place", 1).state, CandidateState::can_run);
}

TEST_F(SelectionUnderMemory, WithRoomForTheSmallerCopyOnlyTheRestIsReadInPlace) {
  const std::vector<SelectionRow> rows = select(149);
  EXPECT_EQ(chosen_name(rows, 1), "rows");
  EXPECT_EQ(chosen_name(rows, 512), "in_place");
  EXPECT_EQ(row_of(rows, "rows_too", 512).state, CandidateState::can_run);  // shares a copy that is kept
  EXPECT_EQ(row_of(rows, "tiles", 512).refusal->code, Refusal::Code::memory);
}

TEST_F(SelectionUnderMemory, WithoutRoomEverythingIsReadInPlace) {
  const std::vector<SelectionRow> rows = select(99);
  EXPECT_EQ(chosen_name(rows, 1), "in_place");
  EXPECT_EQ(chosen_name(rows, 512), "in_place");
}

TEST_F(SelectionUnderMemory, EveryLayerCountsItsOwnCopy) {
  EXPECT_EQ(chosen_name(select(2500, 10), 512), "tiles");
  EXPECT_EQ(chosen_name(select(999, 10), 1), "in_place");
}

TEST_F(SelectionUnderMemory, ServingEveryBucketComesBeforeSpeed) {
  const ExpertBackendEntry table[] = {{"rows", refuse_above_64, takes<1>, packs_rows, nullptr},
                                      {"tiles", never_refuse, takes<900>, packs_tiles, nullptr}};
  SelectionRequest request = request_of({1, 512});
  request.packed_room_bytes = 200;
  const std::vector<SelectionRow> rows = select_expert_backends(request, {}, table);
  EXPECT_EQ(chosen_name(rows, 1), "tiles");
  EXPECT_EQ(chosen_name(rows, 512), "tiles");
}

TEST(FindExpertBackend, KnowsExactNamesOnly) {
  EXPECT_NE(find_expert_backend("cpu.rows"), nullptr);
  EXPECT_EQ(find_expert_backend("cpu"), nullptr);
}

}  // namespace
}  // namespace octet
