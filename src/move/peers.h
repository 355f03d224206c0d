// Which way copies between two GPUs take: directly, where known bytes have arrived right once, else through the host.
#pragma once

#include <map>
#include <mutex>
#include <utility>

#include "move/device.h"
#include "move/move.h"

namespace turnpike::move {

// Safe from any thread.
class Peers {
 public:
  // Tries the pair at the first time, which takes milliseconds and a few MiB on both devices. "Can access peer" is not
  // enough: behind an IOMMU that is set up wrong, copies arrive with other bytes and no error (pytorch#132397).
  Result<Engine::PeerRoute> route(Device& from, Device& to);

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, Engine::PeerRoute> routes_;
};

}  // namespace turnpike::move
