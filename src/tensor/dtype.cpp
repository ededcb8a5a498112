#include "tensor/dtype.h"

#include <array>

namespace octet {
namespace {

struct Entry {
  DType type;
  std::string_view name;
  int32_t bits;
};

constexpr std::array kEntries = {
    Entry{DType::boolean, "BOOL", 8},
    Entry{DType::u8, "U8", 8},
    Entry{DType::i8, "I8", 8},
    Entry{DType::f8_e5m2, "F8_E5M2", 8},
    Entry{DType::f8_e4m3, "F8_E4M3", 8},
    Entry{DType::f8_e8m0, "F8_E8M0", 8},
    Entry{DType::f8_e4m3fnuz, "F8_E4M3FNUZ", 8},
    Entry{DType::f8_e5m2fnuz, "F8_E5M2FNUZ", 8},
    Entry{DType::i16, "I16", 16},
    Entry{DType::u16, "U16", 16},
    Entry{DType::f16, "F16", 16},
    Entry{DType::bf16, "BF16", 16},
    Entry{DType::i32, "I32", 32},
    Entry{DType::u32, "U32", 32},
    Entry{DType::f32, "F32", 32},
    Entry{DType::i64, "I64", 64},
    Entry{DType::u64, "U64", 64},
    Entry{DType::f64, "F64", 64},
    Entry{DType::c64, "C64", 64},
    Entry{DType::f4, "F4", 4},
    Entry{DType::f6_e2m3, "F6_E2M3", 6},
    Entry{DType::f6_e3m2, "F6_E3M2", 6},
};

const Entry& entry(DType type) { return kEntries[static_cast<size_t>(type)]; }

}  // namespace

int32_t bits(DType type) { return entry(type).bits; }

std::string_view to_string(DType type) { return entry(type).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Entry& e : kEntries) {
    if (e.name == name) return e.type;
  }
  return std::nullopt;
}

}  // namespace octet
