// Work that needs Python's lock: Python does it itself, when one of its threads next runs bytecode.
#pragma once

#include "record/stacks/python_runtime.h"

namespace turnpike::record {

// Has Python call `function` between two bytecodes, with its lock: in the main thread before 3.12, then in any thread.
// It returns 0, or -1 with an exception set, which is raised in the line of the program that happens to run. Any
// thread, with the lock or without. False: the queue of such calls is full, or Python does not offer one.
bool call_in_python(const PythonRuntime& python, int (*function)(void*)) noexcept;

template <typename Function>
bool find(Function& function, const char* name) noexcept {
  function = python_symbol<Function>(name);
  return function != nullptr;
}

}  // namespace turnpike::record
