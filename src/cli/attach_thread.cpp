// By ptrace, without a debugger: that would stop all threads while it reads symbols, for seconds, and leave its
// breakpoints behind if it is killed. Here one thread stops for some milliseconds, and no code is changed. A thread
// in malloc or in the loader must not call dlopen(), so we take one that waits in the kernel: nearly every program has
// such, CUDA's own threads among them. If none waits, we take a thread at its next system call.
#include "cli/attach_thread.h"

#include <elf.h>
#include <linux/futex.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/attach_symbols.h"

namespace turnpike::cli {

#ifdef __x86_64__

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kHoldPatience{1000};
constexpr milliseconds kStepPatience{30};
constexpr std::uint64_t kLeastStack = 96UL * 1024;
constexpr std::uint64_t kRedZone = 128;
constexpr std::uint64_t kRoom = 4096;  // for what put() is given
constexpr int kSyscallStop = SIGTRAP | 0x80;

// Those in which no caller holds a lock of malloc or of the loader.
constexpr long kHarmlessCalls[] = {
    SYS_read,         SYS_write,       SYS_readv,           SYS_writev, SYS_poll,       SYS_ppoll,
    SYS_select,       SYS_pselect6,    SYS_ioctl,           SYS_pause,  SYS_nanosleep,  SYS_clock_nanosleep,
    SYS_accept,       SYS_accept4,     SYS_recvfrom,        SYS_sendto, SYS_recvmsg,    SYS_sendmsg,
    SYS_recvmmsg,     SYS_wait4,       SYS_waitid,          SYS_lseek,  SYS_epoll_wait, SYS_epoll_pwait,
    SYS_epoll_pwait2, SYS_sched_yield, SYS_rt_sigsuspend,   SYS_getpid, SYS_gettid,     SYS_clock_gettime,
    SYS_getrusage,    SYS_times,       SYS_rt_sigtimedwait,
};

// glibc waits for its own locks by FUTEX_WAIT, and for conditions, semaphores and threads by FUTEX_WAIT_BITSET.
bool is_harmless(long number, std::uint64_t second_argument) {
  if (number == SYS_futex) return (second_argument & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
  return std::ranges::find(kHarmlessCalls, number) != std::end(kHarmlessCalls);
}

std::string file_of(pid_t process, pid_t thread, const char* name) {
  return "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/" + name;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", failed)) {
    threads.push_back(std::stoi(entry.path().filename().string()));
  }
  return threads;
}

// As the kernel shows it; stopping it is what tells for sure.
bool seems_to_wait(pid_t process, pid_t thread) {
  std::ifstream file(file_of(process, thread, "syscall"));
  long number = -1;
  std::string first, second;
  if (!(file >> number >> first >> second)) return false;
  return is_harmless(number, std::stoull(second, nullptr, 16));
}

// Of a line like "SigPnd:	0000000000000000".
std::uint64_t bits_of(pid_t process, pid_t thread, const std::string& name, int base = 16) {
  std::ifstream file(file_of(process, thread, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1), nullptr, base);
  }
  return 0;
}

std::uint64_t own_id() {
  return static_cast<std::uint64_t>(getpid());
}

bool has_signal_to_take(pid_t process, pid_t thread) {
  const std::uint64_t pending = bits_of(process, thread, "SigPnd") | bits_of(process, thread, "ShdPnd");
  return (pending & ~bits_of(process, thread, "SigBlk")) != 0;
}

Error ended(pid_t process) {
  return Error{"process " + std::to_string(process) + " has ended"};
}

// Those that the CPU raises must stay: the kernel would drop the program's handler of one that is blocked.
std::uint64_t mask_of_others() {
  std::uint64_t mask = ~std::uint64_t{0};
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) mask &= ~(std::uint64_t{1} << (number - 1));
  return mask;
}

// How a thread comes to a stop that ptrace reports.
enum class Stop { kAsAsked, kAtCall, kSignal, kGone, kNotYet };

}  // namespace

struct HeldThread::State {
  pid_t process;
  pid_t thread;
  bool is_stopped = false;
  bool is_gone = false;
  bool is_changed = false;  // its registers are to be put back
  // The call that it waited in has failed by our stop. The kernel restarts others by itself.
  bool is_to_restart = false;
  int signal = 0;  // that it is about to get
  user_regs_struct saved{};
  std::uint64_t mask = 0;
  std::vector<std::byte> vectors{};  // its registers of floats and vectors
  std::uint64_t used = 0;            // of the room below its stack
  std::uint64_t kept_at = 0;
  std::int32_t kept = 0;

  State(pid_t of_process, pid_t of_thread) : process(of_process), thread(of_thread) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { let_go(); }

  // An errno of ptrace, or 0.
  int seize() const { return ptrace(PTRACE_SEIZE, thread, nullptr, PTRACE_O_TRACESYSGOOD) == 0 ? 0 : errno; }
  Stop wait(milliseconds patience);
  bool interrupt();
  bool look();
  bool is_in_call() const;
  bool is_at_harmless_call() const;
  bool comes_to_harmless_call();
  bool save();
  void let_go();
  bool go_on(int request) {
    const int passed = std::exchange(signal, 0);
    is_stopped = false;
    return ptrace(static_cast<__ptrace_request>(request), thread, nullptr, passed) == 0;
  }
  std::uint64_t room() const { return (saved.rsp - kRedZone - kRoom) & ~std::uint64_t{15}; }
  bool write(std::uint64_t address, const void* bytes, std::size_t size) const {
    const iovec from{const_cast<void*>(bytes), size};
    const iovec to{reinterpret_cast<void*>(address), size};
    return process_vm_writev(process, &from, 1, &to, 1, 0) == static_cast<ssize_t>(size);
  }
  bool read(std::uint64_t address, void* bytes, std::size_t size) const {
    const iovec to{bytes, size};
    const iovec from{reinterpret_cast<void*>(address), size};
    return process_vm_readv(process, &to, 1, &from, 1, 0) == static_cast<ssize_t>(size);
  }
};

Stop HeldThread::State::wait(milliseconds patience) {
  const auto until = Clock::now() + patience;
  while (true) {
    int status = 0;
    const pid_t who = waitpid(thread, &status, __WALL | WNOHANG);
    if (who < 0 || (who == thread && !WIFSTOPPED(status))) {
      is_gone = true;
      return Stop::kGone;
    }
    if (who == 0) {
      if (Clock::now() >= until) return Stop::kNotYet;
      usleep(200);
      continue;
    }
    is_stopped = true;
    if (status >> 16 == PTRACE_EVENT_STOP) return Stop::kAsAsked;
    if (WSTOPSIG(status) == kSyscallStop) return Stop::kAtCall;
    signal = WSTOPSIG(status);
    return Stop::kSignal;
  }
}

bool HeldThread::State::interrupt() {
  if (ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return false;
  while (true) {
    switch (wait(kHoldPatience)) {
      case Stop::kAsAsked:
        if (!look()) return false;
        is_to_restart =
            is_in_call() && static_cast<std::int64_t>(saved.rax) == -EINTR && !has_signal_to_take(process, thread);
        return true;
      case Stop::kGone:
      case Stop::kNotYet:
        return false;
      case Stop::kAtCall:
      case Stop::kSignal:  // came first: it is the program's
        if (!go_on(PTRACE_CONT)) return false;
    }
  }
}

bool HeldThread::State::look() {
  is_to_restart = false;
  return ptrace(PTRACE_GETREGS, thread, nullptr, &saved) == 0;
}

bool HeldThread::State::is_in_call() const {
  constexpr std::uint16_t kSyscall = 0x050f;
  std::uint16_t instruction = 0;
  if (static_cast<std::int64_t>(saved.orig_rax) < 0) return false;
  return read(saved.rip - sizeof instruction, &instruction, sizeof instruction) && instruction == kSyscall;
}

bool HeldThread::State::is_at_harmless_call() const {
  if (!is_in_call() || !is_harmless(static_cast<long>(saved.orig_rax), saved.rsi)) return false;
  if (saved.fs_base == 0) return false;  // made by clone() alone: no thread of the C library
  for (const MappedFile& file : mapped_files(process)) {
    if (saved.rip >= file.start && saved.rip < file.end && file.name().starts_with("ld-")) return false;
  }
  // The stack of a signal may be small; that of the main thread grows.
  char byte = 0;
  return read(room(), &byte, 1) && (process == thread || read(saved.rsp - kLeastStack, &byte, 1));
}

// A running thread: goes on to the end of its next such call, for a moment.
bool HeldThread::State::comes_to_harmless_call() {
  const auto until = Clock::now() + kStepPatience;
  while (Clock::now() < until) {
    if (!go_on(PTRACE_SYSCALL)) return false;
    switch (wait(kStepPatience)) {
      case Stop::kAtCall: {
        std::array<std::byte, 128> info{};
        const long size =
            ptrace(static_cast<__ptrace_request>(PTRACE_GET_SYSCALL_INFO), thread, info.size(), info.data());
        if (size > 0 && static_cast<int>(info[0]) == PTRACE_SYSCALL_INFO_EXIT && look() && is_at_harmless_call())
          return true;
        break;
      }
      case Stop::kNotYet:
        interrupt();
        return false;
      case Stop::kGone:
        return false;
      case Stop::kAsAsked:
      case Stop::kSignal:
        break;
    }
  }
  return false;
}

bool HeldThread::State::save() {
  if (ptrace(static_cast<__ptrace_request>(PTRACE_GETSIGMASK), thread, sizeof mask, &mask) != 0) return false;
  vectors.resize(64UL * 1024);
  iovec all{vectors.data(), vectors.size()};
  if (ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &all) != 0) return false;
  vectors.resize(all.iov_len);
  return true;
}

void HeldThread::State::let_go() {
  if (is_gone || !is_stopped) return;
  if (is_to_restart) {
    saved.rip -= 2;
    saved.rax = saved.orig_rax;
    ptrace(PTRACE_SETREGS, thread, nullptr, &saved);
  }
  if (is_changed) {
    if (kept_at != 0) write(kept_at, &kept, sizeof kept);
    iovec all{vectors.data(), vectors.size()};
    ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &all);
    ptrace(PTRACE_SETREGS, thread, nullptr, &saved);
    ptrace(static_cast<__ptrace_request>(PTRACE_SETSIGMASK), thread, sizeof mask, &mask);
  }
  ptrace(PTRACE_DETACH, thread, nullptr, signal);
  is_stopped = false;
}

HeldThread::HeldThread(std::unique_ptr<State> state) : state_(std::move(state)) {}
HeldThread::~HeldThread() = default;

Result<std::unique_ptr<HeldThread>> HeldThread::find(pid_t process, milliseconds patience) {
  const auto until = Clock::now() + patience;
  for (std::size_t round = 0; Clock::now() < until; ++round) {
    const std::vector<pid_t> threads = threads_of(process);
    if (threads.empty()) return ended(process);
    const auto waiting = std::ranges::find_if(threads, [&](pid_t thread) { return seems_to_wait(process, thread); });
    const bool waits = waiting != threads.end();
    auto state = std::make_unique<State>(process, waits ? *waiting : threads[round % threads.size()]);
    const int refused = state->seize();
    const bool is_held_back = refused == EPERM && bits_of(process, state->thread, "TracerPid", 10) == own_id();
    if (refused == ESRCH || is_held_back) {  // it has ended, or has not stopped for us the last time
      usleep(1000);
      continue;
    }
    if (refused != 0) return Error{std::strerror(refused)};
    if (!state->interrupt()) {
      usleep(1000);
      continue;
    }
    const bool is_taken = state->is_at_harmless_call() || (!waits && state->comes_to_harmless_call());
    if (!is_taken || !state->save()) {
      usleep(1000);
      continue;
    }
    return std::unique_ptr<HeldThread>(new HeldThread(std::move(state)));
  }
  return Error{"none of its threads has waited or made a harmless system call within " +
               std::to_string(std::chrono::duration_cast<std::chrono::seconds>(patience).count()) +
               " s: try again, or start it with `turnpike record --dormant`"};
}

Result<std::uint64_t> HeldThread::call(std::uint64_t function, const std::vector<std::uint64_t>& arguments) {
  State& state = *state_;
  user_regs_struct registers = state.saved;
  std::uint64_t* const to[] = {reinterpret_cast<std::uint64_t*>(&registers.rdi),
                               reinterpret_cast<std::uint64_t*>(&registers.rsi),
                               reinterpret_cast<std::uint64_t*>(&registers.rdx)};
  for (std::size_t i = 0; i < arguments.size(); ++i) *to[i] = arguments[i];
  // It returns to address 0, where the fault stops it again.
  const std::uint64_t nowhere = 0;
  registers.rsp = state.room() - sizeof nowhere;
  registers.rip = function;
  registers.rax = 0;
  registers.orig_rax = ~std::uint64_t{0};  // nothing is to be restarted now
  if (!state.write(registers.rsp, &nowhere, sizeof nowhere)) return Error{"its stack cannot be written"};
  const std::uint64_t others = mask_of_others();
  state.is_changed = true;
  if (ptrace(static_cast<__ptrace_request>(PTRACE_SETSIGMASK), state.thread, sizeof others, &others) != 0 ||
      ptrace(PTRACE_SETREGS, state.thread, nullptr, &registers) != 0) {
    return Error{std::string("its registers cannot be set: ") + std::strerror(errno)};
  }
  while (true) {
    if (!state.go_on(PTRACE_CONT)) return ended(state.process);
    Stop stop = Stop::kNotYet;
    while (stop == Stop::kNotYet) stop = state.wait(kHoldPatience);
    if (stop == Stop::kGone) return ended(state.process);
    if (stop != Stop::kSignal) continue;
    const int signal = std::exchange(state.signal, 0);
    if (ptrace(PTRACE_GETREGS, state.thread, nullptr, &registers) != 0) return ended(state.process);
    if (signal == SIGSEGV && registers.rip == 0) return static_cast<std::uint64_t>(registers.rax);
    return Error{std::string("the call was ended by ") + strsignal(signal)};
  }
}

Result<std::uint64_t> HeldThread::put(const std::string& bytes) {
  const std::uint64_t address = state_->room() + state_->used;
  if (bytes.size() > kRoom - state_->used) return Error{"a path is too long"};
  if (!state_->write(address, bytes.data(), bytes.size())) return Error{"its stack cannot be written"};
  state_->used += bytes.size();
  return address;
}

std::string HeldThread::text_at(std::uint64_t address) const {
  std::string text;
  char letter = 0;
  while (text.size() < kRoom && state_->read(address + text.size(), &letter, 1) && letter != '\0') text += letter;
  return text;
}

void HeldThread::keep_number_at(std::uint64_t address) {
  if (state_->read(address, &state_->kept, sizeof state_->kept)) state_->kept_at = address;
}

#else

struct HeldThread::State {};
HeldThread::HeldThread(std::unique_ptr<State> state) : state_(std::move(state)) {}
HeldThread::~HeldThread() = default;
Result<std::unique_ptr<HeldThread>> HeldThread::find(pid_t, std::chrono::milliseconds) {
  return Error{"on this processor only programs that were started with `turnpike record --dormant` can be attached to"};
}
Result<std::uint64_t> HeldThread::call(std::uint64_t, const std::vector<std::uint64_t>&) {
  return Error{"not on this processor"};
}
Result<std::uint64_t> HeldThread::put(const std::string&) {
  return Error{"not on this processor"};
}
std::string HeldThread::text_at(std::uint64_t) const {
  return "";
}
void HeldThread::keep_number_at(std::uint64_t) {}

#endif

}  // namespace turnpike::cli
