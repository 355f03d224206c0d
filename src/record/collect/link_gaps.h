// Asks NVML for the links that the system does not show.
#pragma once

#include <cstdint>
#include <memory>

#include "cuda/nvml.h"
#include "record/collect/link_watch.h"

namespace turnpike::record {

// It asks on a thread of its own: NVML takes a fifth of a second to start, and loading it enters the dynamic loader.
// The collector's thread only.
class LinkGaps {
 public:
  using LoadNvml = Result<cuda::Nvml> (*)();
  explicit LinkGaps(LoadNvml load = cuda::load_nvml) : load_(load) {}

  // Asks about the gaps in `links`, once in a recording.
  void ask(const LinkWatch& links);
  // Fills the gaps in `links` with the answers. Waits for them, 0.3 s at most.
  void fill(LinkWatch& links);

 private:
  struct Shared;
  static void run(Shared& shared);

  LoadNvml load_;
  // Also the thread's: a forked child forgets it, and fill() may leave it behind.
  std::shared_ptr<Shared> shared_;
};

}  // namespace turnpike::record
