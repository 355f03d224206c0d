// Python's pending calls.
#include "record/stacks/python_call.h"

namespace turnpike::record {

// From 3.12 on any thread of the interpreter may run it: the main one is often inside a join().
bool call_in_python(const PythonRuntime& python, int (*function)(void*)) noexcept {
  if (python.layout->version >= 0x030C && python.main_interpreter != nullptr) {
    int (*add)(void*, int (*)(void*), void*, int);
    if (find(add, "_PyEval_AddPendingCall")) return add(python.main_interpreter(), function, nullptr, 0) == 0;
  }
  int (*add)(int (*)(void*), void*);
  return find(add, "Py_AddPendingCall") && add(function, nullptr) == 0;
}

}  // namespace turnpike::record
