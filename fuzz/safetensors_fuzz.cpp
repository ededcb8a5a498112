// Fuzz target: the header of a safetensors file. Any input ends in an Error or in tensors that lie inside it.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  try {
    int64_t covered = 0;
    for (const octet::TensorInfo& tensor : octet::parse_safetensors(file, "fuzz")) {
      OCTET_CHECK(tensor.data >= file.data() + 8 && tensor.bytes >= 0);
      OCTET_CHECK(tensor.data + tensor.bytes <= file.data() + file.size());
      covered += tensor.bytes;
    }
    OCTET_CHECK(covered <= static_cast<int64_t>(size));
  } catch (const octet::Error& error) {
    if (error.code() == octet::ErrorCode::internal) throw;  // a failed check above: let the fuzzer see it
  }
  return 0;
}
