// The trial: bytes go from the host to one device, from there to the other, and back to the host.
#include "move/peers.h"

#include <cstring>
#include <vector>

namespace turnpike::move {
namespace {

using PeerRoute = Engine::PeerRoute;

// Odd, so that the last bytes do not fill a word.
constexpr std::size_t kTrialBytes = (std::size_t{1} << 20) + 4093;
constexpr int kTrials = 3;

// Device memory of a trial.
class Scratch {
 public:
  explicit Scratch(Device& device) : device_(device) {
    const InContext in_context(device_);
    status_ = check(device_.driver(), device_.driver().mem_alloc(&address_, kTrialBytes),
                    "allocating memory to try the way between two GPUs", device_.ordinal());
  }
  ~Scratch() {
    const InContext in_context(device_);
    if (address_ != 0) device_.driver().mem_free(address_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const Status& status() const { return status_; }
  cuda::DevicePointer address() const { return address_; }

  // Blocking, by way of `pinned`.
  Status write(std::byte* pinned, const std::vector<std::byte>& bytes) {
    const InContext in_context(device_);
    const cuda::Driver& driver = device_.driver();
    CUstream_st* stream = device_.next_stream(Device::Lane::kUp);
    std::memcpy(pinned, bytes.data(), bytes.size());
    Status status = check(driver, driver.memcpy_htod_async(address_, pinned, bytes.size(), stream),
                          "copying to the GPU", device_.ordinal());
    if (!status) return status;
    return check(driver, driver.stream_synchronize(stream), "copying to the GPU", device_.ordinal());
  }
  Status read(std::byte* pinned, std::vector<std::byte>& bytes) {
    const InContext in_context(device_);
    const cuda::Driver& driver = device_.driver();
    CUstream_st* stream = device_.next_stream(Device::Lane::kDown);
    Status status = check(driver, driver.memcpy_dtoh_async(pinned, address_, bytes.size(), stream),
                          "copying from the GPU", device_.ordinal());
    if (!status) return status;
    status = check(driver, driver.stream_synchronize(stream), "copying from the GPU", device_.ordinal());
    if (status) std::memcpy(bytes.data(), pinned, bytes.size());
    return status;
  }

 private:
  Device& device_;
  cuda::DevicePointer address_ = 0;
  Status status_;
};

std::vector<std::byte> pattern(int trial) {
  std::vector<std::byte> bytes(kTrialBytes);
  std::uint64_t state = 0x9e3779b97f4a7c15ULL * static_cast<std::uint64_t>(trial + 1);
  for (std::byte& one : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    one = static_cast<std::byte>(state >> 56);
  }
  return bytes;
}

Status copy_across(Device& from, const Scratch& source, Device& to, const Scratch& target) {
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
  Scratch source(from);
  Scratch target(to);
  if (!source.status()) return source.status().error();
  if (!target.status()) return target.status().error();
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<std::byte> sent = pattern(trial);
    std::vector<std::byte> arrived(kTrialBytes, std::byte{0xdb});
    if (const Status written = target.write(pinned, arrived); !written) return written.error();
    if (const Status written = source.write(pinned, sent); !written) return written.error();
    if (const Status copied = copy_across(from, source, to, target); !copied) return false;
    if (const Status back = target.read(pinned, arrived); !back) return back.error();
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
