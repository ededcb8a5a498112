#include "kernels/cpu/read_probe.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.h"
#include "kernels/cpu/fp4_pack.h"
#include "kernels/cpu/parallel.h"

namespace octet::cpu {
namespace {

constexpr int64_t kPartBytes = int64_t{4} << 20;

uint64_t read_words(const uint8_t* p, int64_t bytes, int32_t) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p + i, 8);
    sum += word;
  }
  return sum;
}

}  // namespace

ReadProbe::ReadProbe(int64_t bytes, const DeviceInfo& device, ThreadPool& threads)
    : read_(panel_kernels_for(device.cpu) == nullptr ? read_words : panel_kernels_for(device.cpu)->read),
      threads_(threads),
      buffer_(round_up(std::max(bytes, kPartBytes), kPartBytes)),
      parts_(buffer_.bytes() / kPartBytes) {
  // Pages that nobody has written are all the same page.
  threads.for_chunks(parts_, 1, [&](int64_t begin, int64_t end) {
    std::memset(buffer_.data() + begin * kPartBytes, 1, static_cast<size_t>((end - begin) * kPartBytes));
  });
  constexpr int kTries = 3;
  double best = 0;
  int32_t fastest = 1;
  for (const int32_t streams : {1, 2, 4}) {
    streams_ = streams;
    for (int i = 0; i < kTries; ++i) {
      const double rate = read_gbs(buffer_.bytes() / 4);
      if (rate > best) fastest = streams;
      best = std::max(best, rate);
    }
  }
  streams_ = fastest;
}

double ReadProbe::read_gbs(int64_t bytes) {
  const int64_t count = ceil_div(std::max<int64_t>(bytes, 1), kPartBytes);
  std::atomic<uint64_t> sum{0};  // used, so that no compiler drops the reads
  const int64_t start = now_ns();
  threads_.for_chunks(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      sum += read_(buffer_.as<uint8_t>() + (next_ + part) % parts_ * kPartBytes, kPartBytes, streams_);
    }
  });
  const int64_t elapsed = std::max<int64_t>(now_ns() - start, 1);
  next_ = (next_ + count) % parts_;
  OCTET_CHECK(sum.load() != 0);
  return static_cast<double>(count * kPartBytes) / static_cast<double>(elapsed);
}

}  // namespace octet::cpu
