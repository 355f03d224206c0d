// Python's end: from then on the frames of threads that still run may be freed under them.
#pragma once

namespace turnpike::record {

// Has Python tell of its end, by a function that atexit calls. Any thread, with the GIL or without; does nothing when
// it was asked before, and while no Python is known. Python hears of it when one of its threads next runs bytecode: of
// the main thread alone before 3.12.
void watch_python_end() noexcept;

// While one of these holds, Python does not end: it waits in its atexit functions.
class PythonStays {
 public:
  // is_wanted: false: it does not hold.
  explicit PythonStays(bool is_wanted) noexcept;
  ~PythonStays();
  PythonStays(const PythonStays&) = delete;
  PythonStays& operator=(const PythonStays&) = delete;

  // False when Python has not promised to tell, or has begun to end.
  bool holds() const noexcept { return holds_; }

 private:
  bool holds_ = false;
};

}  // namespace turnpike::record
