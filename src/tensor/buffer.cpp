#include "tensor/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace octet {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

void detail::FreeBuffer::operator()(std::byte* p) const {
  if (mapped_bytes > 0) {
    ::munmap(p, static_cast<size_t>(mapped_bytes));
  } else {
    std::free(p);
  }
}

Buffer::Buffer(int64_t bytes) : bytes_(bytes) {
  OCTET_CHECK(bytes >= 0);
  if (bytes >= 2 * kHugePage) {
    const int64_t mapped = round_up(bytes, kHugePage);
    void* p = ::mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      fail(ErrorCode::no_memory, "could not get ", bytes,
           " bytes of memory; lower --context-length or --max-running-requests");
    ::madvise(p, static_cast<size_t>(mapped), MADV_HUGEPAGE);  // advice: the kernel may decline
    data_ = {static_cast<std::byte*>(p), detail::FreeBuffer{mapped}};
    return;
  }
  const auto size = static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), kAlignment));
  void* p = std::aligned_alloc(kAlignment, size);
  if (p == nullptr) fail(ErrorCode::no_memory, "could not get ", bytes, " bytes of memory");
  std::memset(p, 0, size);
  data_ = {static_cast<std::byte*>(p), detail::FreeBuffer{0}};
}

std::byte* Arena::take_bytes(int64_t bytes) {
  const int64_t begin = round_up(used_, kAlignment);
  if (bytes < 0 || begin + bytes > buffer_.bytes()) {
    fail(ErrorCode::internal, "a step needs more activation memory than its plan has: ", begin + bytes, " of ",
         buffer_.bytes(), " bytes; this is a bug in octet's memory plan, please report it");
  }
  used_ = begin + bytes;
  peak_ = std::max(peak_, used_);
  return buffer_.data() + begin;
}

}  // namespace octet
