// numerics/dequantize.h — exact values of canonical weights: the definition that every packed format is tested against.
#pragma once

#include <cstdint>

#include "numerics/weight.h"

namespace octet {

/// Value of a BF16, F16, E4M3 (fn) or E8M0 number given by its bits. E4M3 0x7f/0xff and E8M0 255 are NaN. Exact.
float bf16_value(uint16_t bits);
float f16_value(uint16_t bits);
float e4m3_value(uint8_t bits);
float e8m0_value(uint8_t bits);
/// Value of an E2M1 code in [0, 16): 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
float e2m1_value(uint8_t code);

/// Nearest BF16 of x, ties to even; NaN stays NaN.
uint16_t bf16_bits(float x);
/// Nearest E4M3 of x, ties to even, saturated to +-448; NaN stays NaN.
uint8_t e4m3_bits(float x);
/// Nearest E2M1 code of x, ties to the even code, saturated to +-6. NaN is not allowed. As in ModelOpt, the sign bit is
/// set exactly for x < 0: -0 gives code 0, a tiny negative number code 8.
uint8_t e2m1_code(float x);

/// out[k] = w[row, k] for every column k, in the activation's column order. Every field of WeightFormat is honoured.
/// row   in [0, N)
/// out   [K] double, overwritten. Exact for plain, FP4 and FP8 weights (their products have at most 52 bits), unless
///       the global scale divides (then rounded once) or zero points are used.
/// Cost  one row; allocates only to undo a permutation. For reference paths, tests and conversion.
void dequantize_row(const WeightView& w, int64_t row, double* out);

/// bias[row] as a float; 0 if there is none.
float bias_value(const WeightView& w, int64_t row);

}  // namespace octet
