// A forked process that writes down each signal that it gets.
#include "cli/signal_witness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <vector>

namespace turnpike::cli {
namespace {

// A sender of signals to each process of a job needs less.
constexpr int kMostDelayMs = 50;

bool is_sent_by_a_process(const siginfo_t& one) {
  return one.si_code == SI_USER || one.si_code == SI_TKILL || one.si_code == SI_QUEUE;
}

// Holds nothing of the program open but its end of the pipe: whoever reads the output waits for all to close it.
[[noreturn]] void note_signals(int notes, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  dup2(notes, 0);
  syscall(SYS_close_range, 1u, UINT_MAX, 0u);
  sigset_t all;
  sigfillset(&all);
  for (siginfo_t got{};;) {
    if (sigwaitinfo(&all, &got) <= 0 || !is_sent_by_a_process(got)) continue;
    // Where nobody has read for long, the pipe is full, and the note is lost.
    [[maybe_unused]] const auto written = write(0, &got, sizeof got);
  }
}

}  // namespace

SignalWitness::SignalWitness() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  const pid_t self = getpid();
  process_ = fork();
  if (process_ == 0) note_signals(ends[1], self);
  close(ends[1]);
  notes_file_ = ends[0];
}

SignalWitness::~SignalWitness() {
  if (notes_file_ >= 0) close(notes_file_);
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

// All equal ones go: the kernel keeps one of several that wait, and a note that stayed would swallow a later signal.
bool SignalWitness::has_got(const siginfo_t& taken) {
  const auto is_it = [&](const siginfo_t& one) { return one.si_signo == taken.si_signo && one.si_pid == taken.si_pid; };
  if (!is_sent_by_a_process(taken)) return false;
  do {
    siginfo_t got{};
    while (read(notes_file_, &got, sizeof got) == sizeof got) notes_.push_back(got);
    if (std::erase_if(notes_, is_it) > 0) return true;
  } while (is_noted_soon());
  return false;
}

bool SignalWitness::is_noted_soon() const {
  pollfd waiting{notes_file_, POLLIN, 0};
  return process_ > 0 && poll(&waiting, 1, kMostDelayMs) > 0 && (waiting.revents & POLLIN) != 0;
}

}  // namespace turnpike::cli
