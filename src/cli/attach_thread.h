// A thread of another process that is held for a moment and calls functions for us. All others run on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace turnpike::cli {

class HeldThread {
 public:
  // One that holds no lock of the C library: it is in a system call that waits, or has just returned from one. An
  // Error says why no thread was found.
  static Result<std::unique_ptr<HeldThread>> find(pid_t process, std::chrono::milliseconds patience);
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;
  // Lets it go on where it was.
  ~HeldThread();

  // What the function returns. Waits for as long as it takes: a thread cannot be taken out of a call.
  Result<std::uint64_t> call(std::uint64_t function, const std::vector<std::uint64_t>& arguments);
  // Some bytes below the thread's stack, of which the first are `bytes`. They stay until it is let go.
  Result<std::uint64_t> put(const std::string& bytes);
  // "": the memory cannot be read.
  std::string text_at(std::uint64_t address) const;
  // As of the functions that set errno.
  void keep_number_at(std::uint64_t address);

 private:
  struct State;
  explicit HeldThread(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace turnpike::cli
