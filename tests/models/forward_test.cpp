// What a forward pass promises beside its numbers: a row's bits depend on its own sequence alone, and bad numbers fail
// one request only.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "engine/runner.h"
#include "models/blocks.h"
#include "support/safetensors_writer.h"

namespace octet {
namespace {

struct Setup {
  std::string checkpoint;
  NumericsClass numerics;
};

std::vector<TokenId> tokens(int64_t count, uint32_t seed, int64_t vocab) {
  std::vector<TokenId> ids;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    ids.push_back(TokenId{static_cast<int32_t>((seed >> 8) % static_cast<uint32_t>(vocab))});
  }
  return ids;
}

/// A model, and sequences that are run through it in whatever pieces a test wants.
class LoadedModel {
 public:
  LoadedModel(const std::string& folder, NumericsClass numerics, int threads = 2, int64_t max_tokens = 256)
      : checkpoint_(Checkpoint::open(folder)),
        threads_(threads),
        runner_(checkpoint_, threads_, {.numerics = numerics}) {
    runner_.reserve({.max_tokens = max_tokens, .max_logit_rows = 256, .cache_tokens = 1024});
  }

  int64_t vocab() const { return runner_.model().info().vocab; }
  ModelRunner& runner() { return runner_; }

  /// Logits of every row of a sequence that is computed in chunks of these sizes (the last one repeats).
  std::vector<float> run(const std::vector<TokenId>& ids, const std::vector<int64_t>& chunks) {
    std::vector<PageId> pages;
    EXPECT_TRUE(runner_.cache().allocate(pages_for(static_cast<int64_t>(ids.size())), pages));
    std::vector<float> logits;
    size_t chunk = 0;
    for (size_t at = 0; at < ids.size();) {
      const auto count =
          std::min<size_t>(static_cast<size_t>(chunks[std::min(chunk++, chunks.size() - 1)]), ids.size() - at);
      StepPlan plan;
      append_rows(plan, RequestId{0}, RowKind::prefill, std::span(ids).subspan(at, count), static_cast<int64_t>(at),
                  pages);
      for (int64_t row = 0; row < plan.num_tokens(); ++row) plan.logit_rows.push_back(row);
      EXPECT_TRUE(runner_.forward(plan).empty());
      for (size_t row = 0; row < count; ++row) {
        const float* values = runner_.logits().row(static_cast<int64_t>(row));
        logits.insert(logits.end(), values, values + vocab());
      }
      at += count;
    }
    runner_.cache().release(pages);
    return logits;
  }

 private:
  Checkpoint checkpoint_;
  ThreadPool threads_;
  ModelRunner runner_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

int64_t distinct_experts_read(ModelRunner& runner) {
  for (const Account::Line& line : runner.account().lines()) {
    if (line.name == "experts") return line.cost.distinct_experts;
  }
  return -1;
}

class Forward : public ::testing::TestWithParam<Setup> {
 protected:
  Forward() : model_(OCTET_SOURCE_DIR "/tests/data/" + GetParam().checkpoint, GetParam().numerics) {}
  LoadedModel model_;
};

TEST_P(Forward, ChunksOfAnySizeGiveTheSameBits) {
  const std::vector<TokenId> ids = tokens(100, 1, model_.vocab());
  const std::vector<float> whole = model_.run(ids, {100});
  EXPECT_TRUE(same_bits(whole, model_.run(ids, {7}))) << "chunks of 7";
  EXPECT_TRUE(same_bits(whole, model_.run(ids, {64, 1}))) << "64, then token by token";
  EXPECT_TRUE(same_bits(whole, model_.run(ids, {1}))) << "token by token through the cache";
}

TEST_P(Forward, OtherSequencesInTheStepChangeNoBit) {
  const std::vector<TokenId> first = tokens(70, 2, model_.vocab()), second = tokens(33, 3, model_.vocab());
  const std::vector<float> alone = model_.run(second, {33});
  ModelRunner& runner = model_.runner();
  std::vector<PageId> pages_a, pages_b;
  ASSERT_TRUE(runner.cache().allocate(2, pages_a) && runner.cache().allocate(1, pages_b));
  StepPlan plan;
  append_rows(plan, RequestId{0}, RowKind::prefill, first, 0, pages_a);
  append_rows(plan, RequestId{1}, RowKind::prefill, second, 0, pages_b);
  for (int64_t row = 70; row < 103; ++row) plan.logit_rows.push_back(row);
  ASSERT_TRUE(runner.forward(plan).empty());
  const float* logits = runner.logits().row(0);
  EXPECT_TRUE(same_bits(alone, std::vector<float>(logits, logits + 33 * model_.vocab())));
  runner.cache().release(pages_a);
  runner.cache().release(pages_b);
}

TEST_P(Forward, ThreadsChangeNoBit) {
  const std::vector<TokenId> ids = tokens(40, 4, model_.vocab());
  LoadedModel three(OCTET_SOURCE_DIR "/tests/data/" + GetParam().checkpoint, GetParam().numerics, 3);
  LoadedModel one(OCTET_SOURCE_DIR "/tests/data/" + GetParam().checkpoint, GetParam().numerics, 1);
  EXPECT_TRUE(same_bits(one.run(ids, {40}), three.run(ids, {40})));
}

TEST_P(Forward, PaddingRowsReadNoExpertAndChangeNoBit) {
  const std::vector<TokenId> ids = tokens(20, 5, model_.vocab());
  ModelRunner& runner = model_.runner();
  runner.account().reset();
  const std::vector<float> alone = model_.run(ids, {20});
  const int64_t experts_alone = distinct_experts_read(runner);
  std::vector<PageId> pages, scratch;
  ASSERT_TRUE(runner.cache().allocate(1, pages) && runner.cache().allocate(1, scratch));
  StepPlan plan;
  append_rows(plan, RequestId{0}, RowKind::prefill, ids, 0, pages);
  const std::vector<TokenId> others = tokens(30, 9, model_.vocab());  // would visit experts of their own
  append_rows(plan, RequestId{1}, RowKind::decode, others, 0, scratch);
  std::fill(plan.is_padding.begin() + 20, plan.is_padding.end(), uint8_t{1});
  for (int64_t row = 0; row < 20; ++row) plan.logit_rows.push_back(row);
  runner.account().reset();
  ASSERT_TRUE(runner.forward(plan).empty());
  const float* logits = runner.logits().row(0);
  EXPECT_TRUE(same_bits(alone, std::vector<float>(logits, logits + 20 * model_.vocab())));
  EXPECT_EQ(distinct_experts_read(runner), experts_alone);
  runner.cache().release(pages);
  runner.cache().release(scratch);
}

TEST_P(Forward, ActivationsStayInsideTheirPlan) {
  for (const int64_t count : {1, 13, 256}) {
    LoadedModel model(OCTET_SOURCE_DIR "/tests/data/" + GetParam().checkpoint, GetParam().numerics, 2, count);
    model.run(tokens(count, 6, model.vocab()), {count});  // an arena that is too small throws
  }
}

std::string setup_name(const ::testing::TestParamInfo<Setup>& setup) {
  std::string name = setup.param.checkpoint + "_" + std::string(to_string(setup.param.numerics));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, Forward,
                         ::testing::Values(Setup{"glm5-dsa", NumericsClass::reference},
                                           Setup{"glm5-dsa", NumericsClass::exact16},
                                           Setup{"glm52-dsa-shared-index", NumericsClass::exact16},
                                           Setup{"qwen3-moe", NumericsClass::reference},
                                           Setup{"qwen3-moe", NumericsClass::exact16},
                                           Setup{"variants/glm-nvfp4", NumericsClass::exact16},
                                           Setup{"variants/qwen-sliding-tied", NumericsClass::exact16}),
                         setup_name);

TEST(Account, CountsTheExpertsThatWereRead) {
  LoadedModel model(OCTET_SOURCE_DIR "/tests/data/qwen3-moe",
                    NumericsClass::exact16);  // 3 sparse layers, 12 experts, top-3
  model.runner().account().reset();
  model.run(tokens(1, 7, model.vocab()), {1});
  EXPECT_EQ(distinct_experts_read(model.runner()), 3 * 3);
}

/// A copy of a small checkpoint in which every BF16 value of one tensor is NaN.
class DamagedCheckpoint {
 public:
  DamagedCheckpoint(const std::string& source, const std::string& tensor) {
    std::filesystem::copy(source, folder_.path(), std::filesystem::copy_options::recursive);
    const Checkpoint checkpoint = Checkpoint::open(source);
    const CheckpointTensor& found = checkpoint.require(tensor);
    const std::string file = folder_.path() + "/" + checkpoint.file_name(found);
    std::ifstream in(file, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    const std::string_view data(reinterpret_cast<const char*>(found.data), static_cast<size_t>(found.bytes));
    const size_t at = bytes.find(data);
    for (size_t i = 0; i < data.size(); i += 2) std::memcpy(&bytes[at + i], "\xc0\x7f", 2);
    std::ofstream(file, std::ios::binary) << bytes;
  }
  std::string path() const { return folder_.path(); }

 private:
  testing::TempFolder folder_;
};

TEST(RowFaults, NanInAnExpertNamesLayerAndBackendAndSparesOtherRows) {
  const DamagedCheckpoint damaged(OCTET_SOURCE_DIR "/tests/data/qwen3-moe",
                                  "model.layers.2.mlp.experts.5.down_proj.weight");
  LoadedModel model(damaged.path(), NumericsClass::exact16);
  ModelRunner& runner = model.runner();
  const std::vector<TokenId> ids = tokens(16, 8, model.vocab());
  std::vector<PageId> pages;
  ASSERT_TRUE(runner.cache().allocate(16, pages));
  StepPlan plan;  // 16 sequences of one token each
  for (size_t i = 0; i < 16; ++i) {
    append_rows(plan, RequestId{static_cast<int32_t>(i)}, RowKind::prefill, std::span(ids).subspan(i, 1), 0,
                std::span(pages).subspan(i, 1));
    plan.logit_rows.push_back(static_cast<int64_t>(i));
  }
  const std::vector<RowFault> faults = runner.forward(plan);
  ASSERT_FALSE(faults.empty());
  std::vector<bool> faulty(16, false);
  for (const RowFault& fault : faults) faulty[static_cast<size_t>(fault.row)] = true;
  EXPECT_NE(faults.front().reason.find("layer 2"), std::string::npos) << faults.front().reason;
  EXPECT_NE(faults.front().reason.find("cpu.rows"), std::string::npos) << faults.front().reason;
  EXPECT_LT(std::count(faulty.begin(), faulty.end(), true), 16);
  for (int64_t row = 0; row < 16; ++row) {
    const float* logits = runner.logits().row(row);
    const bool finite = std::all_of(logits, logits + model.vocab(), [](float v) { return std::isfinite(v); });
    EXPECT_EQ(finite, !faulty[static_cast<size_t>(row)]) << "row " << row;
  }
}

}  // namespace
}  // namespace octet
