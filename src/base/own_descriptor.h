// Descriptors in other people's processes.
#pragma once

#include <sys/types.h>

namespace turnpike {

// A descriptor of ours, unless the program has closed its number (os.closerange): then that may be a file of the
// program's, which is neither read nor written nor closed. Programs do not reach its number by accident, where the
// limit of this process has room for such a one.
class OwnDescriptor {
 public:
  // open(); closed on exec.
  static OwnDescriptor open(const char* path, int flags, mode_t mode = 0) noexcept;
  // As open_shared_memory().
  static OwnDescriptor open_shared(const char* path, const char* name, int flags) noexcept;
  // Takes a descriptor that was opened just now.
  void take(int file) noexcept;

  // -1 if the file could not be opened; errno has the reason.
  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  // Whether it has its number still.
  bool is_there() const noexcept;
  void close() noexcept;

 private:
  int number_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace turnpike
