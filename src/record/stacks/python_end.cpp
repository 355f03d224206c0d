// A pending call registers a function with atexit; the function waits for those who are reading.
#include "record/stacks/python_end.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/hot.h"
#include "record/stacks/python_call.h"
#include "record/stacks/python_runtime.h"

namespace turnpike::record {
namespace {

enum State : int { kNotAsked, kAsked, kPromised, kOver };
TURNPIKE_HOT_DATA std::atomic<int> g_state{kNotAsked};
TURNPIKE_HOT_DATA std::atomic<std::uint32_t> g_readers{0};
std::atomic<pid_t> g_process{0};  // that was promised: a forked child has none of the threads that read

// Long for a walk over frames, short for a program that ends.
constexpr std::chrono::seconds kPatience(1);

void end() noexcept {
  g_state.store(kOver);
  if (g_process.load(std::memory_order_relaxed) != getpid()) return;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (g_readers.load() != 0 && std::chrono::steady_clock::now() < until) sched_yield();
}

// PyMethodDef, of the stable ABI.
struct MethodDefinition {
  const char* name;
  void* (*function)(void* self, void* arguments);
  int flags;
  const char* documentation;
};
constexpr int kNoArguments = 4;

void* on_exit(void*, void*) {
  end();
  void* (*build_value)(const char*, ...);
  return find(build_value, "Py_BuildValue") ? build_value("") : nullptr;
}

// Whoever clears atexit's functions takes the promise away.
void on_forgotten(void*) {
  end();
}

// With the GIL, between two bytecodes. An exception would be raised in the line of the program that happens to run.
int promise(void*) {
  static MethodDefinition definition{"turnpike_ends_reading", on_exit, kNoArguments, nullptr};
  void* (*import_module)(const char*);
  void* (*new_capsule)(void*, const char*, void (*)(void*));
  void* (*new_function)(MethodDefinition*, void*, void*);
  void* (*call_method)(void*, const char*, const char*, ...);
  void (*drop)(void*);
  void (*clear_error)();
  if (!find(import_module, "PyImport_ImportModule") || !find(new_capsule, "PyCapsule_New") ||
      !find(new_function, "PyCFunction_NewEx") || !find(call_method, "PyObject_CallMethod") ||
      !find(drop, "Py_DecRef") || !find(clear_error, "PyErr_Clear")) {
    return 0;
  }
  g_process.store(getpid(), std::memory_order_relaxed);
  // Before the function is registered: from then on it may be called, or forgotten.
  g_state.store(kPromised);
  void* const atexit = import_module("atexit");
  void* const capsule = new_capsule(&definition, nullptr, on_forgotten);
  void* const function = capsule == nullptr ? nullptr : new_function(&definition, capsule, nullptr);
  void* const registered =
      atexit == nullptr || function == nullptr ? nullptr : call_method(atexit, "register", "O", function);
  if (registered == nullptr) {
    end();
    clear_error();
  }
  for (void* const object : {registered, function, capsule, atexit}) drop(object);
  return 0;
}

}  // namespace

TURNPIKE_HOT void watch_python_end() noexcept {
  if (g_state.load(std::memory_order_relaxed) != kNotAsked) return;
  const PythonRuntime* python = known_python();
  if (python == nullptr || is_ending(*python)) return;
  int not_asked = kNotAsked;
  if (!g_state.compare_exchange_strong(not_asked, kAsked)) return;
  // The queue of pending calls is full: asked again.
  if (!call_in_python(*python, promise)) g_state.store(kNotAsked);
}

TURNPIKE_HOT PythonStays::PythonStays(bool is_wanted) noexcept {
  if (!is_wanted || g_state.load(std::memory_order_relaxed) != kPromised) return;
  // Told before it is asked for the second time: either we see the end, or the end sees us.
  g_readers.fetch_add(1);
  holds_ = g_state.load() == kPromised;
  if (!holds_) g_readers.fetch_sub(1);
}

TURNPIKE_HOT PythonStays::~PythonStays() {
  if (holds_) g_readers.fetch_sub(1, std::memory_order_release);
}

}  // namespace turnpike::record
