// Page-locks memory that exists, in place, and undoes it.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>

#include "move/device.h"

namespace turnpike::move {

// Safe from any thread.
class PageLock {
 public:
  // Brings in the pages that nobody touched yet, by `threads` threads, then locks. An Error for memory of a file (its
  // pages are the file's: locking them keeps the file in memory and lets the GPU write to it behind the system's back),
  // for memory that is locked already, and where the system refuses.
  Status lock(Device& device, void* memory, std::size_t size_bytes, unsigned int threads);
  // The caller has waited for every device: a copy that is under way would go on into memory that may be paged out.
  Status unlock(Device& device, void* memory);

 private:
  std::mutex mutex_;
  std::set<void*> locked_;
};

}  // namespace turnpike::move
