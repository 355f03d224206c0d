// exit() and quick_exit() have handlers. _exit and exec have none, so their callers get functions of ours instead.
#include "record/endings.h"

#include <alloca.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/slots.h"
#include "record/cupti_slots.h"
#include "record/recorder.h"

namespace turnpike::record {
namespace {

void (*g_exit)(int) = nullptr;
void (*g_standard_exit)(int) = nullptr;
int (*g_execv)(const char*, char* const*) = nullptr;
int (*g_execve)(const char*, char* const*, char* const*) = nullptr;
int (*g_execvp)(const char*, char* const*) = nullptr;
int (*g_execvpe)(const char*, char* const*, char* const*) = nullptr;
int (*g_fexecve)(int, char* const*, char* const*) = nullptr;
// Never called: the list that these are given cannot be handed on.
int (*g_execl)(const char*, const char*, ...) = nullptr;
int (*g_execlp)(const char*, const char*, ...) = nullptr;
int (*g_execle)(const char*, const char*, ...) = nullptr;

void leave_by_exit(int code) {
  Recorder::instance().finish_at_once();
  g_exit(code);
}
void leave_by_standard_exit(int code) {
  Recorder::instance().finish_at_once();
  g_standard_exit(code);
}

// If the exec fails, the program goes on, and so does the recording.
class Exec {
 public:
  // Those who search PATH try one name after the other.
  explicit Exec(const char* path) : is_likely_(access(path, X_OK) == 0) {
    if (is_likely_) Recorder::instance().before_exec();
  }
  Exec() { Recorder::instance().before_exec(); }
  ~Exec() {
    if (is_likely_) Recorder::instance().after_exec();
  }
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;

 private:
  bool is_likely_ = true;
};

int leave_by_execv(const char* path, char* const* arguments) {
  const Exec exec(path);
  return g_execv(path, arguments);
}
int leave_by_execve(const char* path, char* const* arguments, char* const* variables) {
  const Exec exec(path);
  return g_execve(path, arguments, variables);
}
int leave_by_execvp(const char* name, char* const* arguments) {
  const Exec exec;
  return g_execvp(name, arguments);
}
int leave_by_execvpe(const char* name, char* const* arguments, char* const* variables) {
  const Exec exec;
  return g_execvpe(name, arguments, variables);
}
int leave_by_fexecve(int file, char* const* arguments, char* const* variables) {
  const Exec exec;
  return g_fexecve(file, arguments, variables);
}

// Of execl and its like: how many there are before the null pointer, and all of them in `list`, with that pointer.
// `more` begins behind the first.
std::size_t count_arguments(const char* first, va_list& more) {
  if (first == nullptr) return 0;
  std::size_t count = 1;
  while (va_arg(more, char*) != nullptr) ++count;
  return count;
}
void collect_arguments(const char* first, va_list& more, std::span<char*> list) {
  list[0] = const_cast<char*>(first);
  for (char*& argument : list.subspan(1)) argument = va_arg(more, char*);
}

// On the stack: the caller may be a child of vfork, or a signal handler.
#define TURNPIKE_ARGUMENTS(list, first, more)                                                  \
  va_start(more, first);                                                                       \
  const std::size_t list##_size = count_arguments(first, more) + 1;                            \
  va_end(more);                                                                                \
  const std::span list(static_cast<char**>(alloca(list##_size * sizeof(char*))), list##_size); \
  va_start(more, first);                                                                       \
  collect_arguments(first, more, list)

int leave_by_execl(const char* path, const char* first, ...) {
  va_list more;
  TURNPIKE_ARGUMENTS(list, first, more);
  va_end(more);
  const Exec exec(path);
  return ::execv(path, list.data());
}
int leave_by_execlp(const char* name, const char* first, ...) {
  va_list more;
  TURNPIKE_ARGUMENTS(list, first, more);
  va_end(more);
  const Exec exec;
  return ::execvp(name, list.data());
}
int leave_by_execle(const char* path, const char* first, ...) {
  va_list more;
  TURNPIKE_ARGUMENTS(list, first, more);
  char* const* variables = va_arg(more, char* const*);
  va_end(more);
  const Exec exec(path);
  return ::execve(path, list.data(), variables);
}

#undef TURNPIKE_ARGUMENTS

template <typename Function>
Hook hook(const char* name, Function* replacement, Function** original) {
  return {name, reinterpret_cast<void*>(replacement), reinterpret_cast<void**>(original)};
}

const std::array kHooks = {
    hook("_exit", &leave_by_exit, &g_exit),         hook("_Exit", &leave_by_standard_exit, &g_standard_exit),
    hook("execv", &leave_by_execv, &g_execv),       hook("execve", &leave_by_execve, &g_execve),
    hook("execvp", &leave_by_execvp, &g_execvp),    hook("execvpe", &leave_by_execvpe, &g_execvpe),
    hook("fexecve", &leave_by_fexecve, &g_fexecve), hook("execl", &leave_by_execl, &g_execl),
    hook("execlp", &leave_by_execlp, &g_execlp),    hook("execle", &leave_by_execle, &g_execle),
};

bool is_program_or_python(const SlotOwner& owner) {
  return owner.path().empty() || owner.file_name().starts_with("libpython");
}

}  // namespace

// The handlers and the functions stay with forked children, who have nothing to hand over.
void watch_endings() noexcept {
  static std::atomic<bool> are_watched{false};
  if (are_watched.exchange(true)) return;
  std::atexit([] { Recorder::instance().finish_process(); });
  std::at_quick_exit([] { Recorder::instance().finish_at_once(); });
  try {
    static auto& slots = *new Slots(is_program_or_python, kHooks);
    slots.take(Slots::Loader::kMayEnter);
  } catch (...) {
    // Without memory it ends as by a signal.
  }
}

bool start_and_watch_endings(const Options& options, std::string& error) {
  Recorder::instance().set_library_look(take_cupti_slots);
  if (!Recorder::instance().start(options, error)) return false;
  watch_endings();
  return true;
}

}  // namespace turnpike::record
