// tensor/buffer.h — owned memory: aligned buffers, and the arena from which a step takes its activations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "tensor/view.h"

namespace octet {

namespace detail {
struct FreeBuffer {
  int64_t mapped_bytes = 0;  // 0: from aligned_alloc
  void operator()(std::byte* p) const;
};
}  // namespace detail

/// Zero-initialised memory, aligned to 64 bytes; from 4 MiB on huge pages are asked for.
class Buffer {
 public:
  Buffer() = default;
  /// Throws Error(no_memory) naming the size.
  explicit Buffer(int64_t bytes);
  std::byte* data() const { return data_.get(); }
  int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  std::unique_ptr<std::byte, detail::FreeBuffer> data_;
  int64_t bytes_ = 0;
};

/// Memory of one step, given out front to back and taken back all at once; its size is a line of the memory plan.
class Arena {
 public:
  explicit Arena(int64_t bytes) : buffer_(bytes) {}

  /// Uninitialised elements, aligned to 64 bytes, valid until the mark that it lies above is released.
  template <class T>
  std::span<T> take(int64_t count) {
    return {reinterpret_cast<T*>(take_bytes(count * static_cast<int64_t>(sizeof(T)))), static_cast<size_t>(count)};
  }
  /// A matrix [rows, cols]; rows lie back to back.
  template <class T = float>
  View2<T> matrix(int64_t rows, int64_t cols) {
    return View2<T>(take<T>(rows * cols).data(), rows, cols);
  }
  int64_t mark() const { return used_; }
  void release(int64_t mark) { used_ = mark; }
  int64_t peak_bytes() const { return peak_; }
  int64_t bytes() const { return buffer_.bytes(); }

 private:
  std::byte* take_bytes(int64_t bytes);

  Buffer buffer_;
  int64_t used_ = 0;
  int64_t peak_ = 0;
};

/// Gives back at the end of a scope what was taken from the arena inside it.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.release(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  int64_t mark_;
};

}  // namespace octet
