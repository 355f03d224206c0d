// Lets Python's other threads run while a call of the engine works.
#pragma once

#include <Python.h>
#include <cxxabi.h>
#include <unistd.h>

namespace turnpike::python {

// Without the interpreter's lock until the end of the scope. When the interpreter has ended meanwhile (the thread is a
// daemon's), Python up to 3.13 ends the thread by unwinding its stack. That must not pass the destructors and the
// noexcept functions above, which would abort the process: the thread stops here, as Python 3.14 does it.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(thread_);
    } catch (abi::__forced_unwind&) {
      for (;;) pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

}  // namespace turnpike::python
