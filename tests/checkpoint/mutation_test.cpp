// Damaged files end in an Error, never in a crash or in a tensor outside the file; the sanitizer builds run these too.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/weights.h"
#include "support/safetensors_writer.h"

namespace octet {
namespace {

using testing::SafetensorsWriter;
using testing::TempFolder;

std::string valid_file() {
  SafetensorsWriter writer;
  writer.add_f32("model.norm.weight", {4}, {1, 2, 3, 4});
  writer.add("e.weight", DType::u8, {2, 8}, std::string(16, '\x21'));
  writer.add("e.weight_scale", DType::f8_e4m3, {2, 1}, "\x38\x38");
  writer.add_f32("e.weight_scale_2", {}, {0.5f});
  writer.add("empty", DType::bf16, {0, 3}, "");
  return writer.file();
}

// Parses a file that lies in memory of exactly its size, so that the address sanitizer sees any read beyond it. Returns
// whether it was accepted; then every byte of every tensor is read.
bool accepts(const std::string& file) {
  const std::vector<char> exact(file.begin(), file.end());
  try {
    const auto tensors = parse_safetensors(std::as_bytes(std::span(exact)), "t.safetensors");
    size_t sum = 0;
    for (const TensorInfo& tensor : tensors) {
      for (int64_t i = 0; i < tensor.bytes; ++i) sum += static_cast<size_t>(tensor.data[i]);
    }
    EXPECT_LE(sum, 255 * file.size());  // each byte belongs to one tensor at most
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_file) << e.what();
    return false;
  }
}

TEST(DamagedSafetensors, EveryTruncationIsRefused) {
  const std::string file = valid_file();
  ASSERT_TRUE(accepts(file));
  for (size_t size = 0; size < file.size(); ++size) EXPECT_FALSE(accepts(file.substr(0, size))) << size;
}

TEST(DamagedSafetensors, EveryFlippedBitOfTheHeaderIsRefusedOrLeavesAConsistentFile) {
  const std::string file = valid_file();
  int refused = 0;
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    refused += accepts(damaged) ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);  // a flipped letter of a name may pass, one of the structure may not
}

TEST(DamagedSafetensors, RandomCutsInsertionsAndSwapsNeverCrash) {
  const std::string file = valid_file();
  std::mt19937 random(31);
  const auto below = [&](size_t limit) { return random() % limit; };
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = file;
    for (size_t edits = 1 + below(4); edits > 0 && !damaged.empty(); --edits) {
      const size_t at = below(damaged.size());
      switch (below(4)) {
        case 0:
          damaged.erase(at, 1 + below(8));
          break;
        case 1:
          damaged.insert(at, 1 + below(8), static_cast<char>(random()));
          break;
        case 2:
          damaged[at] = "0123456789{}[]\":,\\"[below(18)];
          break;
        default:
          std::swap(damaged[at], damaged[below(damaged.size())]);
      }
    }
    refused += accepts(damaged) ? 0 : 1;
  }
  EXPECT_GT(refused, 15000);
}

TEST(DamagedSafetensors, HeadersThatLieAboutSizesAreRefused) {
  const std::string lies[] = {"0", "1", "3", "17", "2147483648", "4294967296", "9223372036854775807"};
  int accepted = 0;
  for (const std::string& dim : lies) {
    for (const std::string& begin : lies) {
      for (const std::string& end : lies) {
        const std::string header =
            R"({"w":{"dtype":"F32","shape":[)" + dim + "," + dim + R"(],"data_offsets":[)" + begin + "," + end + "]}}";
        accepted += accepts(SafetensorsWriter::file(header, std::string(16, 'x'))) ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(accepted, 0);
}

TEST(DamagedSafetensors, MillionsOfOpenBracketsAreRefusedWithoutDeepRecursion) {
  const std::string deep(4'000'000, '[');
  EXPECT_FALSE(accepts(SafetensorsWriter::file(deep, "")));
  EXPECT_FALSE(accepts(SafetensorsWriter::file("{\"a\":" + deep, "")));
  EXPECT_FALSE(accepts(SafetensorsWriter::file("{\"a\":{\"shape\":" + deep, "")));
}

// Opens the folder as a model would and returns whether all was well; every failure must be an Error.
bool loads(const TempFolder& folder) {
  ThreadPool pool(1);
  try {
    const Checkpoint checkpoint = Checkpoint::open(folder.path());
    WeightTable table(checkpoint);
    table.vector("model.norm.weight", 4);
    table.linear("e", 2, 16);
    table.ignore("empty");
    table.finish();
    table.check_scales(pool);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(DamagedCheckpoint, FlippedBitsInAnyOfItsFilesEndInAnErrorOrALoadedModel) {
  const std::string config =
      R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4","ignore":["a*"]}})";
  const std::string index =
      R"({"metadata":{"total_size":38},"weight_map":{"e.weight":"model.safetensors","empty":"model.safetensors"}})";
  const std::vector<std::pair<std::string, std::string>> files = {
      {"config.json", config}, {"model.safetensors.index.json", index}, {"model.safetensors", valid_file()}};
  const TempFolder folder;
  for (const auto& [name, contents] : files) folder.write(name, contents);
  ASSERT_TRUE(loads(folder));
  std::mt19937 random(32);
  for (const auto& [name, contents] : files) {
    int refused = 0;
    for (int round = 0; round < 100; ++round) {
      std::string damaged = contents;
      const size_t at = random() % damaged.size();
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
      folder.write(name, damaged);
      refused += loads(folder) ? 0 : 1;
    }
    EXPECT_GT(refused, 20) << name;
    folder.write(name, contents);
  }
}

}  // namespace
}  // namespace octet
