#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

TEST(Error, FailStreamsItsPartsAndKeepsTheCode) {
  const std::string message = error_of(ErrorCode::bad_shape, [] {
    fail(ErrorCode::bad_shape, "a.safetensors", ": expected ", 3, " rows, got ", int64_t{1} << 40, ", scale ", 0.5);
  });
  EXPECT_EQ(message, "a.safetensors: expected 3 rows, got 1099511627776, scale 0.5");
}

TEST(Error, IsCaughtAsAStandardException) { EXPECT_THROW(fail(ErrorCode::limit, "too deep"), std::runtime_error); }

// The names are part of the JSON contract, so this table repeats them on purpose.
TEST(Error, EveryCodeHasItsStableName) {
  const struct {
    ErrorCode code;
    std::string_view name;
  } cases[] = {{ErrorCode::bad_usage, "bad_usage"},
               {ErrorCode::bad_file, "bad_file"},
               {ErrorCode::bad_checkpoint, "bad_checkpoint"},
               {ErrorCode::bad_config, "bad_config"},
               {ErrorCode::bad_tokenizer, "bad_tokenizer"},
               {ErrorCode::bad_template, "bad_template"},
               {ErrorCode::bad_shape, "bad_shape"},
               {ErrorCode::bad_request, "bad_request"},
               {ErrorCode::unsupported, "unsupported"},
               {ErrorCode::limit, "limit"},
               {ErrorCode::no_memory, "no_memory"},
               {ErrorCode::bad_numerics, "bad_numerics"},
               {ErrorCode::internal, "internal"}};
  int next = 0;
  for (const auto& c : cases) {
    EXPECT_EQ(to_string(c.code), c.name);
    EXPECT_EQ(static_cast<int>(c.code), next++) << "a code is missing in this table before " << c.name;
  }
}

TEST(Error, EveryRefusalHasItsStableName) {
  const struct {
    Refusal::Code code;
    std::string_view name;
  } cases[] = {{Refusal::Code::not_built, "not_built"},
               {Refusal::Code::instruction_set, "instruction_set"},
               {Refusal::Code::shared_memory, "shared_memory"},
               {Refusal::Code::shape, "shape"},
               {Refusal::Code::format, "format"},
               {Refusal::Code::activation, "activation"},
               {Refusal::Code::routing, "routing"},
               {Refusal::Code::memory, "memory"},
               {Refusal::Code::numerics_class, "numerics_class"},
               {Refusal::Code::mismatch, "mismatch"},
               {Refusal::Code::not_selected, "not_selected"}};
  int next = 0;
  for (const auto& c : cases) {
    EXPECT_EQ(to_string(c.code), c.name);
    EXPECT_EQ(static_cast<int>(c.code), next++) << "a code is missing in this table before " << c.name;
  }
}

TEST(Check, ABrokenInvariantThrowsWithItsTextAndFileNameWithoutFolders) {
  const int pages = 3;
  const std::string message = error_of(ErrorCode::internal, [&] { OCTET_CHECK(pages == 4); });
  EXPECT_TRUE(contains(message, "pages == 4"));
  EXPECT_EQ(message.rfind("error_test.cpp:", 0), 0u) << message;
}

TEST(Check, AnInvariantThatHoldsDoesNothing) {
  int evaluated = 0;
  EXPECT_NO_THROW(OCTET_CHECK(++evaluated == 1));
  EXPECT_EQ(evaluated, 1);
}

}  // namespace
}  // namespace octet
