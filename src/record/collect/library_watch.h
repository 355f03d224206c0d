// Looks for the libraries that the recorder uses and that a program may load at any time: Python and PyTorch.
#pragma once

#include <atomic>
#include <memory>

#include "record/collect/process_metadata.h"

namespace turnpike::record {

// A thread that enters the loader (dlopen, dlsym) waits until constructors of libraries have run, and they may wait for
// a call of CUDA. So callbacks and the collector never enter it: the thread of this watch does, and publishes what it
// finds. end() and versions() wait for no other thread.
class LibraryWatch {
 public:
  // A function that each look calls. Before start().
  void set_look(void (*function)()) noexcept { look_ = function; }
  // Looks once, on the thread that starts a recording, and starts the watch's own thread, which looks again whenever
  // libraries were loaded. Throws std::bad_alloc.
  void start();
  // Tells the thread to end. Does not wait for it: it may be inside of the loader.
  void end() noexcept;
  // Versions of the libraries that were loaded at the last look.
  Metadata versions() const;

 private:
  struct Shared;
  static void look(Shared& shared);
  static void run(Shared& shared);

  std::atomic<void (*)()> look_{nullptr};
  // Also the thread's; a forked child forgets it.
  std::shared_ptr<Shared> shared_;
};

}  // namespace turnpike::record
