#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "numerics/dequantize.h"

namespace octet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(E2m1, EveryCodeHasThePublishedValue) {
  const float magnitudes[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  for (uint8_t code = 0; code < 8; ++code) {
    EXPECT_EQ(e2m1_value(code), magnitudes[code]);
    EXPECT_EQ(e2m1_value(static_cast<uint8_t>(code | 8)), -magnitudes[code]);
  }
  EXPECT_TRUE(std::signbit(e2m1_value(8)));
}

TEST(E2m1, ThresholdsRoundToTheEvenCodeAndTheirNeighboursToTheNearest) {
  const struct {
    float threshold;
    uint8_t at, above;
  } cases[] = {{0.25f, 0, 1}, {0.75f, 2, 2}, {1.25f, 2, 3}, {1.75f, 4, 4}, {2.5f, 4, 5}, {3.5f, 6, 6}, {5.0f, 6, 7}};
  uint8_t below = 0;
  for (const auto& c : cases) {
    EXPECT_EQ(e2m1_code(std::nextafter(c.threshold, 0.0f)), below) << c.threshold;
    EXPECT_EQ(e2m1_code(c.threshold), c.at) << c.threshold;
    EXPECT_EQ(e2m1_code(std::nextafter(c.threshold, 9.0f)), c.above) << c.threshold;
    EXPECT_EQ(e2m1_code(-c.threshold), c.at | 8) << c.threshold;
    ++below;
  }
}

TEST(E2m1, LargeNumbersSaturateAndOnlyNumbersBelowZeroGetASign) {
  EXPECT_EQ(e2m1_code(1e30f), 7);
  EXPECT_EQ(e2m1_code(-kInfinity), 15);
  EXPECT_EQ(e2m1_code(-0.0f), 0);
  EXPECT_EQ(e2m1_code(-1e-30f), 8);
}

TEST(E4m3, EveryCodeHasTheValueOfItsFields) {
  for (int code = 0; code < 256; ++code) {
    const float value = e4m3_value(static_cast<uint8_t>(code));
    const int exponent = (code >> 3) & 15;
    const int fraction = code & 7;
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(value)) << code;
      continue;
    }
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(1.0 + fraction / 8.0, exponent - 7);
    EXPECT_EQ(value, code < 128 ? magnitude : -magnitude) << code;
    EXPECT_EQ(std::signbit(value), code >= 128) << code;
  }
}

TEST(E4m3, NamedNumbersHaveThePublishedCodes) {
  EXPECT_EQ(e4m3_value(0x38), 1.0f);
  EXPECT_EQ(e4m3_value(0x7e), 448.0f);
  EXPECT_EQ(e4m3_value(0x01), 0.001953125f);
  EXPECT_EQ(e4m3_value(0x08), 0.015625f);
}

TEST(E4m3, EveryFiniteCodeSurvivesARoundTrip) {
  for (int code = 0; code < 256; ++code) {
    if ((code & 0x7f) == 0x7f) continue;
    EXPECT_EQ(e4m3_bits(e4m3_value(static_cast<uint8_t>(code))), code);
  }
}

TEST(E4m3, MidpointsRoundToTheEvenCodeAndTheirNeighboursToTheNearest) {
  for (uint8_t code = 0; code < 0x7e; ++code) {
    const uint8_t next = static_cast<uint8_t>(code + 1);
    const float middle = (e4m3_value(code) + e4m3_value(next)) / 2;  // exact
    EXPECT_EQ(e4m3_bits(middle), code % 2 == 0 ? code : next) << int{code};
    EXPECT_EQ(e4m3_bits(std::nextafter(middle, 0.0f)), code) << int{code};
    EXPECT_EQ(e4m3_bits(std::nextafter(middle, 1e9f)), next) << int{code};
    EXPECT_EQ(e4m3_bits(-middle), 0x80 | (code % 2 == 0 ? code : next)) << int{code};
  }
}

TEST(E4m3, LargeNumbersSaturateAndNanStaysNan) {
  EXPECT_EQ(e4m3_bits(449.0f), 0x7e);
  EXPECT_EQ(e4m3_bits(1e30f), 0x7e);
  EXPECT_EQ(e4m3_bits(-kInfinity), 0xfe);
  EXPECT_EQ(e4m3_bits(kNaN) & 0x7f, 0x7f);
}

TEST(E8m0, EveryByteIsItsPowerOfTwoAnd255IsNan) {
  for (int byte = 0; byte < 255; ++byte) {
    EXPECT_EQ(e8m0_value(static_cast<uint8_t>(byte)), std::ldexp(1.0, byte - 127)) << byte;
  }
  EXPECT_TRUE(std::isnan(e8m0_value(255)));
}

TEST(Bf16, EveryNumberSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_value(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_value(bf16_bits(value)))) << bits;
    } else {
      EXPECT_EQ(bf16_bits(value), bits);
    }
  }
}

TEST(Bf16, MidpointsRoundToTheEvenNumber) {
  for (uint32_t bits = 0; bits < 0x7f7f; ++bits) {
    const uint32_t even = bits + (bits & 1);
    EXPECT_EQ(bf16_bits(std::bit_cast<float>((bits << 16) | 0x8000)), even);
    EXPECT_EQ(bf16_bits(std::bit_cast<float>((bits << 16) | 0x7fff)), bits);
    EXPECT_EQ(bf16_bits(std::bit_cast<float>((bits << 16) | 0x8001)), bits + 1);
  }
}

TEST(Bf16, NanWithLowBitsOnlyDoesNotBecomeInfinity) {
  EXPECT_TRUE(std::isnan(bf16_value(bf16_bits(std::bit_cast<float>(0x7f800001u)))));
}

TEST(F16, EveryCodeHasTheValueOfItsFields) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16_value(static_cast<uint16_t>(bits));
    const int exponent = static_cast<int>((bits >> 10) & 31);
    const int fraction = static_cast<int>(bits & 0x3ff);
    EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    if (exponent == 31) {
      EXPECT_TRUE(fraction == 0 ? std::isinf(value) : std::isnan(value)) << bits;
    } else {
      const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0 + fraction, exponent - 25);
      EXPECT_EQ(std::fabs(value), magnitude) << bits;
    }
  }
}

}  // namespace
}  // namespace octet
