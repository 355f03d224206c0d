// exit() and quick_exit() have handlers. _exit and exec have none, so their callers get functions of ours instead.
#include "record/endings.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "base/slots.h"
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

void leave_by_exit(int code) {
  Recorder::instance().finish_at_once();
  g_exit(code);
}
void leave_by_standard_exit(int code) {
  Recorder::instance().finish_at_once();
  g_standard_exit(code);
}

// If it fails, the program goes on, and so does the recording. Those who search PATH try one name after the other.
void note_exec_of(const char* path) {
  if (access(path, X_OK) == 0) Recorder::instance().catch_up();
}
int leave_by_execv(const char* path, char* const* arguments) {
  note_exec_of(path);
  return g_execv(path, arguments);
}
int leave_by_execve(const char* path, char* const* arguments, char* const* variables) {
  note_exec_of(path);
  return g_execve(path, arguments, variables);
}
int leave_by_execvp(const char* name, char* const* arguments) {
  Recorder::instance().catch_up();
  return g_execvp(name, arguments);
}
int leave_by_execvpe(const char* name, char* const* arguments, char* const* variables) {
  Recorder::instance().catch_up();
  return g_execvpe(name, arguments, variables);
}
int leave_by_fexecve(int file, char* const* arguments, char* const* variables) {
  Recorder::instance().catch_up();
  return g_fexecve(file, arguments, variables);
}

template <typename Function>
Hook hook(const char* name, Function* replacement, Function** original) {
  return {name, reinterpret_cast<void*>(replacement), reinterpret_cast<void**>(original)};
}

const std::array kHooks = {
    hook("_exit", &leave_by_exit, &g_exit),         hook("_Exit", &leave_by_standard_exit, &g_standard_exit),
    hook("execv", &leave_by_execv, &g_execv),       hook("execve", &leave_by_execve, &g_execve),
    hook("execvp", &leave_by_execvp, &g_execvp),    hook("execvpe", &leave_by_execvpe, &g_execvpe),
    hook("fexecve", &leave_by_fexecve, &g_fexecve),
};

// No others: a library that another thread is loading just now has slots that the loader still writes.
bool is_program_or_python(const SlotOwner& owner) {
  return owner.path.empty() || owner.path.substr(owner.path.rfind('/') + 1).starts_with("libpython");
}

}  // namespace

// The handlers and the functions stay with forked children, who have nothing to hand over.
void watch_endings() noexcept {
  static std::atomic<bool> are_watched{false};
  if (are_watched.exchange(true)) return;
  std::atexit([] { Recorder::instance().finish_process(); });
  std::at_quick_exit([] { Recorder::instance().finish_at_once(); });
  try {
    static auto& slots = *new Slots(is_program_or_python);
    slots.take(kHooks);
  } catch (...) {
    // Without memory it ends as by a signal.
  }
}

bool start_and_watch_endings(const Options& options, std::string& error) {
  if (!Recorder::instance().start(options, error)) return false;
  watch_endings();
  return true;
}

}  // namespace turnpike::record
