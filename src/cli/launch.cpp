// fork, exec and wait, with signals passed on.
#include "cli/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cli/signal_witness.h"

namespace turnpike::cli {
namespace {

// What this process was started with; the command gets it back before exec.
struct SignalState {
  sigset_t mask;
  struct sigaction on_child;
};

// Blocks all signals, which the wait then takes by sigtimedwait. It leaves out the two by which the terminal stops a
// background job, so that they stop this process too. A fault of this process still ends it. SIGCHLD gets its default:
// if it were ignored, wait() would get no exit status.
SignalState take_signals(sigset_t& awaited) {
  SignalState before{};
  sigfillset(&awaited);
  for (const int number : {SIGTTIN, SIGTTOU}) sigdelset(&awaited, number);
  sigprocmask(SIG_BLOCK, &awaited, &before.mask);
  struct sigaction by_default{};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &by_default, &before.on_child);
  return before;
}

void apply(const std::vector<Variable>& variables) {
  for (const auto& [name, value] : variables) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
}

// In the child. Tells errno through the pipe when it comes back from exec, and nothing when it does not.
[[noreturn]] void become_child(const std::vector<std::string>& command, const std::vector<Variable>& variables,
                               const SignalState& before, int error_pipe) {
  sigaction(SIGCHLD, &before.on_child, nullptr);
  sigprocmask(SIG_SETMASK, &before.mask, nullptr);
  const int code = become(command, variables);
  [[maybe_unused]] const auto written = write(error_pipe, &code, sizeof code);
  _exit(127);
}

// 0 once exec has succeeded, else its errno.
int await_exec(int error_pipe) {
  int code = 0;
  ssize_t got = 0;
  do {
    got = read(error_pipe, &code, sizeof code);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof code) ? code : 0;
}

// Ctrl-Z reached the command too; this process stops as well, so that the shell sees its job stop.
void suspend() {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, SIGTSTP);
  raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);  // stops here, and goes on at SIGCONT
  sigprocmask(SIG_BLOCK, &only, nullptr);
}

// The terminal sends its signals (SI_KERNEL) to the whole process group, so the command has them already. The kernel
// sends two signals to this process alone: SIGALRM of an alarm that was set before it began, and SIGHUP of a terminal
// that is gone, if this process leads the session.
bool may_be_for_us_alone(const siginfo_t& taken, pid_t child) {
  switch (taken.si_code) {
    case SI_KERNEL:
      return taken.si_signo == SIGALRM || (taken.si_signo == SIGHUP && getsid(0) == getpid());
    case SI_USER:
    case SI_TKILL:
    case SI_QUEUE:
      return taken.si_pid != child && taken.si_pid != getpid();
    default:
      return false;
  }
}

void pass_on(const siginfo_t& taken, pid_t child) {
  if (taken.si_code == SI_QUEUE) {
    sigqueue(child, taken.si_signo, taken.si_value);
  } else {
    kill(child, taken.si_signo);
  }
}

void handle(const siginfo_t& taken, pid_t child, SignalWitness& witness, const LaunchWatcher& watcher) {
  if (may_be_for_us_alone(taken, child) && !witness.has_got(taken)) {
    if (watcher.takes_signal && watcher.takes_signal(taken.si_signo)) return;
    pass_on(taken, child);
  }
  if (taken.si_signo != SIGTSTP) return;
  if (watcher.before_suspend) watcher.before_suspend();
  suspend();
}

Ending ending_of(int wait_status) {
  Ending ending;
  if (WIFSIGNALED(wait_status)) {
    ending.signal = WTERMSIG(wait_status);
  } else {
    ending.exit_code = WEXITSTATUS(wait_status);
  }
  return ending;
}

Ending wait_for(pid_t child, const sigset_t& awaited, const LaunchWatcher& watcher) {
  SignalWitness witness;  // after the command, which stays the first child
  const timespec tick{0, std::chrono::nanoseconds(kTick).count()};
  for (int status = 0;;) {
    if (waitpid(child, &status, WNOHANG) == child) return ending_of(status);
    siginfo_t taken{};
    if (sigtimedwait(&awaited, &taken, &tick) > 0) handle(taken, child, witness, watcher);
    if (watcher.on_tick) watcher.on_tick();
  }
}

}  // namespace

Result<Ending> launch(const std::vector<std::string>& command, const std::vector<Variable>& variables,
                      const LaunchWatcher& watcher) {
  int error_pipe[2];
  if (pipe2(error_pipe, O_CLOEXEC) != 0) return Error{std::string("cannot make a pipe: ") + std::strerror(errno)};
  sigset_t awaited;
  const SignalState before = take_signals(awaited);
  const pid_t child = fork();
  if (child < 0) return Error{std::string("cannot start a process: ") + std::strerror(errno)};
  if (child == 0) become_child(command, variables, before, error_pipe[1]);

  close(error_pipe[1]);
  const int start_error = await_exec(error_pipe[0]);
  close(error_pipe[0]);
  if (start_error == 0) return wait_for(child, awaited, watcher);
  waitpid(child, nullptr, 0);
  Ending ending;
  ending.start_error = start_error;
  return ending;
}

int become(const std::vector<std::string>& command, const std::vector<Variable>& variables) {
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  apply(variables);
  execvp(arguments[0], arguments.data());
  return errno;
}

void die_by(int signal_number) {
  prctl(PR_SET_DUMPABLE, 0);
  signal(signal_number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal_number);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  kill(getpid(), signal_number);
  _exit(128 + signal_number);  // only a signal that no longer kills comes here
}

}  // namespace turnpike::cli
