// The CPython of this process, if there is one: its functions and the layout of its structures.
#pragma once

#include <dlfcn.h>

#include "record/stacks/python_layout.h"

namespace turnpike::record {

// A function or a variable of Python's C interface by its name; nullptr: this process has none.
template <typename Pointer>
Pointer python_symbol(const char* name) noexcept {
  return reinterpret_cast<Pointer>(dlsym(RTLD_DEFAULT, name));
}

struct PythonRuntime {
  const PythonLayout* layout;
  void* (*this_thread_state)();
  int (*holds_gil)();
  int (*is_initialized)();
  int (*is_finalizing)();
  void* (*main_interpreter)();  // nullptr where it is not offered
  // Addresses of the type objects: what an object's type must be before it is read as one.
  const void* code_type;
  const void* str_type;
  const void* bytes_type;
};

// From then on the states and frames of threads that still run may be freed.
inline bool is_ending(const PythonRuntime& python) noexcept {
  return python.is_initialized() == 0 || python.is_finalizing() != 0;
}

// nullptr while this process has no CPython, and for good when it has one whose structures are not known here (other
// versions, free-threaded and Py_TRACE_REFS builds). A program may load Python after CUDA, so as long as none was found
// every call looks again. A libpython that a host loaded RTLD_LOCAL is not found. It enters the loader. Any thread.
const PythonRuntime* find_python() noexcept;

// What find_python() last found, without looking.
const PythonRuntime* known_python() noexcept;

// The version of the CPython that find_python() found and does not know, with the reason where it is another than the
// version: "3.16.0", "3.14.2 (free-threaded)". nullptr: it found none, or one that it knows. Any thread.
const char* unknown_python() noexcept;

}  // namespace turnpike::record
