#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <string>

#include "tensor/numerics_class.h"

namespace octet {
namespace {

// Names and widths as the safetensors format defines them, so this table repeats them on purpose.
constexpr struct {
  DType type;
  std::string_view name;
  int32_t bits;
} kTypes[] = {{DType::boolean, "BOOL", 8},
              {DType::u8, "U8", 8},
              {DType::i8, "I8", 8},
              {DType::f8_e5m2, "F8_E5M2", 8},
              {DType::f8_e4m3, "F8_E4M3", 8},
              {DType::f8_e8m0, "F8_E8M0", 8},
              {DType::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
              {DType::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
              {DType::i16, "I16", 16},
              {DType::u16, "U16", 16},
              {DType::f16, "F16", 16},
              {DType::bf16, "BF16", 16},
              {DType::i32, "I32", 32},
              {DType::u32, "U32", 32},
              {DType::f32, "F32", 32},
              {DType::i64, "I64", 64},
              {DType::u64, "U64", 64},
              {DType::f64, "F64", 64},
              {DType::c64, "C64", 64},
              {DType::f4, "F4", 4},
              {DType::f6_e2m3, "F6_E2M3", 6},
              {DType::f6_e3m2, "F6_E3M2", 6}};

TEST(DType, EveryTypeHasItsSafetensorsNameAndWidth) {
  int next = 0;
  for (const auto& t : kTypes) {
    EXPECT_EQ(static_cast<int>(t.type), next++) << "a type is missing in this table before " << t.name;
    EXPECT_EQ(to_string(t.type), t.name);
    EXPECT_EQ(bits(t.type), t.bits) << t.name;
  }
}

TEST(DType, EveryNameIsParsedBackToItsType) {
  for (const auto& t : kTypes) EXPECT_EQ(parse_dtype(t.name), t.type) << t.name;
}

TEST(DType, AnUnknownNameIsNoType) {
  for (const std::string_view name : {"", "F", "f32", "F32 ", " F32", "FP4", "F8", "BF16\n", "INT8"}) {
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  }
}

TEST(NumericsClass, EveryClassHasItsName) {
  EXPECT_EQ(to_string(NumericsClass::reference), "reference");
  EXPECT_EQ(to_string(NumericsClass::exact16), "exact16");
  EXPECT_EQ(to_string(NumericsClass::int8), "int8");
}

}  // namespace
}  // namespace octet
