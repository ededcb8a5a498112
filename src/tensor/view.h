// tensor/view.h — non-owning views of memory with shapes. Views never allocate and never check inside kernels.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace octet {

/// Rows of equal width: element (r, c) is at data[r * stride + c]. Shape comments are [rows, cols].
template <class T>
struct View2 {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;  // elements from one row to the next

  View2() = default;
  View2(T* data_, int64_t rows_, int64_t cols_) : View2(data_, rows_, cols_, cols_) {}
  View2(T* data_, int64_t rows_, int64_t cols_, int64_t stride_)
      : data(data_), rows(rows_), cols(cols_), stride(stride_) {}
  /// A view of mutable elements is one of constant elements.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<U, std::remove_const_t<T>>)
      View2(const View2<U>& other)  // NOLINT(google-explicit-constructor)
      : View2(other.data, other.rows, other.cols, other.stride) {}

  T* row(int64_t r) const { return data + r * stride; }
  T& operator()(int64_t r, int64_t c) const { return data[r * stride + c]; }
  /// Columns [begin, begin + count) of every row.
  View2 columns(int64_t begin, int64_t count) const { return View2(data + begin, rows, count, stride); }
  /// Rows [begin, begin + count).
  View2 slice(int64_t begin, int64_t count) const { return View2(data + begin * stride, count, cols, stride); }
};

/// A tensor's dimensions, outermost first; printed as [a, b, c].
using Shape = std::vector<int64_t>;

inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  for (size_t i = 0; i < shape.size(); ++i) out << (i ? ", " : "") << shape[i];
  return out << ']';
}

}  // namespace octet
