#include "checkpoint/weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "numerics/dequantize.h"
#include "support/error_of.h"
#include "support/safetensors_writer.h"

namespace octet {
namespace {

using testing::bytes_of;
using testing::contains;
using testing::error_of;
using testing::SafetensorsWriter;
using testing::TempFolder;

std::vector<float> count_up(int64_t count, float from = 0) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(from + static_cast<float>(i));
  return values;
}

// Writes an NVFP4 layer "name" [n, k] whose codes are the bytes 0, 1, 2, ... and whose scales are 1.
SafetensorsWriter& add_nvfp4(SafetensorsWriter& writer, const std::string& name, int64_t n, int64_t k,
                             float global = 0.5f, uint8_t scale = 0x38) {
  std::string codes;
  for (int64_t i = 0; i < n * k / 2; ++i) codes += static_cast<char>(i);
  writer.add(name + ".weight", DType::u8, {n, k / 2}, codes);
  writer.add(name + ".weight_scale", DType::f8_e4m3, {n, k / 16},
             std::string(static_cast<size_t>(n * k / 16), static_cast<char>(scale)));
  return writer.add_f32(name + ".weight_scale_2", {}, {global});
}

// A checkpoint of one file in a folder of its own.
struct OneFile {
  explicit OneFile(const SafetensorsWriter& writer, const std::string& config = "{}") {
    folder.write("config.json", config);
    folder.write("model.safetensors", writer.file());
    checkpoint = Checkpoint::open(folder.path());
  }
  TempFolder folder;
  Checkpoint checkpoint;
};

std::vector<double> row_of(const WeightView& w, int64_t row) {
  std::vector<double> values(static_cast<size_t>(w.k));
  dequantize_row(w, row, values.data());
  return values;
}

std::string finish_error(WeightTable& table, ErrorCode code = ErrorCode::bad_checkpoint) {
  ThreadPool pool(1);
  return error_of(code, [&] {
    table.finish();
    table.check_scales(pool);
  });
}

TEST(WeightTable, PlainTypesAreReadInPlaceWhateverTheirDtype) {
  SafetensorsWriter writer;
  writer.add_bf16("a.weight", {2, 2}, {1, 2, 3, 4}).add_f32("b.weight", {2, 2}, {5, 6, 7, 8});
  writer.add("c.weight", DType::f16, {1, 2}, bytes_of(std::vector<uint16_t>{0x3c00, 0xc000}));
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_EQ(row_of(table.linear("a", 2, 2), 1), (std::vector<double>{3, 4}));
  EXPECT_EQ(row_of(table.linear("b", 2, 2), 0), (std::vector<double>{5, 6}));
  const WeightView c = table.linear("c", 1, 2);
  EXPECT_EQ(row_of(c, 0), (std::vector<double>{1, -2}));
  EXPECT_EQ(c.format, kF16Weight);
  EXPECT_EQ(c.codes, file.checkpoint.require("c.weight").data);
  EXPECT_EQ(finish_error(table), "");
}

TEST(WeightTable, Nvfp4IsRecognizedByDtypeAndItsParts) {
  SafetensorsWriter writer;
  add_nvfp4(writer, "a", 4, 32).add_f32("a.input_scale", {1}, {0.1f});
  const OneFile file(writer);  // no quantization settings at all
  WeightTable table(file.checkpoint);
  const WeightView w = table.linear("a", 4, 32);
  EXPECT_EQ(w.format, kNvfp4Weight);
  EXPECT_EQ(w.global_scale, 0.5f);
  // Row 1 starts with byte 16 = 0x10: codes 0 and 1.
  EXPECT_EQ(row_of(w, 1)[1], 0.5 * 0.5);
  EXPECT_EQ(finish_error(table), "");
}

TEST(WeightTable, ScalarsOfShapeOneAreAccepted) {
  SafetensorsWriter writer;
  writer.add("a.weight", DType::u8, {1, 8}, std::string(8, '\x22'))
      .add("a.weight_scale", DType::f8_e4m3, {1, 1}, "\x38");
  writer.add_f32("a.weight_scale_2", {1}, {2.0f});
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_EQ(row_of(table.linear("a", 1, 16), 0)[0], 2.0);
  EXPECT_EQ(finish_error(table), "");
}

TEST(WeightTable, DeclaredGroupSizeIsUsed) {
  SafetensorsWriter writer;
  writer.add("a.weight", DType::u8, {1, 32}, std::string(32, '\x22'))
      .add("a.weight_scale", DType::f8_e4m3, {1, 2}, "\x38\x40");
  writer.add_f32("a.weight_scale_2", {}, {1.0f});
  const OneFile file(writer,
                     R"({"quantization_config":{"quant_method":"modelopt","quant_algo":"NVFP4","group_size":32}})");
  WeightTable table(file.checkpoint);
  const WeightView w = table.linear("a", 1, 64);
  EXPECT_EQ(row_of(w, 0)[31], 1.0);
  EXPECT_EQ(row_of(w, 0)[32], 2.0);
  EXPECT_EQ(w.format.block_columns, 32);
}

TEST(WeightTable, BiasIsTakenAsAskedFor) {
  SafetensorsWriter writer;
  writer.add_f32("a.weight", {2, 1}, {1, 2}).add_bf16("a.bias", {2}, {3, 4}).add_f32("b.weight", {2, 1}, {1, 2});
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_EQ(bias_value(table.linear("a", 2, 1, {.bias = Bias::optional}), 1), 4.0f);
  EXPECT_EQ(table.linear("b", 2, 1, {.bias = Bias::optional}).bias, nullptr);
  EXPECT_EQ(finish_error(table), "");
  table.linear("b", 2, 1, {.bias = Bias::required});
  EXPECT_TRUE(contains(finish_error(table), "b.bias: expected BF16, F16 or F32 [2] [N], got no such tensor"));
  WeightTable without(file.checkpoint);
  without.linear("a", 2, 1);
  without.linear("b", 2, 1);
  EXPECT_TRUE(contains(finish_error(without), "a.bias: expected no such tensor in this model, got BF16 [2]"));
}

TEST(WeightTable, VectorsOfAnyPlainTypeBecomeFloats) {
  SafetensorsWriter writer;
  writer.add_bf16("a.weight", {2}, {1.5f, -2}).add_f32("b.bias", {1}, {3});
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_EQ(table.vector("a.weight", 2), (std::vector<float>{1.5f, -2}));
  EXPECT_EQ(table.vector("b.bias", 1), (std::vector<float>{3}));
  EXPECT_EQ(table.vector("c.weight", 3), std::vector<float>());
  EXPECT_TRUE(contains(finish_error(table), "c.weight: expected BF16, F16 or F32 [3], got no such tensor in any file"));
}

TEST(WeightTable, AllThatIsWrongIsToldInOneMessage) {
  SafetensorsWriter writer;
  writer.add_bf16("wrong.weight", {2, 3}, count_up(6)).add_f32("surplus.weight", {1}, {1});
  writer.add("type.weight", DType::i8, {1, 1}, "x");
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  const WeightView w = table.linear("missing", 4, 5);
  EXPECT_TRUE(w.empty());
  EXPECT_EQ(w.n, 4);
  EXPECT_EQ(w.k, 5);
  EXPECT_TRUE(table.linear("wrong", 3, 2).empty());
  table.linear("type", 1, 1);
  const std::string error = finish_error(table);
  EXPECT_TRUE(contains(error, "got 1 missing, 2 wrong and 1 surplus:"));
  EXPECT_TRUE(
      contains(error, "\n  missing.weight: expected BF16, F16 or F32 [4, 5] [N, K], got no such tensor in any file"));
  EXPECT_TRUE(
      contains(error, "\n  model.safetensors: wrong.weight: expected BF16, F16 or F32 [3, 2] [N, K], got BF16 [2, 3]"));
  EXPECT_TRUE(contains(error, "type.weight: expected BF16, F16 or F32 [1, 1] [N, K], got I8 [1, 1]"));
  EXPECT_TRUE(
      contains(error, "\n  model.safetensors: surplus.weight: expected no such tensor in this model, got F32 [1]"));
  EXPECT_TRUE(contains(error, "check that config.json belongs to these weights"));
}

TEST(WeightTable, LongListsAreCutAfterTenLines) {
  const OneFile file(SafetensorsWriter().add_f32("w", {1}, {1}));
  WeightTable table(file.checkpoint);
  table.ignore("w");
  for (int i = 0; i < 25; ++i) table.vector("v" + std::to_string(i), 1);
  const std::string error = finish_error(table);
  EXPECT_TRUE(contains(error, "v9:"));
  EXPECT_TRUE(contains(error, "and 15 more"));
  EXPECT_EQ(error.find("v10:"), std::string::npos);
}

TEST(WeightTable, KnownAndIgnoredTensorsAreNotSurplus) {
  SafetensorsWriter writer;
  writer.add_f32("model.layers.0.self_attn.rotary_emb.inv_freq", {1}, {1}).add_f32("l.k_proj.k_scale", {}, {1});
  writer.add_f32("model.layers.78.eh_proj.weight", {1}, {1}).add_f32("model.layers.7.w", {1}, {1});
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  table.ignore("model.layers.78.*");
  EXPECT_TRUE(
      contains(finish_error(table), "got 0 missing, 0 wrong and 1 surplus:\n  model.safetensors: model.layers.7.w"));
}

TEST(WeightTable, MissingPartsOfAnNvfp4WeightAreNamed) {
  SafetensorsWriter writer;
  writer.add("a.weight", DType::u8, {1, 8}, std::string(8, 'x'));
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_TRUE(table.linear("a", 1, 16).empty());
  const std::string error = finish_error(table);
  EXPECT_TRUE(contains(error, "a.weight_scale: expected F8_E4M3 [1, 1] [N, K/group], the block scales, got no such"));
  EXPECT_TRUE(contains(error, "a.weight_scale_2: expected F32 [] or [1], the global scale, got no such"));
}

TEST(WeightTable, MisshapenPartsOfAnNvfp4WeightAreNamed) {
  SafetensorsWriter writer;
  writer.add("a.weight", DType::u8, {1, 16}, std::string(16, 'x'))
      .add("a.weight_scale", DType::f8_e4m3, {1, 1}, "\x38");
  writer.add_f32("a.weight_scale_2", {2}, {1, 1}).add_f32("a.input_scale", {3}, {1, 1, 1});
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  table.linear("a", 1, 32);
  const std::string error = finish_error(table);
  EXPECT_TRUE(
      contains(error, "a.weight_scale: expected F8_E4M3 [1, 2] [N, K/group], the block scales, got F8_E4M3 [1, 1]"));
  EXPECT_TRUE(contains(error, "a.weight_scale_2: expected F32 [] or [1], the global scale, got F32 [2]"));
  EXPECT_TRUE(contains(error, "a.input_scale: expected F32 [] or [1], the activations' scale, got F32 [3]"));
}

TEST(WeightTable, BlockScalesThatAreNotPositiveNumbersAreRefused) {
  for (const int scale : {0x00, 0x80, 0x7f, 0xff, 0xb8}) {
    SafetensorsWriter writer;
    add_nvfp4(writer, "good", 2, 32);
    add_nvfp4(writer, "bad", 2, 32, 0.5f, static_cast<uint8_t>(scale));
    const OneFile file(writer);
    WeightTable table(file.checkpoint);
    table.linear("good", 2, 32);
    table.linear("bad", 2, 32);
    const std::string error = finish_error(table);
    EXPECT_TRUE(contains(error,
                         "1 wrong and 0 surplus:\n  model.safetensors: bad.weight_scale: expected finite scales "
                         "above 0, got a zero, negative or NaN scale"))
        << scale;
  }
}

TEST(WeightTable, SmallestAndLargestBlockScalesAreAccepted) {
  for (const int scale : {0x01, 0x7e}) {
    SafetensorsWriter writer;
    add_nvfp4(writer, "a", 2, 32, 0.5f, static_cast<uint8_t>(scale));
    const OneFile file(writer);
    WeightTable table(file.checkpoint);
    table.linear("a", 2, 32);
    EXPECT_EQ(finish_error(table), "") << scale;
  }
}

TEST(WeightTable, GlobalScalesThatAreNotPositiveNumbersAreRefused) {
  for (const float global : {0.0f, -1.0f, INFINITY, NAN}) {
    SafetensorsWriter writer;
    add_nvfp4(writer, "a", 2, 32, global);
    const OneFile file(writer);
    WeightTable table(file.checkpoint);
    table.linear("a", 2, 32);
    EXPECT_TRUE(contains(finish_error(table), "a.weight_scale_2: expected a finite scale above 0, got ")) << global;
  }
}

TEST(WeightTable, ZeroGlobalScaleOfAnAllZeroWeightIsAccepted) {
  SafetensorsWriter writer;
  writer.add("a.weight", DType::u8, {1, 8}, std::string(8, '\x80'))
      .add("a.weight_scale", DType::f8_e4m3, {1, 1}, "\x38");
  writer.add_f32("a.weight_scale_2", {}, {0.0f});
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_EQ(row_of(table.linear("a", 1, 16), 0)[0], 0.0);
  EXPECT_EQ(finish_error(table), "");
}

TEST(WeightTable, VectorsWithNanAreRefused) {
  const OneFile file(SafetensorsWriter().add_f32("n.weight", {2}, {1, NAN}));
  WeightTable table(file.checkpoint);
  table.vector("n.weight", 2);
  EXPECT_TRUE(contains(finish_error(table), "n.weight: expected finite numbers, got infinity or NaN"));
}

TEST(WeightTable, ForeignFormatsAreNamedWithWhatIsSupported) {
  const struct {
    std::string suffix;
    DType dtype;
    std::string format;
  } cases[] = {{".weight_packed", DType::u8, "compressed-tensors"},
               {".qweight", DType::i32, "GPTQ or AWQ"},
               {"_blocks", DType::u8, "MXFP4"},
               {".weight", DType::f8_e4m3, "FP8"}};
  for (const auto& c : cases) {
    SafetensorsWriter writer;
    writer.add("a" + c.suffix, c.dtype, {1, 16}, std::string(static_cast<size_t>(16 * bits(c.dtype) / 8), 'x'));
    const OneFile file(writer);
    WeightTable table(file.checkpoint);
    const std::string error = error_of(ErrorCode::unsupported, [&] { table.linear("a", 1, 16); });
    EXPECT_TRUE(contains(error, "a" + c.suffix + ": expected NVFP4 of ModelOpt, BF16, F16 or F32, got " + c.format));
  }
}

TEST(WeightTable, Nvfp4VariantsThatNeedMoreThanTheWeightAreRefused) {
  for (const std::string suffix : {".pre_quant_scale", ".svdquant_lora_a"}) {
    SafetensorsWriter writer;
    add_nvfp4(writer, "a", 2, 32).add_bf16("a" + suffix, {32}, count_up(32));
    const OneFile file(writer);
    WeightTable table(file.checkpoint);
    EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { table.linear("a", 2, 32); }), "got ModelOpt NVFP4_"));
  }
  SafetensorsWriter writer;
  writer.add("a.weight", DType::u8, {1, 16}, std::string(16, 'x')).add("a.weight_scale", DType::u8, {1, 1}, "x");
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_TRUE(contains(error_of(ErrorCode::unsupported, [&] { table.linear("a", 1, 32); }), "got MXFP4 (U8 [1, 1])"));
}

TEST(WeightTable, PartialGroupIsRefused) {
  SafetensorsWriter writer;
  add_nvfp4(writer, "a", 2, 32);
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  EXPECT_TRUE(
      contains(error_of(ErrorCode::unsupported, [&] { table.linear("a", 2, 40); }), "whole groups of 16, got 40"));
}

TEST(WeightTable, RanksTogetherHoldEachWeightOnce) {
  SafetensorsWriter writer;
  add_nvfp4(writer, "a", 4, 64).add_bf16("a.bias", {4}, {1, 2, 3, 4});
  const OneFile file(writer);
  WeightTable all(file.checkpoint);
  const WeightView whole = all.linear("a", 4, 64, {.bias = Bias::required});
  for (int32_t rank = 0; rank < 2; ++rank) {
    WeightTable table(file.checkpoint, rank, 2);
    const WeightView rows = table.linear("a", 4, 64, {.split = Split::column_split, .bias = Bias::required});
    ASSERT_EQ(rows.n, 2);
    EXPECT_EQ(row_of(rows, 1), row_of(whole, 2 * rank + 1));
    EXPECT_EQ(bias_value(rows, 1), bias_value(whole, 2 * rank + 1));

    const WeightView columns = table.linear("a", 4, 64, {.split = Split::row_split, .bias = Bias::required});
    ASSERT_EQ(columns.k, 32);
    const std::vector<double> row = row_of(whole, 3);
    EXPECT_EQ(row_of(columns, 3), std::vector<double>(row.begin() + 32 * rank, row.begin() + 32 * (rank + 1)));
    EXPECT_EQ(columns.bias != nullptr, rank == 0);  // added once
    EXPECT_EQ(finish_error(table), "");
  }
}

TEST(WeightTable, RanksThatDoNotDivideALayerAreRefusedByName) {
  SafetensorsWriter writer;
  add_nvfp4(writer, "a", 4, 32);
  const OneFile file(writer);
  WeightTable table(file.checkpoint, 0, 3);
  EXPECT_TRUE(
      contains(error_of(ErrorCode::bad_shape, [&] { table.linear("a", 4, 32, {.split = Split::column_split}); }),
               "a: expected 4 rows in whole blocks of 1 on each rank, got 3 ranks"));
  WeightTable four(file.checkpoint, 0, 4);
  EXPECT_TRUE(contains(error_of(ErrorCode::bad_shape, [&] { four.linear("a", 4, 32, {.split = Split::row_split}); }),
                       "a: expected 32 columns in whole blocks of 16 on each rank, got 4 ranks"));
}

// gate (first_row 0) or up (first_row 2) of one expert of width 2, hidden 3, in a model of 4 experts.
ExpertMatrix expert_matrix(int32_t expert, const std::string& part) {
  return {.name = "experts." + std::to_string(expert) + "." + part,
          .expert = expert,
          .num_experts = 4,
          .fused_name = "experts.gate_up_proj",
          .fused_first_row = part == "up_proj" ? 2 : 0,
          .fused_rows = 4};
}

TEST(WeightTable, FusedExpertsGiveTheSameMatricesAsSeparateOnes) {
  SafetensorsWriter separate;
  const std::vector<float> all = count_up(4 * 4 * 3);
  for (int32_t expert = 0; expert < 4; ++expert) {
    const auto first = all.begin() + expert * 12;
    separate.add_bf16("experts." + std::to_string(expert) + ".gate_proj.weight", {2, 3}, {first, first + 6});
    separate.add_bf16("experts." + std::to_string(expert) + ".up_proj.weight", {2, 3}, {first + 6, first + 12});
  }
  const OneFile separate_file(separate);
  const OneFile fused_file(SafetensorsWriter().add_bf16("experts.gate_up_proj", {4, 4, 3}, all));
  WeightTable from_separate(separate_file.checkpoint);
  WeightTable from_fused(fused_file.checkpoint);
  for (int32_t expert = 0; expert < 4; ++expert) {
    for (const std::string part : {"gate_proj", "up_proj"}) {
      const WeightView a = from_separate.expert_linear(expert_matrix(expert, part), 2, 3);
      const WeightView b = from_fused.expert_linear(expert_matrix(expert, part), 2, 3);
      for (int64_t row = 0; row < 2; ++row) EXPECT_EQ(row_of(a, row), row_of(b, row)) << expert << part << row;
    }
  }
  EXPECT_EQ(finish_error(from_separate), "");
  EXPECT_EQ(finish_error(from_fused), "");
}

TEST(WeightTable, MisshapenOrQuantizedFusedExpertsAreRefused) {
  const OneFile transposed(SafetensorsWriter().add_bf16("experts.gate_up_proj", {4, 3, 4}, count_up(48)));
  WeightTable table(transposed.checkpoint);
  for (int32_t expert = 0; expert < 4; ++expert) table.expert_linear(expert_matrix(expert, "up_proj"), 2, 3);
  EXPECT_TRUE(contains(finish_error(table),
                       "1 wrong and 0 surplus:\n  model.safetensors: experts.gate_up_proj: expected "
                       "BF16, F16 or F32 [4, 4, 3] [E, N, K], got BF16 [4, 3, 4]"));
  const OneFile packed(SafetensorsWriter().add("experts.gate_up_proj", DType::u8, {4, 4, 2}, std::string(32, 'x')));
  WeightTable quantized(packed.checkpoint);
  EXPECT_TRUE(
      contains(error_of(ErrorCode::unsupported, [&] { quantized.expert_linear(expert_matrix(0, "up_proj"), 2, 3); }),
               "experts.gate_up_proj: expected BF16, F16 or F32 for experts in one tensor, got U8"));
}

TEST(WeightTable, ExpertSplitGivesEachExpertToOneRank) {
  const OneFile file(SafetensorsWriter().add_bf16("experts.gate_up_proj", {4, 4, 3}, count_up(48)));
  for (int32_t rank = 0; rank < 2; ++rank) {
    WeightTable table(file.checkpoint, rank, 2);
    for (int32_t expert = 0; expert < 4; ++expert) {
      const WeightView w = table.expert_linear(expert_matrix(expert, "up_proj"), 2, 3, {.split = Split::expert_split});
      EXPECT_EQ(!w.empty(), expert / 2 == rank) << rank << " " << expert;
    }
    EXPECT_EQ(finish_error(table), "");
  }
  WeightTable three(file.checkpoint, 0, 3);
  EXPECT_TRUE(contains(
      error_of(ErrorCode::bad_shape,
               [&] { three.expert_linear(expert_matrix(0, "up_proj"), 2, 3, {.split = Split::expert_split}); }),
      "divides 4 experts, got 3"));
}

TEST(WeightTable, InventoryCountsEveryTensorOnceByClassAndFormat) {
  SafetensorsWriter writer;
  add_nvfp4(writer, "e", 2, 32).add_bf16("lm_head.weight", {2, 2}, count_up(4)).add_f32("x.k_scale", {}, {1});
  const OneFile file(writer);
  WeightTable table(file.checkpoint);
  table.linear("e", 2, 32, {.module_class = "routed experts"});
  table.linear("lm_head", 2, 2, {.module_class = "lm head"});
  table.linear("lm_head", 2, 2, {.module_class = "embedding"});  // tied: counted where it was used first
  EXPECT_EQ(finish_error(table), "");
  ASSERT_EQ(table.inventory().size(), 3u);
  const InventoryRow& experts = table.inventory()[0];
  EXPECT_EQ(experts.module_class + "/" + experts.format, "routed experts/NVFP4");
  EXPECT_EQ(experts.tensors, 3);
  EXPECT_EQ(experts.bytes, 32 + 4 + 4);
  EXPECT_EQ(table.inventory()[1].module_class + "/" + table.inventory()[1].format, "lm head/BF16");
  EXPECT_EQ(table.inventory()[1].bytes, 8);
  EXPECT_EQ(table.inventory()[2].module_class + "/" + table.inventory()[2].format, "unused/-");
  int64_t bytes = 0;
  for (const InventoryRow& row : table.inventory()) bytes += row.bytes;
  EXPECT_EQ(bytes, file.checkpoint.total_bytes());
}

TEST(WeightTable, QuantizedTensorThatTheSettingsExcludeIsAWarning) {
  SafetensorsWriter writer;
  add_nvfp4(writer, "lm_head", 2, 32);
  const OneFile file(writer, R"({"quantization_config":{"quant_algo":"NVFP4","ignore":["lm_*"]}})");
  WeightTable table(file.checkpoint);
  table.linear("lm_head", 2, 32);
  EXPECT_EQ(finish_error(table), "");
  ASSERT_EQ(table.warnings().size(), 1u);
  EXPECT_EQ(table.warnings()[0], "lm_head is stored as NVFP4 although the quantization settings exclude it");
}

}  // namespace
}  // namespace octet
