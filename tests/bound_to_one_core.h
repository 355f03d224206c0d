// The calling thread bound to one core, as an OpenMP runtime binds the main thread, or as on a machine with one.
#pragma once

#include <sched.h>

namespace turnpike {

class BoundToOneCore {
 public:
  BoundToOneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
  }
  ~BoundToOneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  BoundToOneCore(const BoundToOneCore&) = delete;
  BoundToOneCore& operator=(const BoundToOneCore&) = delete;

  int cores_before() const { return CPU_COUNT(&before_); }

 private:
  cpu_set_t before_{};
};

}  // namespace turnpike
