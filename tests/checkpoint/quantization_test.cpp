#include "checkpoint/quantization.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

Json json(const std::string& text) { return Json::parse(text); }

Quantization from_config(const std::string& text) {
  return read_quantization({{"quantization_config", json(text)}}, {}, "m");
}

Quantization from_legacy(const std::string& text) {
  return read_quantization(Json::object(), {{"quantization", json(text)}}, "m");
}

std::string config_error(ErrorCode code, const std::string& text) {
  return error_of(code, [&] { from_config(text); });
}

TEST(Quantization, NoSettingsMeanNothingDeclared) {
  const Quantization q = read_quantization(Json::object(), {}, "m");
  EXPECT_EQ(q.algorithm, "");
  EXPECT_EQ(q.group, 16);
  EXPECT_FALSE(q.excludes("lm_head"));
}

TEST(Quantization, NewerFormInConfigJsonIsRead) {
  const Quantization q = from_config(R"({"quant_method":"modelopt","quant_algo":"NVFP4",
      "ignore":["lm_head","model.layers.1.*"],
      "config_groups":{"group_0":{"weights":{"num_bits":4,"group_size":32},"targets":["Linear"]}}})");
  EXPECT_EQ(q.algorithm, "NVFP4");
  EXPECT_EQ(q.group, 32);
  EXPECT_TRUE(q.excludes("model.layers.1.self_attn.o_proj"));
  EXPECT_FALSE(q.excludes("model.layers.10.self_attn.o_proj"));
}

TEST(Quantization, LegacyFormIsRead) {
  const Quantization q = from_legacy(
      R"({"quant_algo":"NVFP4","kv_cache_quant_algo":"FP8","group_size":16,"exclude_modules":["lm_head"]})");
  EXPECT_EQ(q.algorithm, "NVFP4");
  EXPECT_EQ(q.group, 16);
  EXPECT_TRUE(q.excludes("lm_head"));
}

TEST(Quantization, WeightOnlyNvfp4AndSettingsOfTheCacheAloneAreRead) {
  EXPECT_EQ(from_legacy(R"({"quant_algo":"W4A16_NVFP4"})").algorithm, "W4A16_NVFP4");
  EXPECT_EQ(from_legacy(R"({"quant_algo":null,"kv_cache_quant_algo":"FP8"})").algorithm, "");
}

TEST(Quantization, OtherAlgorithmsAreRefusedWithWhatIsSupported) {
  for (const std::string algorithm : {"NVFP4_AWQ", "NVFP4_SVD", "W4A8_NVFP4_FP8", "FP8", "FP8_PB_WO",
                                      "FP8_PER_CHANNEL_PER_TOKEN", "MXFP8", "W4A8_AWQ"}) {
    const std::string error =
        error_of(ErrorCode::unsupported, [&] { from_legacy(R"({"quant_algo":")" + algorithm + "\"}"); });
    EXPECT_TRUE(contains(error, "m/hf_quant_config.json: quantization.quant_algo: expected NVFP4 of ModelOpt"));
    EXPECT_TRUE(contains(error, "got \"" + algorithm + "\"; octet reads NVFP4, BF16, F16 and F32"));
  }
}

TEST(Quantization, OtherMethodsAreRefusedWithWhatIsSupported) {
  for (const std::string method : {"compressed-tensors", "fp8", "gptq", "awq", "mxfp4", "bitsandbytes"}) {
    const std::string error = config_error(ErrorCode::unsupported, R"({"quant_method":")" + method + "\"}");
    EXPECT_TRUE(contains(error, "m/config.json: quantization_config.quant_method: expected NVFP4"));
    EXPECT_TRUE(contains(error, "got \"" + method + "\""));
  }
}

TEST(Quantization, MixedPrecisionIsReadIfEveryModuleIs) {
  EXPECT_EQ(
      from_legacy(R"({"quant_algo":"MIXED_PRECISION","quantized_layers":{"a":{"quant_algo":"NVFP4"}}})").algorithm,
      "NVFP4");
  const std::string error = error_of(ErrorCode::unsupported, [] {
    from_legacy(R"({"quant_algo":"MIXED_PRECISION","quantized_layers":{"a.b":{"quant_algo":"FP8"}}})");
  });
  EXPECT_TRUE(contains(error, "quantized_layers.a.b.quant_algo"));
}

TEST(Quantization, DisagreeingFilesAreRefused) {
  const std::string error = error_of(ErrorCode::bad_config, [] {
    read_quantization(json(R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4"}})"),
                      json(R"({"quantization":{"quant_algo":"NVFP4","group_size":32}})"), "m");
  });
  EXPECT_TRUE(contains(error, "got NVFP4 (group 16) and NVFP4 (group 32)"));
}

TEST(Quantization, SettingsOfTheWrongTypeAreRefused) {
  EXPECT_TRUE(contains(config_error(ErrorCode::bad_config, "[]"), "expected an object, got array"));
  EXPECT_TRUE(contains(config_error(ErrorCode::bad_config, R"({"quant_algo":4})"), "expected a string, got number"));
  EXPECT_TRUE(contains(config_error(ErrorCode::bad_config, R"({"quant_algo":"NVFP4","ignore":"lm_head"})"),
                       "a list of module names"));
  EXPECT_TRUE(contains(config_error(ErrorCode::bad_config, R"({"quant_algo":"NVFP4","ignore":[1]})"),
                       "a list of module names"));
  for (const std::string group : {"0", "-16", "3", "4096", "1.5", "\"16\"", "99999999999999999999"}) {
    EXPECT_TRUE(contains(config_error(ErrorCode::bad_config, R"({"quant_algo":"NVFP4","group_size":)" + group + "}"),
                         "expected an even group_size"));
  }
  EXPECT_TRUE(contains(config_error(ErrorCode::unsupported, R"({"quant_algo":"NVFP4","group_size":16,
      "config_groups":{"g":{"weights":{"group_size":32}}}})"),
                       "one group_size"));
  EXPECT_EQ(from_config(R"({"quant_algo":"NVFP4","config_groups":[1,{"weights":7},null]})").group, 16);
}

}  // namespace
}  // namespace octet
