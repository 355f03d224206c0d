// What the links of the GPUs carry, as the GPUs themselves count it: also what kernels read and write in host memory,
// which no record of a copy shows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/nvml.h"
#include "record/collect/pci_address.h"
#include "record/collect/process_metadata.h"
#include "trace/format.h"

namespace turnpike::record {

// Asks NVML on a thread of its own, because that takes a fifth of a second to start. The collector's thread only.
class LinkTraffic {
 public:
  using LoadNvml = Result<cuda::Nvml> (*)();

  // `pitch_ns`: how long a stretch is that a record counts.
  explicit LinkTraffic(LoadNvml load = cuda::load_nvml, std::int64_t pitch_ns = 200'000'000)
      : load_(load), pitch_ns_(pitch_ns) {}

  // Counts what this GPU's links carry from now on.
  void watch(std::uint32_t device, PciAddress address);
  // What was counted since the last call.
  std::vector<trace::LinkTrafficRecord> take();
  // Counts up to now and ends the thread. Waits for it, 0.3 s at most, since it may be busy
  // with NVML; and before that 3 s at most while NVML starts: its library may be unloaded after it.
  void finish() noexcept;
  // The keys `link_traffic.N`.
  void put(Metadata& metadata) const;

 private:
  struct Shared;
  static void run(Shared& shared);
  static void count(Shared& shared);

  LoadNvml load_;
  std::int64_t pitch_ns_;
  // Also the thread's: a forked child forgets it, and finish() may leave it behind.
  std::shared_ptr<Shared> shared_;
};

}  // namespace turnpike::record
