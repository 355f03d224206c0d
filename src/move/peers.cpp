// The trial: bytes go from the host to one device, from there to the other, and back to the host.
#include "move/peers.h"

#include <cstring>
#include <vector>

#include "move/trial_memory.h"

namespace turnpike::move {
namespace {

using PeerRoute = Engine::PeerRoute;

// Odd, so that the last bytes do not fill a word.
constexpr std::size_t kTrialBytes = (std::size_t{1} << 20) + 4093;
constexpr int kTrials = 3;

// Blocking, by way of `pinned`.
Status write(const DeviceMemory& memory, std::byte* pinned, const std::vector<std::byte>& bytes) {
  Device& device = memory.device();
  const InContext in_context(device);
  const cuda::Driver& driver = device.driver();
  CUstream_st* stream = device.next_stream(Device::Lane::kUp);
  std::memcpy(pinned, bytes.data(), bytes.size());
  Status status = check(driver, driver.memcpy_htod_async(memory.address(), pinned, bytes.size(), stream),
                        "copying to the GPU", device.ordinal());
  if (!status) return status;
  return check(driver, driver.stream_synchronize(stream), "copying to the GPU", device.ordinal());
}

Status read(const DeviceMemory& memory, std::byte* pinned, std::vector<std::byte>& bytes) {
  Device& device = memory.device();
  const InContext in_context(device);
  const cuda::Driver& driver = device.driver();
  CUstream_st* stream = device.next_stream(Device::Lane::kDown);
  Status status = check(driver, driver.memcpy_dtoh_async(pinned, memory.address(), bytes.size(), stream),
                        "copying from the GPU", device.ordinal());
  if (!status) return status;
  status = check(driver, driver.stream_synchronize(stream), "copying from the GPU", device.ordinal());
  if (status) std::memcpy(bytes.data(), pinned, bytes.size());
  return status;
}

Status copy_across(Device& from, const DeviceMemory& source, Device& to, const DeviceMemory& target) {
  const InContext in_context(from);
  const cuda::Driver& driver = from.driver();
  CUstream_st* stream = from.next_stream(Device::Lane::kPeer);
  Status status = check(
      driver,
      driver.memcpy_peer_async(target.address(), to.context(), source.address(), from.context(), kTrialBytes, stream),
      "copying to another GPU", from.ordinal());
  if (!status) return status;
  return check(driver, driver.stream_synchronize(stream), "copying to another GPU", from.ordinal());
}

// Whether what is sent arrives; an Error where it could not be tried.
Result<bool> arrives(Device& from, Device& to, std::byte* pinned) {
  constexpr const char* kWhat = "allocating memory to try the way between two GPUs";
  const DeviceMemory source(from, kTrialBytes, kWhat);
  const DeviceMemory target(to, kTrialBytes, kWhat);
  if (!source.status()) return source.status().error();
  if (!target.status()) return target.status().error();
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<std::byte> sent = known_bytes(kTrialBytes, static_cast<std::uint64_t>(trial));
    std::vector<std::byte> arrived(kTrialBytes, std::byte{0xdb});
    if (const Status written = write(target, pinned, arrived); !written) return written.error();
    if (const Status written = write(source, pinned, sent); !written) return written.error();
    if (const Status copied = copy_across(from, source, to, target); !copied) return false;
    if (const Status back = read(target, pinned, arrived); !back) return back.error();
    if (sent != arrived) return false;
  }
  return true;
}

bool enable_access(Device& from, Device& to) {
  const InContext in_context(from);
  const cuda::DriverCode code = from.driver().ctx_enable_peer_access(to.context(), 0);
  return code == 0 || code == cuda::kPeerAccessAlreadyEnabled;
}

Result<PeerRoute> try_pair(Device& from, Device& to) {
  int can = 0;
  const cuda::Driver& driver = from.driver();
  if (driver.device_can_access_peer(&can, from.handle(), to.handle()) != 0 || can == 0) return PeerRoute::kStaged;
  if (!enable_access(from, to) || !enable_access(to, from)) return PeerRoute::kStaged;
  void* pinned = nullptr;
  {
    const InContext in_context(from);
    const Status status = check(driver, driver.mem_host_alloc(&pinned, kTrialBytes, cuda::kHostPortable),
                                "page-locking memory to try the way between two GPUs", from.ordinal());
    if (!status) return status.error();
  }
  const auto arrived = arrives(from, to, static_cast<std::byte*>(pinned));
  const InContext in_context(from);
  driver.mem_free_host(pinned);
  if (!arrived) return arrived.error();
  return *arrived ? PeerRoute::kDirect : PeerRoute::kStaged;
}

}  // namespace

Result<PeerRoute> Peers::route(Device& from, Device& to) {
  if (from.ordinal() == to.ordinal()) return PeerRoute::kDirect;
  const std::lock_guard lock(mutex_);
  const auto known = routes_.find({from.ordinal(), to.ordinal()});
  if (known != routes_.end()) return known->second;
  const auto route = try_pair(from, to);
  if (route) routes_[{from.ordinal(), to.ordinal()}] = *route;
  return route;
}

}  // namespace turnpike::move
