// Distinguishes a signal to this process alone from a signal to its whole process group.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <vector>

namespace turnpike::cli {

// A process in the group of this one that does nothing but take signals. What reaches both was sent to the group (by
// killpg, or to each process of a job by a scheduler), so the command has it already.
class SignalWitness {
 public:
  // Forks: for a process without other threads. Where it cannot, every signal counts as sent to this process alone.
  // All signals must be blocked.
  SignalWitness();
  SignalWitness(const SignalWitness&) = delete;
  SignalWitness& operator=(const SignalWitness&) = delete;
  ~SignalWitness();

  // Whether the witness got the signal, too; waits a moment for that, but not if the kernel sent it. Asked once for
  // each signal.
  bool has_got(const siginfo_t& taken);

 private:
  bool is_noted_soon() const;

  pid_t process_ = -1;
  int notes_file_ = -1;  // a pipe
  std::vector<siginfo_t> notes_;
};

}  // namespace turnpike::cli
