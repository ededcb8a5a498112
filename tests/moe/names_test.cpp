// What --moe-runner-backend may say.
#include "moe/experts/names.h"

#include <gtest/gtest.h>

#include "support/error_of.h"

namespace octet {
namespace {

TEST(ForcedBackends, OneNameHoldsForBothPhases) {
  const ForcedBackends forced = parse_forced_backends("marlin");
  EXPECT_EQ(forced.at(1), "marlin");
  EXPECT_EQ(forced.at(100'000), "marlin");
}

TEST(ForcedBackends, AutoAndNothingMeanEveryBackend) {
  for (const char* text : {"", "auto", "decode=auto", "prefill=auto,decode=auto"}) {
    const ForcedBackends forced = parse_forced_backends(text);
    EXPECT_EQ(forced.at(1), "") << text;
    EXPECT_EQ(forced.at(100'000), "") << text;
  }
}

TEST(ForcedBackends, PhasesAreDividedAtTheLargestDecodeStep) {
  const ForcedBackends forced = parse_forced_backends("decode=cpu.rows,prefill=reference");
  EXPECT_EQ(forced.at(kMostDecodeTokens), "cpu.rows");
  EXPECT_EQ(forced.at(kMostDecodeTokens + 1), "reference");
}

TEST(ForcedBackends, APhaseThatIsNotNamedIsFree) {
  const ForcedBackends forced = parse_forced_backends("prefill=deep_gemm");
  EXPECT_EQ(forced.at(1), "");
  EXPECT_EQ(forced.at(512), "deep_gemm");
}

TEST(ForcedBackends, OtherFormsAreBadUsageThatSaysTheForm) {
  for (const char* text : {"decode=", "decode=a,decode=b", "verify=a", "a,b", "decode=a,", ",decode=a", "decode=a=b",
                           "=", ",", "decode=a,,prefill=b"}) {
    const std::string message = testing::error_of(ErrorCode::bad_usage, [&] { parse_forced_backends(text); });
    EXPECT_TRUE(testing::contains(message, "decode=NAME,prefill=NAME")) << text;
    EXPECT_TRUE(testing::contains(message, text));
  }
}

TEST(Aliases, ANameFromAnotherEngineSelectsWhatTheDocumentationSays) {
  const struct {
    const char* forced;
    const char* backend;
    bool selected;
  } cases[] = {{"marlin", "cuda.fp4_rows", true},
               {"marlin", "cuda.fp4_tiles_sm90", true},
               {"marlin", "cuda.fp8_tiles_sm90", false},
               {"deep_gemm", "cuda.fp8_tiles_sm90", true},
               {"triton_kernel", "triton.mxfp4_64x256x128_s4_sm90", true},
               {"cutlass", "cutlass.nvfp4_128x256x128_s2_sm120", true},
               {"flashinfer_cutlass", "cuda.fp4_rows", false},
               {"flashinfer_mxfp4", "cuda.fp4_rows", true},
               {"flashinfer_mxfp4", "cuda.fp8_tiles_sm90", false},
               {"flashinfer_trtllm", "cutlass.nvfp4_128x256x256_s3_sm100", false},
               {"cpu", "cpu.rows", true},
               {"cpu", "reference", false}};
  for (const auto& c : cases) EXPECT_EQ(selects(c.forced, c.backend), c.selected) << c.forced << " " << c.backend;
}

TEST(Aliases, ANameThatIsNoAliasSelectsExactlyItself) {
  EXPECT_TRUE(selects("cpu.rows", "cpu.rows"));
  EXPECT_FALSE(selects("cpu.row", "cpu.rows"));
  EXPECT_FALSE(selects("cpu.rows", "cpu.rows_int8"));
  EXPECT_FALSE(selects("cpu.*", "cpu.rows"));
  EXPECT_EQ(alias_meaning("cpu.rows"), "");
}

}  // namespace
}  // namespace octet
