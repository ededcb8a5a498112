// cli/terminal.h — progress on stderr, and Ctrl-C.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <string>

#include "checkpoint/checkpoint.h"

namespace octet {

/// Shows how far a long piece of work is: a bar on a terminal, otherwise a plain line each quarter. Silent for work
/// that is done within a fifth of a second.
class ProgressBar {
 public:
  /// what: for example "loading weights"
  explicit ProgressBar(std::string what) : what_(std::move(what)) {}
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// A callback that draws on this bar; from any thread, one call at a time.
  ProgressFn callback();

 private:
  void show(int64_t done, int64_t total);

  std::string what_;
  int64_t started_ns_ = 0;
  int64_t last_shown_ = -1;  // percent, or quarter
  bool drawn_ = false;
};

/// While one of these lives, the first Ctrl-C only sets a flag; the second ends the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// Whether Ctrl-C was pressed since construction.
  static bool interrupted();

 private:
  struct sigaction previous_ {};
};

}  // namespace octet
