// Results of trials in a file: kept, keyed, and never a reason to fail.
#include "engine/trial_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace octet {
namespace {

class TrialCacheFile : public ::testing::Test {
 protected:
  TrialCacheFile() : folder_(::testing::TempDir() + "octet-trial-cache-" + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~TrialCacheFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(path()) << text;
  }
  std::string path() const { return folder_ + "/sub.json"; }

  std::string folder_;
  const std::vector<BackendTrial> trials_ = {{.name = "cpu.rows", .num_tokens = 8, .measured_us = 12.5},
                                             {.name = "reference", .num_tokens = 8, .mismatch = "row 3: \"NaN\""}};
};

TEST_F(TrialCacheFile, WhatWasStoredIsFoundUnderItsKeyOnly) {
  EXPECT_TRUE(TrialCache(path()).store("a", trials_));
  EXPECT_TRUE(TrialCache(path()).store("b", {}));
  const std::vector<BackendTrial> found = TrialCache(path()).find("a");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "cpu.rows");
  EXPECT_EQ(found[0].num_tokens, 8);
  EXPECT_EQ(found[0].measured_us, 12.5);
  EXPECT_FALSE(found[0].mismatch);
  EXPECT_FALSE(found[1].measured_us);
  EXPECT_EQ(found[1].mismatch, "row 3: \"NaN\"");
  EXPECT_TRUE(TrialCache(path()).find("b").empty());
  EXPECT_TRUE(TrialCache(path()).find("c").empty());
}

TEST_F(TrialCacheFile, StoringLeavesNoUnfinishedFileBehind) {
  EXPECT_TRUE(TrialCache(path()).store("a", trials_));
  const auto files = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(TrialCacheFile, ADamagedFileCountsAsEmptyAndIsReplaced) {
  const std::string entry = R"({"name": "cpu.rows", "tokens": 8, "measured_us": 1})";
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("[]"), std::string("\xff\xfe"), std::string(1000, '['),
        R"({"version": 2, "entries": {"a": [)" + entry + "]}}", R"({"version": 1, "entries": [)" + entry + "]}",
        std::string(R"({"version": 1, "entries": {"a": 3}})"), std::string(R"({"entries": {}})"),
        std::string(R"({"version": 1, "entries": {"a": [3, {"name": 3}, {"name": "cpu.rows", "tokens": "8"}]}})"),
        std::string(R"({"version": 1, "entries": {"a": [{"name": "no.such.backend", "tokens": 8}]}})")}) {
    write(text);
    EXPECT_TRUE(TrialCache(path()).find("a").empty()) << text;
    EXPECT_TRUE(TrialCache(path()).store("a", trials_)) << text;
    EXPECT_EQ(TrialCache(path()).find("a").size(), 2u) << text;
  }
}

TEST_F(TrialCacheFile, AFileThatCannotBeWrittenIsNoError) {
  write("");
  EXPECT_FALSE(TrialCache(path() + "/below-a-file.json").store("a", trials_));
  EXPECT_TRUE(TrialCache(path() + "/below-a-file.json").find("a").empty());
  EXPECT_TRUE(TrialCache("").find("a").empty());
}

TEST(TrialKey, DiffersWithWhateverChangesAResult) {
  const MoeProblem problem{.shape = {.hidden = 64, .expert_width = 32, .num_experts = 6, .top_k = 2},
                           .gate_up = kNvfp4Weight,
                           .down = kNvfp4Weight};
  const DeviceInfo device{.name = "a", .num_threads = 2};
  const std::string key = trial_key(problem, device);
  EXPECT_EQ(trial_key(problem, device), key);
  MoeProblem other = problem;
  other.shape.hidden = 128;
  EXPECT_NE(trial_key(other, device), key);
  other = problem;
  other.down = kBf16Weight;
  EXPECT_NE(trial_key(other, device), key);
  other = problem;
  other.numerics = NumericsClass::int8;
  EXPECT_NE(trial_key(other, device), key);
  DeviceInfo another = device;
  another.num_threads = 3;
  EXPECT_NE(trial_key(problem, another), key);
  other = problem;
  other.shape.num_tokens = 7;  // results are listed by tokens, so this does not
  EXPECT_EQ(trial_key(other, device), key);
}

}  // namespace
}  // namespace octet
