// The C++ runtime that PyTorch runs with: what throws, so that PyTorch catches it.
#pragma once

namespace turnpike::guard {

// This library carries a C++ runtime of its own, as the recorder does, and wheels are built with another one (libc++).
// What that throws, PyTorch's handlers would not know. So exceptions are made by the functions of the process's
// libstdc++, whatever this library was built with.
class CxxRuntime {
 public:
  // nullptr where the process has no libstdc++. Any thread.
  static const CxxRuntime* find() noexcept;

  // Whether an exception is on its way through this thread's frames.
  bool is_unwinding() const noexcept { return uncaught_exceptions_() > 0; }

  // Throws a std::runtime_error with this text. The caller's frame must need no cleanup.
  [[noreturn]] void raise(const char* text) const;

 private:
  void* (*allocate_)(unsigned long) = nullptr;
  void (*throw_)(void*, void*, void (*)(void*)) = nullptr;
  void (*construct_)(void*, const char*) = nullptr;
  void (*destroy_)(void*) = nullptr;
  int (*uncaught_exceptions_)() = nullptr;
  void* type_ = nullptr;
};

}  // namespace turnpike::guard
