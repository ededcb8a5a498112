// tensor/dtype.h — element types as safetensors names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octet {

enum class DType : uint8_t {
  boolean,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  i64,
  u64,
  f64,
  c64,
  f4,
  f6_e2m3,
  f6_e3m2,
};

/// Bits of one element: 4, 6, 8, 16, 32 or 64.
int32_t bits(DType type);

/// Name in a safetensors header, for example "BF16".
std::string_view to_string(DType type);

/// Inverse of to_string; nullopt for an unknown name.
std::optional<DType> parse_dtype(std::string_view name);

}  // namespace octet
