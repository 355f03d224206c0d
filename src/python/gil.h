// Lets Python's other threads run while a call of the engine works.
#pragma once

#include <Python.h>

// PyEval_RestoreThread(), for a thread that stops in it for ever when the interpreter has ended.
extern "C" void turnpike_take_gil(PyThreadState* thread);

namespace turnpike::python {

// Without the interpreter's lock until the end of the scope. When the interpreter has ended meanwhile (the thread is a
// daemon's), Python up to 3.13 ends the thread by unwinding its stack: through destructors, noexcept functions and a
// C++ library of our own, which aborts the process. So the thread stops here, as Python 3.14 has it.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() { turnpike_take_gil(thread_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

}  // namespace turnpike::python
