// One handler for the process.
#include "record/keep_signal.h"

#include <signal.h>

#include <atomic>
#include <cerrno>

namespace turnpike::record {
namespace {

std::atomic<void (*)()> g_keep{nullptr};
std::atomic<int> g_taken{0};

void handle_keep_signal(int) {
  const int callers_errno = errno;
  if (const auto keep = g_keep.load(); keep != nullptr) keep();
  errno = callers_errno;
}

}  // namespace

KeepSignalState take_keep_signal(int number, void (*keep)()) noexcept {
  struct sigaction now{};
  if (sigaction(number, nullptr, &now) != 0) return KeepSignalState::kFailed;
  const bool is_free = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
  if (!is_free) return KeepSignalState::kProgramHasIt;
  g_keep = keep;
  struct sigaction ours{};
  ours.sa_handler = handle_keep_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  if (sigaction(number, &ours, nullptr) != 0) return KeepSignalState::kFailed;
  g_taken = number;
  return KeepSignalState::kTaken;
}

void give_keep_signal_back() noexcept {
  const int number = g_taken.exchange(0);
  if (number == 0) return;
  struct sigaction now{};
  if (sigaction(number, nullptr, &now) != 0 || now.sa_handler != handle_keep_signal) return;
  signal(number, SIG_DFL);
}

}  // namespace turnpike::record
