#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace octet {
namespace {

// Closes a file descriptor at the end of a scope; a mapping does not need it.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe returns at once, and it is then refused as not regular.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0) {
    fail(ErrorCode::bad_file, path, ": expected a readable file, got: ", std::strerror(errno),
         "; check the path and its permissions");
  }
  if (!S_ISREG(info.st_mode)) {
    fail(ErrorCode::bad_file, path, ": expected a regular file, got something else; check the path");
  }
  MappedFile mapped;
  mapped.path_ = path;
  if (info.st_size == 0) return mapped;  // the system maps no empty range
  const auto size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0);
  if (data == MAP_FAILED) {
    fail(ErrorCode::bad_file, path, ": expected to map ", size, " bytes, got: ", std::strerror(errno),
         "; check the limit on address space (ulimit -v)");
  }
  mapped.bytes_ = {static_cast<const std::byte*>(data), size};
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::populate(int64_t begin, int64_t count) const {
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t first = begin / page * page;
  const auto length = static_cast<size_t>(begin + count - first);
  void* data = const_cast<std::byte*>(bytes_.data() + first);
  if (::madvise(data, length, MADV_POPULATE_READ) == 0) return;
  if (errno != EINVAL) {  // EINVAL: a kernel that does not know the request
    fail(ErrorCode::bad_file, path_, ": bytes from ", begin, " could not be read: ", std::strerror(errno),
         "; the file was cut short or the disk failed: fetch it again");
  }
  ::madvise(data, length, MADV_WILLNEED);
  for (int64_t at = begin; at < begin + count; at += page) {
    // volatile: the read is the purpose, its value is not used.
    static_cast<void>(*static_cast<const volatile std::byte*>(bytes_.data() + at));
  }
}

}  // namespace octet
