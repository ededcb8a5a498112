// Reading golden answers: what is wrong with them is said, not crashed on.

#include "engine/golden.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/error_of.h"
#include "support/safetensors_writer.h"

namespace octet {
namespace {

/// A golden folder with one prompt and logits [rows, 4] of `type`.
std::string error_with(const std::string& json, const std::string& type, int64_t rows, int64_t cols, ErrorCode code) {
  const testing::TempFolder folder;
  std::ofstream(folder.path() + "/golden.json") << json;
  testing::SafetensorsWriter writer;
  writer.add("logits_all.0", *parse_dtype(type), {rows, cols},
             std::string(static_cast<size_t>(rows * cols * bits(*parse_dtype(type)) / 8), '\0'));
  folder.write("golden.safetensors", writer.file());
  return testing::error_of(code, [&] { Golden::load(folder.path(), 4); });
}

constexpr const char* kOnePrompt = R"({"prompts": [{"ids": [0, 1, 2], "greedy_ids": [3]}]})";

TEST(Golden, GoodFilesLoad) { EXPECT_EQ(error_with(kOnePrompt, "F32", 3, 4, ErrorCode::internal), ""); }

TEST(Golden, WrongTypesShapesAndIdsAreNamed) {
  using testing::contains;
  EXPECT_TRUE(contains(error_with(kOnePrompt, "F16", 3, 4, ErrorCode::bad_checkpoint), "logits_all.0"));
  EXPECT_TRUE(contains(error_with(kOnePrompt, "F32", 3, 5, ErrorCode::bad_checkpoint), "logits_all.0"));
  EXPECT_TRUE(contains(error_with(kOnePrompt, "F32", 4, 4, ErrorCode::bad_file), "prompts[0]"));
  EXPECT_TRUE(contains(error_with("[]", "F32", 3, 4, ErrorCode::bad_file), "\"prompts\""));
  EXPECT_TRUE(contains(error_with(R"({"prompts": [{"ids": [4], "greedy_ids": []}]})", "F32", 1, 4, ErrorCode::bad_file),
                       "token ids below 4, got 4"));
  EXPECT_TRUE(contains(error_with(R"({"prompts": [{"ids": [1]}]})", "F32", 1, 4, ErrorCode::bad_file), "greedy_ids"));
}

}  // namespace
}  // namespace octet
