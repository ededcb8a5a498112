// tensor/numerics_class.h — the promise that all results of a running engine keep (docs/numerics.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// reference: double accumulation; defines the answer.
/// exact16:   bf16 activations or wider, float accumulation.
/// int8:      8-bit activations.
/// Pages of the KV cache carry the class that wrote them and are never read by another.
enum class NumericsClass : uint8_t { reference, exact16, int8 };

constexpr std::string_view to_string(NumericsClass c) {
  switch (c) {
    case NumericsClass::reference:
      return "reference";
    case NumericsClass::exact16:
      return "exact16";
    case NumericsClass::int8:
      return "int8";
  }
  return "reference";
}

}  // namespace octet
