// Configurations that are wrong, odd or hostile end in a clear error, never in a crash.

#include "models/glm_moe_dsa/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "engine/runner.h"
#include "models/qwen3_moe/config.h"
#include "support/error_of.h"
#include "support/safetensors_writer.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

constexpr const char* kGlm = OCTET_SOURCE_DIR "/tests/data/variants/glm-groups-shared-index";
constexpr const char* kQwen = OCTET_SOURCE_DIR "/tests/data/variants/qwen-yarn-bias";

Json config_of(const std::string& folder) {
  return parse_json(read_text_file(folder + "/config.json", 1 << 20), "config.json", ErrorCode::bad_config);
}

/// Message of the error for glm with one key replaced.
std::string glm_error(const std::string& key, const Json& value, ErrorCode code = ErrorCode::bad_config) {
  Json config = config_of(kGlm);
  config[key] = value;
  return error_of(code, [&] { glm_moe_dsa::read_config(ConfigReader(config, "config.json")); });
}

TEST(GlmConfig, MessagesNameFileKeyExpectedAndGot) {
  EXPECT_EQ(glm_error("kv_lora_rank", -3),
            "config.json: kv_lora_rank: expected a whole number from 1 to 16777216, got -3");
  EXPECT_EQ(glm_error("kv_lora_rank", "many"),
            "config.json: kv_lora_rank: expected a whole number from 1 to 16777216, got \"many\"");
  EXPECT_EQ(glm_error("kv_lora_rank", nullptr),
            "config.json: kv_lora_rank: expected a whole number, but the key is missing");
  EXPECT_TRUE(contains(glm_error("norm_topk_prob", 1), "expected true or false, got 1"));
}

TEST(GlmConfig, ImpossibleCombinationsAreRefused) {
  EXPECT_TRUE(contains(glm_error("qk_rope_head_dim", 7), "expected an even number"));
  EXPECT_TRUE(contains(glm_error("n_group", 7), "n_group"));
  EXPECT_TRUE(contains(glm_error("num_experts_per_tok", 1000), "num_experts_per_tok"));
  EXPECT_TRUE(contains(glm_error("scoring_func", "softmax", ErrorCode::unsupported), "scoring_func"));
  EXPECT_TRUE(contains(glm_error("hidden_act", "gelu", ErrorCode::unsupported), "gelu"));
  EXPECT_TRUE(contains(glm_error("q_lora_rank", nullptr, ErrorCode::unsupported), "q_lora_rank"));
}

TEST(GlmConfig, FirstLayerMustHaveAnIndexer) {
  Json config = config_of(kGlm);
  config["indexer_types"] = Json::array();
  for (int64_t i = 0; i < config["num_hidden_layers"].get<int64_t>(); ++i) config["indexer_types"].push_back("shared");
  EXPECT_TRUE(
      contains(error_of(ErrorCode::bad_config, [&] { glm_moe_dsa::read_config(ConfigReader(config, "config.json")); }),
               "first layer"));
}

TEST(GlmConfig, IndexerRuleOfFrequencyAndOffsetMatchesGlm52) {
  Json config = config_of(kGlm);
  for (const char* key : {"indexer_types", "index_topk_pattern", "mlp_layer_types", "layer_types"}) config.erase(key);
  config["num_hidden_layers"] = 78;
  config["index_topk_freq"] = 4;
  config["index_skip_topk_offset"] = 3;
  const std::vector<bool> full = glm_moe_dsa::read_config(ConfigReader(config, "config.json")).full_indexer;
  std::vector<int> layers;
  for (size_t layer = 0; layer < full.size(); ++layer) {
    if (full[layer]) layers.push_back(static_cast<int>(layer));
  }
  EXPECT_EQ(layers, (std::vector<int>{0, 1, 2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62, 66, 70, 74}));
}

TEST(QwenConfig, SparseLayersFollowStepAndList) {
  Json config = config_of(kQwen);
  config["num_hidden_layers"] = 6;
  config["decoder_sparse_step"] = 2;
  config["mlp_only_layers"] = {3};
  EXPECT_EQ(qwen3_moe::read_config(ConfigReader(config, "config.json")).sparse,
            (std::vector<bool>{false, true, false, false, false, true}));
}

TEST(QwenConfig, MissingKeysTakeTheClassDefaults) {
  Json config = config_of(kQwen);
  for (const char* key : {"norm_topk_prob", "head_dim", "num_key_value_heads", "attention_bias"}) config.erase(key);
  const qwen3_moe::Config read = qwen3_moe::read_config(ConfigReader(config, "config.json"));
  EXPECT_FALSE(read.normalize);
  EXPECT_FALSE(read.attention_bias);
  EXPECT_EQ(read.num_kv_heads, read.num_q_heads);
  EXPECT_EQ(read.head_dim, read.hidden / read.num_q_heads);
}

/// A copy of a small checkpoint whose config.json a test may replace.
class CheckpointCopy {
 public:
  explicit CheckpointCopy(const std::string& source) {
    std::filesystem::copy(source, folder_.path(), std::filesystem::copy_options::recursive);
  }
  void write_config(const std::string& text) { std::ofstream(folder_.path() + "/config.json") << text; }
  void load() {
    const Checkpoint checkpoint = Checkpoint::open(folder_.path());
    ThreadPool threads(1);
    ModelRunner(checkpoint, threads, {});
  }

 private:
  testing::TempFolder folder_;
};

TEST(Loading, UnknownArchitectureListsTheFamilies) {
  CheckpointCopy copy(kQwen);
  Json config = config_of(kQwen);
  config["architectures"] = {"LlamaForCausalLM"};
  copy.write_config(config.dump());
  const std::string message = error_of(ErrorCode::unsupported, [&] { copy.load(); });
  EXPECT_TRUE(contains(message, "LlamaForCausalLM"));
  EXPECT_TRUE(contains(message, "Qwen3MoeForCausalLM"));
}

TEST(Loading, LyingSizesEndQuicklyInOneMessage) {
  for (const auto& [key, value] : {std::pair{"num_hidden_layers", 65536}, std::pair{"num_experts", 65536},
                                   std::pair{"vocab_size", 1 << 24}, std::pair{"hidden_size", 1 << 24}}) {
    CheckpointCopy copy(kQwen);
    Json config = config_of(kQwen);
    config.erase("num_local_experts");
    config[key] = value;
    copy.write_config(config.dump());
    const std::string message = error_of(ErrorCode::bad_checkpoint, [&] { copy.load(); });
    EXPECT_TRUE(contains(message, "check that config.json belongs to these weights")) << key;
    EXPECT_LT(message.size(), 4000u);
  }
}

/// Replaces one value of the configuration by something that it should not be.
void mutate(Json& config, std::mt19937& random) {
  const std::vector<Json> odd = {0,     -1,        1,  2,    3,     7,       1 << 30,       -(1 << 30),     0.5,
                                 1e300, "full",    "", true, false, nullptr, Json::array(), Json::object(), {1, 2},
                                 {"F"}, 4294967296};
  auto at = config.begin();
  std::advance(at, static_cast<int64_t>(random() % config.size()));
  if (at->is_object() && !at->empty() && random() % 2 == 0) return mutate(*at, random);
  at.value() = odd[random() % odd.size()];
}

TEST(Loading, RandomlyChangedConfigurationsLoadOrGiveAnError) {
  std::mt19937 random(17);
  for (const char* source : {kGlm, kQwen}) {
    CheckpointCopy copy(source);
    for (int round = 0; round < 300; ++round) {
      Json config = config_of(source);
      for (uint32_t i = 0; i <= random() % 3; ++i) mutate(config, random);
      copy.write_config(config.dump());
      try {
        copy.load();
      } catch (const Error& e) {
        EXPECT_NE(e.code(), ErrorCode::internal) << e.what() << "\n" << config.dump();
        EXPECT_GT(std::string(e.what()).size(), 20u);
      }
    }
  }
}

TEST(Loading, TruncatedAndFlippedConfigurationsGiveAnError) {
  std::mt19937 random(18);
  const std::string text = read_text_file(std::string(kGlm) + "/config.json", 1 << 20);
  CheckpointCopy copy(kGlm);
  for (int round = 0; round < 300; ++round) {
    std::string changed = text.substr(0, round % 2 ? text.size() : random() % text.size());
    for (uint32_t i = 0; !changed.empty() && i < random() % 4; ++i) {
      changed[random() % changed.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    copy.write_config(changed);
    try {
      copy.load();
    } catch (const Error& e) {
      EXPECT_NE(e.code(), ErrorCode::internal) << e.what();
    }
  }
}

}  // namespace
}  // namespace octet
