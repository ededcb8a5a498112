#include "checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
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

std::vector<TensorInfo> parse(const std::string& file) {
  return parse_safetensors({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "t.safetensors");
}

// Message for a file that must be refused.
std::string refusal(const std::string& file) {
  return error_of(ErrorCode::bad_file, [&] { parse(file); });
}

std::string refusal(const std::string& header, const std::string& data) {
  return refusal(SafetensorsWriter::file(header, data));
}

// Header of one tensor "w" with the given parts.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, TensorsAreFoundWithTypeShapeAndBytesInTheOrderOfTheirData) {
  const std::string header = R"({"__metadata__":{"format":"pt"},)"
                             R"("b":{"shape":[2],"dtype":"F32","data_offsets":[6,14]},)"
                             R"("a":{"dtype":"BF16","shape":[3,1],"data_offsets":[0,6]}}   )";
  const std::string file = SafetensorsWriter::file(header, "aaaaaabbbbcccc");
  const std::vector<TensorInfo> tensors = parse(file);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, DType::bf16);
  EXPECT_EQ(tensors[0].shape, (Shape{3, 1}));
  EXPECT_EQ(tensors[0].bytes, 6);
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(std::memcmp(tensors[1].data, "bbbbcccc", 8), 0);
}

TEST(Safetensors, EveryDtypeOfTheFormatIsReadWithItsWidth) {
  const struct {
    DType dtype;
    int64_t bytes_of_8;
  } cases[] = {{DType::boolean, 8}, {DType::u8, 8},      {DType::i8, 8},          {DType::f8_e5m2, 8},
               {DType::f8_e4m3, 8}, {DType::f8_e8m0, 8}, {DType::f8_e4m3fnuz, 8}, {DType::f8_e5m2fnuz, 8},
               {DType::i16, 16},    {DType::u16, 16},    {DType::f16, 16},        {DType::bf16, 16},
               {DType::i32, 32},    {DType::u32, 32},    {DType::f32, 32},        {DType::i64, 64},
               {DType::u64, 64},    {DType::f64, 64},    {DType::c64, 64},        {DType::f4, 4},
               {DType::f6_e2m3, 6}, {DType::f6_e3m2, 6}};
  for (const auto& c : cases) {
    SafetensorsWriter writer;
    writer.add("w", c.dtype, {8}, std::string(static_cast<size_t>(c.bytes_of_8), 'x'));
    EXPECT_EQ(parse(writer.file())[0].bytes, c.bytes_of_8) << to_string(c.dtype);
  }
}

TEST(Safetensors, ScalarsAndEmptyTensorsAndEmptyFilesAreRead) {
  SafetensorsWriter writer;
  writer.add_f32("scalar", {}, {1.5f}).add("empty", DType::bf16, {0, 4}, "");
  const std::string file = writer.file();
  const std::vector<TensorInfo> tensors = parse(file);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].bytes, 4);
  EXPECT_EQ(tensors[1].bytes, 0);
  EXPECT_TRUE(parse(SafetensorsWriter::file("{}", "")).empty());
}

TEST(Safetensors, FileShorterThanItsLengthFieldIsRefused) {
  EXPECT_TRUE(contains(refusal(""), "t.safetensors: expected at least 8 bytes, got 0"));
  EXPECT_TRUE(contains(refusal("1234567"), "expected at least 8 bytes, got 7"));
}

TEST(Safetensors, HeaderAbove100MillionBytesIsRefusedWithoutReadingOn) {
  const uint64_t lengths[] = {100'000'001, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 7};
  for (const uint64_t length : lengths) {
    std::string file(16, ' ');
    std::memcpy(file.data(), &length, sizeof(length));
    EXPECT_TRUE(contains(refusal(file), "header of at most 100000000 bytes, got " + std::to_string(length)));
  }
}

TEST(Safetensors, HeaderBeyondTheFileIsRefused) {
  std::string file = SafetensorsWriter::file("{}", "");
  file[0] = 3;
  EXPECT_TRUE(contains(refusal(file), "expected a header of 3 bytes, got a file of 10"));
}

TEST(Safetensors, HeaderThatIsNotAnObjectIsRefused) {
  EXPECT_TRUE(contains(refusal("", ""), "byte 0: expected '{', got the end of the text"));
  EXPECT_TRUE(contains(refusal(" {}", ""), "byte 0: expected '{'"));
  EXPECT_TRUE(contains(refusal("[]", ""), "expected '{', got \"[]\""));
  EXPECT_TRUE(contains(refusal("{} x", ""), "expected nothing more, got \"x\""));
  EXPECT_TRUE(contains(refusal(std::string("{}\0", 3), ""), "expected nothing more"));
}

TEST(Safetensors, DuplicateNamesAndKeysAreRefused) {
  const std::string entry = R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_TRUE(contains(refusal("{" + entry + "," + entry + "}", "x"), "t.safetensors: w: expected each name once"));
  EXPECT_TRUE(
      contains(refusal(R"({"w":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"), "once each"));
  EXPECT_TRUE(
      contains(refusal(R"({"w":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", "x"), "once each"));
  EXPECT_TRUE(contains(refusal(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]}})", "x"),
                       "once each"));
  EXPECT_TRUE(contains(refusal(R"({"__metadata__":{"a":"b","a":"b"}})", ""), "each key of \"__metadata__\" once"));
  EXPECT_TRUE(
      contains(refusal(R"({"__metadata__":{},"__metadata__":{}})", ""), "__metadata__: expected each name once"));
}

TEST(Safetensors, MissingAndUnknownKeysOfATensorAreRefused) {
  EXPECT_TRUE(contains(refusal(R"({"w":{"dtype":"U8","shape":[1]}})", "x"), "two \"data_offsets\""));
  EXPECT_TRUE(contains(refusal(R"({"w":{"shape":[1],"data_offsets":[0,1]}})", "x"), "expected \"dtype\""));
  EXPECT_TRUE(contains(refusal(R"({"w":{"dtype":"U8","data_offsets":[0,1]}})", "x"), "\"shape\""));
  EXPECT_TRUE(contains(refusal(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":{}}})", "x"), "once each"));
  EXPECT_TRUE(contains(refusal(R"({"w":[]})", ""), "expected '{', got \"[]"));
  EXPECT_TRUE(contains(refusal(R"({"__metadata__":{"a":1}})", ""), "expected a string, got \"1}}\""));
}

TEST(Safetensors, UnknownDtypeIsAnErrorThatNamesTheTensor) {
  EXPECT_TRUE(
      contains(refusal(one("F3", "[1]", "[0,1]"), "x"), "t.safetensors: w: expected a known dtype, got \"F3\""));
}

TEST(Safetensors, NegativeFractionalAndHugeNumbersAreRefused) {
  EXPECT_TRUE(contains(refusal(one("U8", "[-1]", "[0,1]"), "x"), "a non-negative integer, got \"-1]"));
  EXPECT_TRUE(contains(refusal(one("U8", "[1.0]", "[0,1]"), "x"), "a non-negative integer"));
  EXPECT_TRUE(contains(refusal(one("U8", "[1]", "[0,99999999999999999999]"), "x"), "an integer below 2^63"));
  EXPECT_TRUE(contains(refusal(one("U8", "[1]", "[0]"), "x"), "two \"data_offsets\""));
  EXPECT_TRUE(contains(refusal(one("U8", "[1]", "[0,1,2]"), "x"), "expected two offsets"));
}

TEST(Safetensors, ShapesWhoseProductOverflowsAreRefused) {
  const std::string huge = "[4294967296,4294967296]";
  EXPECT_TRUE(
      contains(refusal(one("U8", huge, "[0,1]"), "x"), "fewer than 2^63 bits, got U8 [4294967296, 4294967296]"));
  // 2^60 elements of 16 bytes would be 0 modulo 2^64.
  EXPECT_TRUE(contains(refusal(one("F64", "[1152921504606846976,2]", "[0,0]"), ""), "fewer than 2^63 bits"));
  std::string many = "[1";
  for (int i = 0; i < 16; ++i) many += ",1";
  EXPECT_TRUE(contains(refusal(one("U8", many + "]", "[0,1]"), "x"), "at most 16 dimensions"));
}

TEST(Safetensors, HalfABytesWorthOfFp4IsRefused) {
  EXPECT_TRUE(contains(refusal(one("F4", "[3]", "[0,2]"), "xx"), "expected whole bytes"));
}

TEST(Safetensors, SizeOtherThanShapeAndDtypeSayIsRefused) {
  EXPECT_TRUE(contains(refusal(one("F32", "[2]", "[0,4]"), "xxxx"), "w: expected 8 bytes for F32 [2], got 4"));
  EXPECT_TRUE(contains(refusal(one("F32", "[]", "[0,8]"), "xxxxxxxx"), "expected 4 bytes for F32 [], got 8"));
}

TEST(Safetensors, DataOutsideTheFileIsRefused) {
  EXPECT_TRUE(contains(refusal(one("U8", "[4]", "[0,4]"), "xxx"), "inside the file's 3 bytes of data, got [0, 4)"));
  EXPECT_TRUE(contains(refusal(one("U8", "[4]", "[5,1]"), "xxxxx"), "got [5, 1)"));
  EXPECT_TRUE(
      contains(refusal(one("U8", "[1]", "[9223372036854775806,9223372036854775807]"), "x"), "inside the file's"));
}

std::string two(const std::string& offsets_a, const std::string& offsets_b) {
  return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + offsets_a +
         R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + offsets_b + "}}";
}

TEST(Safetensors, OverlapsGapsAndLeftOverBytesAreRefused) {
  EXPECT_EQ(refusal(two("[2,4]", "[0,2]"), "xxxx"), "");
  EXPECT_TRUE(contains(refusal(two("[0,2]", "[1,3]"), "xxx"), "b: expected data from byte 2 on"));
  EXPECT_TRUE(contains(refusal(two("[0,2]", "[0,2]"), "xx"), "expected data from byte 2 on"));
  EXPECT_TRUE(contains(refusal(two("[0,2]", "[3,5]"), "xxxxx"), "b: expected data from byte 2 on"));
  EXPECT_TRUE(contains(refusal(two("[1,3]", "[3,5]"), "xxxxx"), "a: expected data from byte 0 on"));
  EXPECT_TRUE(contains(refusal(two("[0,2]", "[2,4]"), "xxxxx"), "expected 4 bytes of data, got 5"));
}

TEST(Safetensors, NamesThatAreNotUtf8AreRefused) {
  EXPECT_TRUE(contains(refusal("{\"\xff\":{}}", ""), "expected valid UTF-8"));
}

TEST(SafetensorsFile, OpensMovesAndKeepsItsTensors) {
  const TempFolder folder;
  SafetensorsFile file =
      SafetensorsFile::open(folder.write("t.safetensors", SafetensorsWriter().add_f32("w", {2}, {1.0f, 2.0f}).file()));
  SafetensorsFile moved = std::move(file);
  float values[2];
  std::memcpy(values, moved.tensors()[0].data, sizeof(values));
  EXPECT_EQ(values[1], 2.0f);
  moved.mapping().populate(3, 8);
}

TEST(SafetensorsFile, MissingFilesFoldersAndEmptyFilesAreRefused) {
  const TempFolder folder;
  const auto error = [](const std::string& path) {
    return error_of(ErrorCode::bad_file, [&] { SafetensorsFile::open(path); });
  };
  EXPECT_TRUE(contains(error(folder.path("none")), "none: expected a readable file, got: No such file"));
  EXPECT_TRUE(contains(error(folder.path()), "expected a regular file"));
  EXPECT_TRUE(contains(error("/dev/null"), "expected a regular file"));
  EXPECT_TRUE(contains(error(folder.write("empty", "")), "expected at least 8 bytes, got 0"));
}

}  // namespace
}  // namespace octet
