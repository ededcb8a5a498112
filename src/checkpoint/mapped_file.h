// checkpoint/mapped_file.h — a file as read-only memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace octet {

/// A regular file mapped read-only and private for the life of the object; may be moved, not copied.
/// A file must not shrink while it is mapped: reading a page beyond its new end raises SIGBUS, as with every mapped
/// file. octet never writes to a checkpoint, and replacing a file by renaming another over it is safe.
class MappedFile {
 public:
  MappedFile() = default;
  /// Throws Error(bad_file) if the file cannot be opened, is not a regular file, or cannot be mapped.
  static MappedFile open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

  /// Brings [begin, begin + count) into memory and returns when it is there.
  /// Throws Error(bad_file) if the file was cut short or the disk failed, where the system can say so (Linux 5.14).
  void populate(int64_t begin, int64_t count) const;

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace octet
