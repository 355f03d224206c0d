// Gives native frames the names of their functions.
#pragma once

#include <memory>

#include "record/stacks/stack_table.h"

namespace turnpike::record {

// Reads the symbols of libraries on a thread of its own. PyTorch's largest library takes 70 ms, a slow disk takes
// longer, and the collector must collect meanwhile. Only the collector's thread calls this.
class FrameNaming {
 public:
  explicit FrameNaming(StackTable& stacks) : stacks_(stacks) {}

  // Throws std::bad_alloc.
  void start();
  // Has the frames named that are new. Returns at once.
  void ask() noexcept;
  // Returns when all frames that were entered before have their names.
  void finish() noexcept;
  // The table of stacks is left alone from here on.
  void end() noexcept;

 private:
  struct Shared;
  static void run(Shared& shared) noexcept;

  StackTable& stacks_;
  bool has_thread_ = false;
  // Also the thread's: a forked child forgets it.
  std::shared_ptr<Shared> shared_;
};

}  // namespace turnpike::record
