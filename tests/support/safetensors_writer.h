// support/safetensors_writer.h — makes small safetensors files and checkpoint folders for tests.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "numerics/dequantize.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace octet::testing {

/// The bytes of `values` as a file holds them.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

/// `values` rounded to BF16.
inline std::string bf16_bytes(const std::vector<float>& values) {
  std::vector<uint16_t> bits;
  for (const float value : values) bits.push_back(bf16_bits(value));
  return bytes_of(bits);
}

/// Collects tensors and writes them back to back in the order of add(). Checks nothing: tests also write wrong files.
class SafetensorsWriter {
 public:
  SafetensorsWriter& add(const std::string& name, DType dtype, const Shape& shape, const std::string& bytes) {
    const size_t begin = data_.size();
    data_ += bytes;
    header_[name] = {
        {"dtype", std::string(to_string(dtype))}, {"shape", shape}, {"data_offsets", {begin, data_.size()}}};
    return *this;
  }
  SafetensorsWriter& add_f32(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    return add(name, DType::f32, shape, bytes_of(values));
  }
  SafetensorsWriter& add_bf16(const std::string& name, const Shape& shape, const std::vector<float>& values) {
    return add(name, DType::bf16, shape, bf16_bytes(values));
  }

  /// The whole file.
  std::string file() const { return file(header_.dump(), data_); }

  /// A file of any header text and data.
  static std::string file(const std::string& header, const std::string& data) {
    const uint64_t size = header.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + header + data;
  }

 private:
  OrderedJson header_ = OrderedJson::object();
  std::string data_;
};

/// A fresh folder below the system's folder for temporary files, removed with all that is in it at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "octet-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail(ErrorCode::bad_file, pattern, ": could not be made");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  /// Full path of a file in the folder.
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Writes one file, making its folder if needed, and returns its full path.
  std::string write(const std::string& name, const std::string& contents) const {
    const std::filesystem::path file = path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << contents;
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace octet::testing
