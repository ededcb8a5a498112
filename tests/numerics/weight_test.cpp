#include "numerics/weight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "numerics/dequantize.h"

namespace octet {
namespace {

const std::byte* bytes(const void* data) { return static_cast<const std::byte*>(data); }

std::vector<double> row_of(const WeightView& w, int64_t row) {
  std::vector<double> values(static_cast<size_t>(w.k));
  dequantize_row(w, row, values.data());
  return values;
}

// The worked example of the NVFP4 format: one row of 32 weights, two groups.
const uint8_t kExampleCodes[] = {0xb5, 0x61, 0x1f, 0xe4, 0x20, 0x7a, 0xe5, 0x16,
                                 0xd3, 0xa7, 0x65, 0x3e, 0x20, 0x7b, 0x6f, 0xd4};
const uint8_t kExampleScales[] = {0x7e, 0x60};

WeightView nvfp4_example() {
  WeightView w;
  w.format = kNvfp4Weight;
  w.n = 1;
  w.k = 32;
  w.codes = bytes(kExampleCodes);
  w.code_row_bytes = 16;
  w.scales = bytes(kExampleScales);
  w.scale_row_bytes = 2;
  w.global_scale = 0.000372023816f;
  return w;
}

TEST(DequantizeRow, Nvfp4WorkedExampleGivesThePublishedValues) {
  const double want[] = {0.5,      -0.25,     0.083333,  0.666667,  -1,        0.083333,  0.333333,  -0.666667,
                         0,        0.166667,  -0.166667, 1,         0.5,       -0.666667, 0.666667,  0.083333,
                         0.017857, -0.035714, 0.071429,  -0.011905, 0.035714,  0.047619,  -0.047619, 0.017857,
                         0,        0.011905,  -0.017857, 0.071429,  -0.071429, 0.047619,  0.023810,  -0.035714};
  const std::vector<double> got = row_of(nvfp4_example(), 0);
  for (size_t j = 0; j < 32; ++j) EXPECT_NEAR(got[j], want[j], 6e-7) << j;
}

TEST(DequantizeRow, Nvfp4WorkedExampleIsTheExactProductOfItsThreeFactors) {
  const std::vector<double> got = row_of(nvfp4_example(), 0);
  EXPECT_EQ(got[1], -1.5 * 448.0 * double{0.000372023816f});  // code 11 in the high nibble of byte 0
  EXPECT_EQ(got[16], 1.5 * 32.0 * double{0.000372023816f});   // code 3 in the low nibble of byte 8
}

TEST(DequantizeRow, QuantizingTheWorkedExampleAsTheExporterDoesGivesItsCodes) {
  const float weights[] = {0.50f,   -0.25f, 0.10f,  0.75f, -1.00f, 0.05f, 0.33f,  -0.60f, 0.0f,   0.20f,  -0.15f,
                           0.90f,   0.45f,  -0.80f, 0.62f, 0.12f,  0.02f, -0.04f, 0.06f,  -0.01f, 0.03f,  0.05f,
                           -0.055f, 0.015f, 0.0f,   0.01f, -0.02f, 0.07f, -0.07f, 0.045f, 0.025f, -0.035f};
  const float global = 1.0f / 2688.0f;
  EXPECT_EQ(global, 0.000372023816f);
  for (size_t group = 0; group < 2; ++group) {
    float amax = 0;
    for (size_t j = 16 * group; j < 16 * (group + 1); ++j) {
      amax = std::max(amax, std::fabs(bf16_value(bf16_bits(weights[j]))));
    }
    const uint8_t scale = e4m3_bits(amax / (6.0f * global));
    EXPECT_EQ(scale, kExampleScales[group]);
    for (size_t j = 16 * group; j < 16 * (group + 1); ++j) {
      const uint8_t code = e2m1_code(bf16_value(bf16_bits(weights[j])) / (e4m3_value(scale) * global));
      EXPECT_EQ(code, j % 2 == 0 ? kExampleCodes[j / 2] & 15 : kExampleCodes[j / 2] >> 4) << j;
    }
  }
}

TEST(DequantizeRow, Mxfp4WorkedExampleGivesThePublishedValues) {
  const uint8_t codes[] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe,
                           0x21, 0x43, 0x65, 0x07, 0xa9, 0xcb, 0xed, 0x8f};
  const uint8_t scale = 123;
  const double want[] = {0,       .03125, .0625,   .09375, .125,    .1875,  .25,    .375,   -.0,   -.03125, -.0625,
                         -.09375, -.125,  -.1875,  -.25,   -.375,   .03125, .0625,  .09375, .125,  .1875,   .25,
                         .375,    0,      -.03125, -.0625, -.09375, -.125,  -.1875, -.25,   -.375, -.0};
  WeightView w;
  w.format = {.code = CodeType::fp4_e2m1, .scale = ScaleType::e8m0, .block_rows = 1, .block_columns = 32};
  w.n = 1;
  w.k = 32;
  w.codes = bytes(codes);
  w.code_row_bytes = 16;
  w.scales = bytes(&scale);
  w.scale_row_bytes = 1;
  const std::vector<double> got = row_of(w, 0);
  for (size_t j = 0; j < 32; ++j) {
    EXPECT_EQ(got[j], want[j]) << j;
    EXPECT_EQ(std::signbit(got[j]), std::signbit(want[j])) << j;
  }
}

TEST(DequantizeRow, Fp8BlocksUseTheScaleOfTheirRowBlockAndPartialEdgeBlock) {
  // 3 x 5 weights in blocks of 2 x 4: two scale rows, two scale columns.
  std::vector<uint8_t> codes(15, e4m3_bits(2.0f));
  const float scales[] = {0.5f, 0.25f, 3.0f, 5.0f};
  WeightView w;
  w.format = {.code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 2, .block_columns = 4};
  w.n = 3;
  w.k = 5;
  w.codes = bytes(codes.data());
  w.code_row_bytes = 5;
  w.scales = bytes(scales);
  w.scale_row_bytes = 8;
  EXPECT_EQ(row_of(w, 1), (std::vector<double>{1, 1, 1, 1, 0.5}));
  EXPECT_EQ(row_of(w, 2), (std::vector<double>{6, 6, 6, 6, 10}));
}

TEST(DequantizeRow, DividingGlobalScaleIsTheInverseOfAMultiplyingOne) {
  WeightView w = nvfp4_example();
  w.global_scale = 2688.0f;
  w.format.global = GlobalScale::divide;
  const std::vector<double> got = row_of(w, 0);
  EXPECT_EQ(got[1], -1.5 * 448.0 / 2688.0);
  EXPECT_EQ(got[16], 1.5 * 32.0 / 2688.0);
}

TEST(DequantizeRow, ZeroPointsAreTakenOffBeforeScaling) {
  WeightView w = nvfp4_example();
  const float zero_points[] = {1.0f, -2.0f};
  w.format.zero_points = true;
  w.zero_points = bytes(zero_points);
  w.global_scale = 1.0f;
  const std::vector<double> got = row_of(w, 0);
  EXPECT_EQ(got[0], (3.0 - 1.0) * 448.0);  // code 5
  EXPECT_EQ(got[16], (1.5 + 2.0) * 32.0);  // code 3
}

TEST(DequantizeRow, PermutedColumnsComeOutInTheActivationsOrder) {
  const float stored[] = {10, 11, 12, 13};
  const int32_t permutation[] = {2, 0, 3, 1};
  WeightView w;
  w.format = kF32Weight;
  w.format.permuted = true;
  w.n = 1;
  w.k = 4;
  w.codes = bytes(stored);
  w.code_row_bytes = 16;
  w.permutation = permutation;
  EXPECT_EQ(row_of(w, 0), (std::vector<double>{11, 13, 10, 12}));
}

TEST(DequantizeRow, InterleavedRowsAreReadByTheirStride) {
  const float stored[] = {1, 2, 101, 102, 3, 4, 103, 104};  // gate row, up row, gate row, up row
  WeightView up;
  up.format = kF32Weight;
  up.n = 2;
  up.k = 2;
  up.codes = bytes(stored + 2);
  up.code_row_bytes = 16;
  EXPECT_EQ(row_of(up, 1), (std::vector<double>{103, 104}));
}

TEST(DequantizeRow, PlainWeightsAtAnOddAddressAreExact) {
  std::vector<std::byte> memory(1 + 4 * sizeof(uint16_t));
  const uint16_t bf16[] = {0x3f80, 0xc000, 0x0001, 0x7f7f};
  std::memcpy(memory.data() + 1, bf16, sizeof(bf16));
  WeightView w;
  w.format = kBf16Weight;
  w.n = 2;
  w.k = 2;
  w.codes = memory.data() + 1;
  w.code_row_bytes = 4;
  EXPECT_EQ(row_of(w, 0), (std::vector<double>{1.0, -2.0}));
  EXPECT_EQ(row_of(w, 1), (std::vector<double>{double{bf16_value(0x0001)}, double{bf16_value(0x7f7f)}}));
}

TEST(BiasValue, IsReadInItsOwnTypeAndIsZeroWithoutABias) {
  WeightView w = nvfp4_example();
  EXPECT_EQ(bias_value(w, 0), 0.0f);
  const uint16_t bf16[] = {bf16_bits(1.5f), bf16_bits(-3.0f)};
  w.bias = bytes(bf16);
  w.bias_code = CodeType::bf16;
  EXPECT_EQ(bias_value(w, 1), -3.0f);
  const uint16_t f16[] = {0x3c00, 0xc000};
  w.bias = bytes(f16);
  w.bias_code = CodeType::f16;
  EXPECT_EQ(bias_value(w, 1), -2.0f);
}

TEST(StoredBytes, CountsCodesScalesAndBias) {
  WeightView w = nvfp4_example();
  EXPECT_EQ(stored_bytes(w), 16 + 2);
  const float bias = 1.0f;
  w.bias = bytes(&bias);
  w.bias_code = CodeType::f32;
  EXPECT_EQ(stored_bytes(w), 16 + 2 + 4);
  w.format = kBf16Weight;
  w.bias = nullptr;
  EXPECT_EQ(stored_bytes(w), 64);
  w.format = {.code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 128, .block_columns = 128};
  w.n = 576;
  w.k = 6144;
  EXPECT_EQ(stored_bytes(w), 576 * 6144 + 5 * 48 * 4);
}

// A random NVFP4 weight [N, K] with its own memory.
struct RandomNvfp4 {
  std::vector<uint8_t> codes, scales;
  std::vector<float> bias;
  WeightView view;

  RandomNvfp4(int64_t n, int64_t k, uint32_t seed) {
    std::mt19937 random(seed);
    codes.resize(static_cast<size_t>(n * k / 2));
    scales.resize(static_cast<size_t>(n * k / 16));
    bias.resize(static_cast<size_t>(n));
    for (uint8_t& code : codes) code = static_cast<uint8_t>(random());
    for (uint8_t& scale : scales) scale = static_cast<uint8_t>(1 + random() % 0x7e);
    for (float& value : bias) value = static_cast<float>(random() % 1000);
    view.format = kNvfp4Weight;
    view.n = n;
    view.k = k;
    view.codes = bytes(codes.data());
    view.code_row_bytes = k / 2;
    view.scales = bytes(scales.data());
    view.scale_row_bytes = k / 16;
    view.global_scale = 0.01f;
    view.bias = bytes(bias.data());
    view.bias_code = CodeType::f32;
  }
};

TEST(Slices, RowsOfASliceAreTheRowsOfTheWholeWithTheirBias) {
  const RandomNvfp4 w(/*n=*/7, /*k=*/64, /*seed=*/11);
  const WeightView part = slice_rows(w.view, 2, 3);
  EXPECT_EQ(part.n, 3);
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(row_of(part, row), row_of(w.view, row + 2)) << row;
    EXPECT_EQ(bias_value(part, row), bias_value(w.view, row + 2)) << row;
  }
}

TEST(Slices, ColumnsOfASliceAreTheColumnsOfTheWholeWithoutBias) {
  const RandomNvfp4 w(/*n=*/5, /*k=*/96, /*seed=*/12);
  const WeightView part = slice_columns(w.view, 32, 48);
  EXPECT_EQ(part.k, 48);
  EXPECT_EQ(part.bias, nullptr);
  for (int64_t row = 0; row < 5; ++row) {
    const std::vector<double> whole = row_of(w.view, row);
    EXPECT_EQ(row_of(part, row), std::vector<double>(whole.begin() + 32, whole.begin() + 80)) << row;
  }
}

TEST(Slices, BlockScalesAndZeroPointsFollowBothKindsOfSlice) {
  // 6 x 8 weights in blocks of 2 x 4.
  std::vector<uint8_t> codes(48);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i + 1);
  const float scales[] = {1, 2, 3, 4, 5, 6};
  const float zero_points[] = {0.5f, 1, 1.5f, 2, 2.5f, 3};
  WeightView w;
  w.format = {.code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 2, .block_columns = 4};
  w.format.zero_points = true;
  w.n = 6;
  w.k = 8;
  w.codes = bytes(codes.data());
  w.code_row_bytes = 8;
  w.scales = bytes(scales);
  w.scale_row_bytes = 8;
  w.zero_points = bytes(zero_points);
  const WeightView part = slice_columns(slice_rows(w, 2, 4), 4, 4);
  for (int64_t row = 0; row < 4; ++row) {
    const std::vector<double> whole = row_of(w, row + 2);
    EXPECT_EQ(row_of(part, row), std::vector<double>(whole.begin() + 4, whole.end())) << row;
  }
}

// Message of the Error that a call throws; empty if it throws none.
template <class Call>
std::string error_of(Call call, ErrorCode code = ErrorCode::bad_shape) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return {};
}

TEST(Slices, CutsThroughABlockOrOutsideTheMatrixAreRefused) {
  RandomNvfp4 w(/*n=*/4, /*k=*/64, /*seed=*/13);
  EXPECT_NE(error_of([&] { slice_columns(w.view, 8, 16); }).find("whole blocks of 16, got 16 from 8 of 64"),
            std::string::npos);
  EXPECT_NE(error_of([&] { slice_columns(w.view, 0, 8); }).find("whole blocks of 16"), std::string::npos);
  EXPECT_NE(error_of([&] { slice_rows(w.view, 2, 3); }).find("rows inside [0, 4), got 3 from 2"), std::string::npos);
  EXPECT_NE(error_of([&] { slice_rows(w.view, -1, 2); }).find("rows inside"), std::string::npos);
  w.view.format.block_rows = 2;
  EXPECT_NE(error_of([&] { slice_rows(w.view, 1, 2); }).find("whole blocks of 2"), std::string::npos);
}

TEST(Slices, PermutedColumnsAreNotSplit) {
  const float stored[] = {1, 2, 3, 4};
  const int32_t permutation[] = {3, 2, 1, 0};
  WeightView w;
  w.format = kF32Weight;
  w.format.permuted = true;
  w.n = 1;
  w.k = 4;
  w.codes = bytes(stored);
  w.code_row_bytes = 16;
  w.permutation = permutation;
  EXPECT_NE(error_of([&] { slice_columns(w, 0, 2); }).find("permuted columns"), std::string::npos);
  EXPECT_EQ(slice_columns(w, 0, 4).k, 4);
}

TEST(Describe, NamesPublishedFormatsAndSpellsOutOthers) {
  EXPECT_EQ(describe(kNvfp4Weight), "NVFP4");
  EXPECT_EQ(describe(kBf16Weight), "BF16");
  EXPECT_EQ(describe(kF16Weight), "F16");
  EXPECT_EQ(describe(kF32Weight), "F32");
  WeightFormat format{.code = CodeType::fp4_e2m1, .scale = ScaleType::e8m0, .block_rows = 1, .block_columns = 32};
  EXPECT_EQ(describe(format), "MXFP4");
  format = {.code = CodeType::f8_e4m3, .scale = ScaleType::f32, .block_rows = 128, .block_columns = 128};
  EXPECT_EQ(describe(format), "FP8 with F32 scales a 128 x 128 block");
  format = kNvfp4Weight;
  format.global = GlobalScale::divide;
  EXPECT_EQ(describe(format), "NVFP4, divided by a global scale");
}

}  // namespace
}  // namespace octet
