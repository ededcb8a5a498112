#include "checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/error_of.h"
#include "support/safetensors_writer.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;
using testing::SafetensorsWriter;
using testing::TempFolder;

const char* const kBundled = OCTET_SOURCE_DIR "/models/tiny-glm5-nvfp4";
const char* const kIndex = "model.safetensors.index.json";

std::string one_tensor(const std::string& name) { return SafetensorsWriter().add_f32(name, {2}, {1.0f, 2.0f}).file(); }

std::string index_of(const OrderedJson& weight_map) {
  return OrderedJson{{"metadata", {{"total_size", 8}}}, {"weight_map", weight_map}}.dump();
}

std::string open_error(ErrorCode code, const TempFolder& folder) {
  return error_of(code, [&] { Checkpoint::open(folder.path()); });
}

TEST(Checkpoint, BundledModelOpensWithAllItsTensorsAndSettings) {
  const Checkpoint checkpoint = Checkpoint::open(kBundled);
  EXPECT_EQ(checkpoint.tensors().size(), 3955u);
  EXPECT_EQ(checkpoint.total_bytes(), 33455872);  // "total_size" of its index
  EXPECT_EQ(checkpoint.quantization().algorithm, "NVFP4");
  EXPECT_TRUE(checkpoint.quantization().excludes("model.layers.0.mlp.up_proj"));
  EXPECT_FALSE(checkpoint.quantization().excludes("model.layers.1.mlp.experts.0.up_proj"));
  EXPECT_EQ(checkpoint.config().at("model_type"), "glm_moe_dsa");
  EXPECT_EQ(checkpoint.generation_config().at("top_p"), 0.95);
  const CheckpointTensor& head = checkpoint.require("lm_head.weight");
  EXPECT_EQ(head.shape, (Shape{8192, 256}));
  EXPECT_EQ(checkpoint.file_name(head), "model-00001-of-00003.safetensors");
}

TEST(Checkpoint, FolderBelowTheModelIsNotRead) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", one_tensor("w"));
  folder.write("golden/golden.safetensors", one_tensor("logits"));
  EXPECT_EQ(Checkpoint::open(folder.path()).find("logits"), nullptr);
}

TEST(Checkpoint, TensorsThatTheIndexLeavesOutAreFoundInTheHeaders) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("model-00001-of-00001.safetensors",
               SafetensorsWriter().add_f32("w", {1}, {1}).add_f32("w_scale", {1}, {2}).file());
  folder.write("mtp.safetensors", one_tensor("mtp"));
  folder.write(kIndex, index_of({{"w", "model-00001-of-00001.safetensors"}}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_NE(checkpoint.find("w_scale"), nullptr);
  EXPECT_NE(checkpoint.find("mtp"), nullptr);
}

TEST(Checkpoint, PrefixOfAMultimodalWrapperIsLeftOut) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("a.safetensors", one_tensor("model.language_model.layers.0.w"));
  folder.write("b.safetensors", one_tensor("language_model.model.layers.1.w"));
  folder.write("c.safetensors", one_tensor("language_model.lm_head.w"));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_NE(checkpoint.find("model.layers.0.w"), nullptr);
  EXPECT_NE(checkpoint.find("model.layers.1.w"), nullptr);
  EXPECT_NE(checkpoint.find("lm_head.w"), nullptr);
}

TEST(Checkpoint, MovedCheckpointStillFindsItsTensors) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", one_tensor("w"));
  Checkpoint checkpoint = Checkpoint::open(folder.path());
  const Checkpoint moved = std::move(checkpoint);
  float values[2];
  std::memcpy(values, moved.require("w").data, sizeof(values));
  EXPECT_EQ(values[1], 2.0f);
}

TEST(Checkpoint, AbsentOptionalFilesAreNull) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", one_tensor("w"));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint.generation_config().is_null());
  EXPECT_TRUE(checkpoint.hf_quant_config().is_null());
}

TEST(Checkpoint, RequiringAnAbsentTensorNamesIt) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", one_tensor("w"));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(contains(error_of(ErrorCode::bad_checkpoint, [&] { checkpoint.require("v"); }),
                       ": v: expected this tensor, got none of 1 tensors"));
}

TEST(Checkpoint, FolderThatIsNoModelIsRefused) {
  const TempFolder folder;
  EXPECT_TRUE(contains(error_of(ErrorCode::bad_file, [&] { Checkpoint::open(folder.path("none")); }),
                       "none: expected a folder that holds a model"));
  EXPECT_TRUE(contains(open_error(ErrorCode::bad_file, folder), "config.json: expected the model's configuration"));
  folder.write("config.json", "{}");
  EXPECT_TRUE(contains(open_error(ErrorCode::bad_file, folder), "got no *.safetensors file; fetch the weights"));
  folder.write("config.json", "[]");
  EXPECT_TRUE(contains(open_error(ErrorCode::bad_config, folder), "config.json: expected an object, got array"));
  folder.write("config.json", "{");
  EXPECT_TRUE(contains(open_error(ErrorCode::bad_config, folder), "config.json: not valid JSON"));
}

TEST(Checkpoint, SameTensorInTwoFilesIsRefusedWithBothNames) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("a.safetensors", one_tensor("w"));
  folder.write("b.safetensors", one_tensor("w"));
  EXPECT_TRUE(contains(open_error(ErrorCode::bad_checkpoint, folder),
                       "w: expected each tensor in one file, got it in "
                       "a.safetensors and in b.safetensors"));
}

TEST(Checkpoint, ShardOrTensorThatOnlyTheIndexKnowsIsRefused) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("a.safetensors", one_tensor("w"));
  folder.write(kIndex, index_of({{"w", "a.safetensors"}, {"v", "b.safetensors"}}));
  EXPECT_TRUE(contains(open_error(ErrorCode::bad_file, folder), "expected b.safetensors beside it, got no such file"));
  folder.write(kIndex, index_of({{"w", "a.safetensors"}, {"v", "a.safetensors"}}));
  EXPECT_TRUE(contains(open_error(ErrorCode::bad_checkpoint, folder), "index.json: v: expected it in a *.safetensors"));
}

TEST(Checkpoint, IndexThatPointsOutOfTheFolderIsRefused) {
  const TempFolder folder;
  folder.write("m/config.json", "{}");
  folder.write("m/a.safetensors", one_tensor("w"));
  folder.write("b.safetensors", one_tensor("v"));
  const std::string outside[] = {"../b.safetensors", folder.path("b.safetensors"), "sub/b.safetensors", ".."};
  for (const std::string& file : outside) {
    folder.write(std::string("m/") + kIndex, index_of({{"w", "a.safetensors"}, {"v", file}}));
    EXPECT_TRUE(contains(error_of(ErrorCode::bad_file, [&] { Checkpoint::open(folder.path("m")); }),
                         "an index that points elsewhere is refused"))
        << file;
  }
}

TEST(Checkpoint, LinkOutOfTheFolderIsRefusedAndOneInsideIsRead) {
  const TempFolder folder;
  folder.write("m/config.json", "{}");
  folder.write("m/blob", one_tensor("w"));
  folder.write("outside", one_tensor("v"));
  std::filesystem::create_symlink("blob", folder.path("m/a.safetensors"));
  EXPECT_NE(Checkpoint::open(folder.path("m")).find("w"), nullptr);
  std::filesystem::create_symlink("../outside", folder.path("m/b.safetensors"));
  const auto error = [&] { return error_of(ErrorCode::bad_file, [&] { Checkpoint::open(folder.path("m")); }); };
  EXPECT_TRUE(contains(error(), "b.safetensors: expected a file inside the folder, got a link out of it"));
  std::filesystem::remove(folder.path("outside"));
  EXPECT_TRUE(contains(error(), "a link that leads nowhere"));
}

TEST(Checkpoint, FolderGivenThroughALinkIsRead) {
  const TempFolder folder;
  folder.write("m/config.json", "{}");
  folder.write("m/a.safetensors", one_tensor("w"));
  std::filesystem::create_directory_symlink("m", folder.path("link"));
  EXPECT_NE(Checkpoint::open(folder.path("link")).find("w"), nullptr);
}

TEST(Checkpoint, MalformedIndexIsRefused) {
  const TempFolder folder;
  folder.write("config.json", "{}");
  folder.write("a.safetensors", one_tensor("w"));
  const auto error = [&](const std::string& index) {
    folder.write(kIndex, index);
    return open_error(ErrorCode::bad_file, folder);
  };
  EXPECT_TRUE(contains(error("{}"), "expected \"weight_map\""));
  EXPECT_TRUE(contains(error(R"({"weight_map":{"w":1}})"), "expected a string"));
  EXPECT_TRUE(contains(error(R"({"weight_map":{"w":"a.safetensors","w":"a.safetensors"}})"), "each tensor once"));
  EXPECT_TRUE(contains(error(R"({"weight_map":{},"weight_map":{}})"), "each key once"));
  EXPECT_TRUE(contains(error("[]"), "expected '{'"));
}

TEST(Checkpoint, UnsupportedQuantizationIsNamedBeforeAnyTensorIsLookedAt) {
  const TempFolder folder;
  folder.write("config.json", R"({"quantization_config":{"quant_method":"awq"}})");
  folder.write("model.safetensors", "not safetensors");
  EXPECT_TRUE(contains(open_error(ErrorCode::unsupported, folder), "quant_method: expected NVFP4 of ModelOpt"));
}

TEST(Checkpoint, PrefetchReportsRisingProgressUpToAllBytes) {
  const Checkpoint checkpoint = Checkpoint::open(kBundled);
  ThreadPool pool(2);
  std::vector<int64_t> done;
  int64_t all = 0;
  checkpoint.prefetch(pool, [&](int64_t now, int64_t total) {
    done.push_back(now);
    all = total;
  });
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), all);
  EXPECT_GT(all, checkpoint.total_bytes());  // headers too
}

}  // namespace
}  // namespace octet
