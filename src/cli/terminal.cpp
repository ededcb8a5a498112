#include "cli/terminal.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"

namespace octet {
namespace {

constexpr int64_t kQuietNs = 200'000'000;
constexpr int kBarWidth = 30;

// A signal handler can reach nothing else.
volatile sig_atomic_t interrupt_flag = 0;

extern "C" void on_interrupt(int) { interrupt_flag = 1; }

}  // namespace

ProgressBar::~ProgressBar() {
  if (drawn_) std::fprintf(stderr, "\r\033[K");  // leave a clean line
}

ProgressFn ProgressBar::callback() {
  started_ns_ = now_ns();
  return [this](int64_t done, int64_t total) { show(done, total); };
}

void ProgressBar::show(int64_t done, int64_t total) {
  if (total <= 0 || now_ns() - started_ns_ < kQuietNs) return;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const int64_t percent = done * 100 / total;
  const int64_t step = terminal ? percent : percent / 25;
  if (step == last_shown_) return;
  last_shown_ = step;
  if (!terminal) {
    std::fprintf(stderr, "%s: %lld %%\n", what_.c_str(), static_cast<long long>(percent));
    return;
  }
  const std::string bar(static_cast<size_t>(percent * kBarWidth / 100), '#');
  std::fprintf(stderr, "\r%s [%-*s] %3lld %%", what_.c_str(), kBarWidth, bar.c_str(), static_cast<long long>(percent));
  std::fflush(stderr);
  drawn_ = true;
}

InterruptGuard::InterruptGuard() {
  interrupt_flag = 0;
  ::sigaction(SIGINT, nullptr, &previous_);
  if (previous_.sa_handler == SIG_IGN) return;  // started with Ctrl-C switched off: leave it so
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  ::sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() { ::sigaction(SIGINT, &previous_, nullptr); }

bool InterruptGuard::interrupted() { return interrupt_flag != 0; }

}  // namespace octet
