// A stretch of C++ without the interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace turnpike::python {

// As nanobind's gil_scoped_release, but for threads that are still inside when the interpreter ends (daemon threads).
// Python 3.12 and 3.13 end such a thread where it asks for the lock, by an exception that no destructor may let out:
// the process would abort. Such a thread stops here for good, as it does from Python 3.14 on, and the process goes on
// to end.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace turnpike::python
