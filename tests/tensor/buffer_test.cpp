#include "tensor/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "support/error_of.h"

namespace octet {
namespace {

using testing::contains;
using testing::error_of;

constexpr int64_t kMiB = int64_t{1} << 20;

bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 64 == 0; }

TEST(Buffer, IsAlignedZeroedAndWritableToItsLastByte) {
  // Around the size from which a buffer is a mapping of its own, and sizes that are no multiple of the alignment.
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{64}, int64_t{1000}, 4 * kMiB - 1, 4 * kMiB,
                              4 * kMiB + 1, 9 * kMiB + 77}) {
    for (int round = 0; round < 2; ++round) {  // the second one may get the memory that the first one wrote
      const Buffer buffer(bytes);
      EXPECT_EQ(buffer.bytes(), bytes);
      ASSERT_NE(buffer.data(), nullptr);
      EXPECT_TRUE(is_aligned(buffer.data())) << bytes;
      EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + bytes, [](std::byte b) { return b == std::byte{0}; }))
          << bytes;
      std::fill(buffer.data(), buffer.data() + bytes, std::byte{0xa5});
    }
  }
}

TEST(Buffer, MovingHandsOnTheMemory) {
  Buffer first(256);
  std::byte* const data = first.data();
  first.as<int32_t>()[63] = 42;
  const Buffer second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.bytes(), 256);
  EXPECT_EQ(second.as<int32_t>()[63], 42);
}

TEST(Buffer, ADefaultBufferIsEmpty) {
  EXPECT_EQ(Buffer().bytes(), 0);
  EXPECT_EQ(Buffer().data(), nullptr);
}

TEST(Buffer, MoreMemoryThanAnAddressSpaceHasIsAnErrorWithTheSize) {
  const int64_t bytes = int64_t{1} << 60;
  EXPECT_TRUE(contains(error_of(ErrorCode::no_memory, [&] { Buffer{bytes}; }), std::to_string(bytes)));
}

TEST(Buffer, ANegativeSizeIsAnError) {
  EXPECT_NE(error_of(ErrorCode::internal, [] { Buffer{-1}; }), "");
}

TEST(Arena, GivesOutAlignedSpansThatDoNotOverlap) {
  Arena arena(4096);
  std::vector<std::span<int32_t>> spans;
  for (int32_t count : {1, 16, 17, 0, 100}) {
    spans.push_back(arena.take<int32_t>(count));
    EXPECT_EQ(spans.back().size(), static_cast<size_t>(count));
    EXPECT_TRUE(is_aligned(spans.back().data())) << count;
    std::fill(spans.back().begin(), spans.back().end(), count);
  }
  for (const std::span<int32_t> span : spans) {
    for (const int32_t value : span) EXPECT_EQ(value, static_cast<int32_t>(span.size()));
  }
}

TEST(Arena, AMatrixHasRowsBackToBack) {
  Arena arena(4096);
  const View2<float> matrix = arena.matrix(3, 5);
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(matrix.cols, 5);
  EXPECT_EQ(matrix.row(2) - matrix.row(0), 10);
}

TEST(Arena, AScopeGivesBackWhatWasTakenInsideItAndThePeakStays) {
  Arena arena(1024);
  arena.take<std::byte>(64);
  const int64_t before = arena.mark();
  std::byte* inside = nullptr;
  {
    const ArenaScope outer(arena);
    inside = arena.take<std::byte>(128).data();
    {
      const ArenaScope inner(arena);
      arena.take<std::byte>(512);
    }
    EXPECT_EQ(arena.mark(), before + 128);
  }
  EXPECT_EQ(arena.mark(), before);
  EXPECT_EQ(arena.peak_bytes(), 64 + 128 + 512);
  EXPECT_EQ(arena.take<std::byte>(8).data(), inside) << "the place is given out again";
  EXPECT_EQ(arena.peak_bytes(), 64 + 128 + 512) << "a smaller use does not lower the peak";
}

TEST(Arena, CanBeUsedToItsLastByteAndOneMoreIsAnErrorWithTheNumbers) {
  Arena arena(1000);
  EXPECT_EQ(arena.bytes(), 1000);
  arena.take<std::byte>(960);
  EXPECT_NO_THROW(arena.take<std::byte>(40));
  arena.release(960);
  const std::string message = error_of(ErrorCode::internal, [&] { arena.take<std::byte>(41); });
  EXPECT_TRUE(contains(message, "1001 of 1000 bytes"));
  EXPECT_NO_THROW(arena.take<std::byte>(40)) << "a failed call takes nothing";
}

TEST(Arena, ANegativeCountIsAnError) {
  Arena arena(1000);
  EXPECT_NE(error_of(ErrorCode::internal, [&] { arena.take<float>(-1); }), "");
}

TEST(View2, AddressesRowsWithAStrideWiderThanTheColumns) {
  std::vector<int> values(12);
  std::iota(values.begin(), values.end(), 0);
  const View2<int> view(values.data(), 3, 2, 4);
  EXPECT_EQ(view(0, 1), 1);
  EXPECT_EQ(view(2, 0), 8);
  EXPECT_EQ(view.row(1), values.data() + 4);
}

TEST(View2, ColumnsAndSlicesShareTheMemoryAndKeepTheStride) {
  std::vector<int> values(20);
  std::iota(values.begin(), values.end(), 0);
  const View2<int> view(values.data(), 4, 5);
  const View2<int> part = view.slice(1, 2).columns(2, 3);
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(part.cols, 3);
  EXPECT_EQ(part(0, 0), 7);
  EXPECT_EQ(part(1, 2), 14);
  EXPECT_EQ(view.columns(2, 3).slice(1, 2).data, part.data) << "the order of the two does not matter";
  part(1, 2) = -1;
  EXPECT_EQ(values[14], -1);
}

TEST(View2, AViewOfMutableElementsBecomesOneOfConstantElementsOnly) {
  std::vector<int> values(6, 3);
  const View2<int> view(values.data(), 2, 2, 3);
  const View2<const int> constant = view;
  EXPECT_EQ(constant.data, values.data());
  EXPECT_EQ(constant.stride, 3);
  static_assert(!std::is_convertible_v<View2<const int>, View2<int>>);
  static_assert(!std::is_convertible_v<View2<int>, View2<const long>>);
}

TEST(Shape, IsPrintedOutermostFirst) {
  std::ostringstream out;
  out << Shape{256, 6144, 64} << Shape{} << Shape{7};
  EXPECT_EQ(out.str(), "[256, 6144, 64][][7]");
}

}  // namespace
}  // namespace octet
