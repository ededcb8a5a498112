// kernels/cpu/read_probe.h — how fast this machine reads memory: what memory-bound kernels are measured against.
#pragma once

#include <cstdint>

#include "base/threads.h"
#include "tensor/buffer.h"
#include "tensor/device_info.h"

namespace octet::cpu {

/// Reads a large buffer front to back, piece by piece, over and over: with all threads, prefetch and huge pages, and
/// with as many streams a thread as turn out to be fastest here.
class ReadProbe {
 public:
  /// bytes is rounded up to whole parts of 4 MiB; to miss every cache it must be several times the last one.
  ReadProbe(int64_t bytes, const DeviceInfo& device, ThreadPool& threads);

  /// Reads the next `bytes` bytes, rounded up to whole parts. Returns the rate in 1e9 bytes a second.
  double read_gbs(int64_t bytes);

 private:
  uint64_t (*read_)(const uint8_t*, int64_t, int32_t);
  int32_t streams_ = 1;
  ThreadPool& threads_;
  Buffer buffer_;
  int64_t parts_;
  int64_t next_ = 0;  // part
};

}  // namespace octet::cpu
