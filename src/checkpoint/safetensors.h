// checkpoint/safetensors.h — one safetensors file: tensors by name, read in place.
//
//   offset 0      8 bytes   length N of the header, little endian
//   offset 8      N bytes   JSON: name -> {"dtype", "shape", "data_offsets": [begin, end)}, and "__metadata__"
//   offset 8 + N  ...       data, row-major, little endian, every byte in exactly one tensor
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/mapped_file.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace octet {

struct TensorInfo {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;                      // outermost first; [] is one element
  const std::byte* data = nullptr;  // into the file; no alignment is promised
  int64_t bytes = 0;
};

/// For messages: "[64, 128]" and "BF16 [64, 128]".
std::string describe(const Shape& shape);
std::string describe(DType dtype, const Shape& shape);

/// Finds the tensors in the bytes of a safetensors file, in the order of their data.
/// where    names the file in messages.
/// Throws   Error(bad_file) for a header that is cut short, above 100 MB or not of the form above; a name, key or dtype
///          that is unknown or stands twice; a shape of more than 16 dimensions or more than 2^63 bytes; a size other
///          than shape and dtype say; data outside the file, overlapping, or with gaps.
/// Memory   grows with the header that is really there, never with a size that it declares.
std::vector<TensorInfo> parse_safetensors(std::span<const std::byte> file, std::string_view where);

/// A mapped safetensors file; views into it live as long as the object. See MappedFile on files that shrink.
class SafetensorsFile {
 public:
  /// Throws as MappedFile::open and parse_safetensors do.
  static SafetensorsFile open(const std::string& path);

  const std::string& path() const { return path_; }
  std::span<const TensorInfo> tensors() const { return tensors_; }
  const MappedFile& mapping() const { return mapping_; }

 private:
  std::string path_;
  MappedFile mapping_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace octet
