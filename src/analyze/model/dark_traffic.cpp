// Subtracts copies from counters, and looks which kernels ran where something is left.
#include "analyze/model/dark_traffic.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyze/model/intervals.h"

namespace turnpike::analyze {
namespace {

// The GPU updates its counters about ten times a second.
constexpr std::int64_t kLagNs = 100'000'000;
// What a launch reads of the host at most: commands and arguments. 2 to 6 kB on an H100 with PCIe 5.
constexpr std::uint64_t kBytesOfLaunch = 8192;
// Who reads the host sends requests for it: 12 % of the bytes on an H100.
constexpr double kRequestShare = 0.15;

struct Window {
  Interval interval;  // with the lag before it
  double dark_bytes;  // and perhaps launches and requests
  double dark_gbps;   // over the time in which it was counted, without them
};

using Counted = std::vector<const trace::LinkTrafficRecord*>;

std::map<std::uint32_t, Counted> counted_by_device(const Timeline& timeline) {
  std::map<std::uint32_t, Counted> by_device;
  for (const auto& record : timeline.link_traffic) {
    if (!has_times(record.start_ns, record.end_ns) || record.start_ns == record.end_ns) continue;
    if (record.pcie_in_bytes == trace::kUnknownSize || record.pcie_out_bytes == trace::kUnknownSize) continue;
    by_device[record.device].push_back(&record);
  }
  for (auto& [device, counted] : by_device) {
    std::sort(counted.begin(), counted.end(), [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  }
  return by_device;
}

// How much of [start, end) lies in `window`, as a share of [start, end).
double share_within(std::int64_t start_ns, std::int64_t end_ns, Interval window) {
  if (end_ns <= start_ns) return start_ns >= window.start_ns && start_ns < window.end_ns ? 1 : 0;
  const std::int64_t from_ns = std::max(start_ns, window.start_ns);
  const std::int64_t to_ns = std::min(end_ns, window.end_ns);
  return to_ns <= from_ns ? 0 : static_cast<double>(to_ns - from_ns) / static_cast<double>(end_ns - start_ns);
}

struct Bytes {
  double in = 0;
  double out = 0;
};

// What a transfer moved over the link of a device within `window`.
void add_copy(const Transfer& transfer, std::uint32_t device, Interval window, Bytes& bytes) {
  const bool is_peer = transfer.direction == Direction::kPeerToPeer;  // over PCIe, if there is no NVLink
  if (!transfer.has_times() || (transfer.device != device && !is_peer)) return;
  const double copied = share_within(transfer.start_ns, transfer.end_ns, window) * static_cast<double>(transfer.bytes);
  if (is_peer || transfer.direction == Direction::kHostToDevice) bytes.in += copied;
  if (is_peer || transfer.direction == Direction::kDeviceToHost) bytes.out += copied;
}

// The sums over all of the time in which the counters were read.
class Remainder {
 public:
  Remainder(const Timeline& timeline, std::uint32_t device, const Counted& counted)
      : span_{counted.front()->start_ns, counted.back()->end_ns} {
    for (const auto* record : counted) {
      carried_.in += static_cast<double>(record->pcie_in_bytes);
      carried_.out += static_cast<double>(record->pcie_out_bytes);
    }
    for (const Transfer& transfer : timeline.transfers) add_copy(transfer, device, span_, copied_);
    for (const Kernel& kernel : timeline.kernels) {
      launches_ += kernel.device == device && kernel.has_times() && kernel.start_ns >= span_.start_ns &&
                   kernel.start_ns < span_.end_ns;
    }
  }

  Interval span() const { return span_; }
  double carried() const { return carried_.in + carried_.out; }
  double copied() const { return copied_.in + copied_.out; }
  double dark() const {
    const double in = carried_.in - copied_.in - static_cast<double>(launches_ * kBytesOfLaunch);
    const double out = carried_.out - copied_.out - kRequestShare * carried_.in;
    return std::max(in, 0.0) + std::max(out, 0.0);
  }

 private:
  Interval span_;
  Bytes carried_, copied_;
  std::uint64_t launches_ = 0;
};

// `first`: where to begin, for windows that follow each other.
std::uint64_t launches_within(const Timeline& timeline, std::uint32_t device, Interval window, std::size_t& first) {
  const auto& kernels = timeline.kernels;
  while (first < kernels.size() && kernels[first].start_ns < window.start_ns) ++first;
  std::uint64_t count = 0;
  for (std::size_t i = first; i < kernels.size() && kernels[i].start_ns < window.end_ns; ++i) {
    count += kernels[i].device == device && kernels[i].has_times();
  }
  return count;
}

// The windows in which more was carried than copies explain. Copies of the lag before a window count there too, so that
// none looks unexplained.
std::vector<Window> dark_windows(const Timeline& timeline, std::uint32_t device, const Counted& counted) {
  std::vector<Window> windows;
  std::size_t first = 0;
  std::size_t first_kernel = 0;
  for (const auto* record : counted) {
    const Interval window{record->start_ns - kLagNs, record->end_ns};
    // A transfer that lasts into the window keeps those behind it, too: they are few.
    while (first < timeline.transfers.size() && timeline.transfers[first].end_ns < window.start_ns) ++first;
    Bytes copied;
    for (std::size_t i = first; i < timeline.transfers.size(); ++i) {
      const Transfer& transfer = timeline.transfers[i];
      if (transfer.start_ns >= window.end_ns) break;
      add_copy(transfer, device, window, copied);
    }
    const double in = static_cast<double>(record->pcie_in_bytes) - copied.in;
    const double out = static_cast<double>(record->pcie_out_bytes) - copied.out;
    const double left = std::max(in, 0.0) + std::max(out, 0.0);
    if (left <= 0) continue;
    const auto launched = static_cast<double>(launches_within(timeline, device, window, first_kernel) * kBytesOfLaunch);
    const double requests = kRequestShare * static_cast<double>(record->pcie_in_bytes);
    const double dark = std::max(in - launched, 0.0) + std::max(out - requests, 0.0);
    windows.push_back({window, left, dark / static_cast<double>(record->end_ns - record->start_ns)});
  }
  return windows;
}

void name_kernel(const Timeline& timeline, const std::vector<Window>& windows, DarkTraffic& traffic) {
  std::unordered_map<std::uint32_t, double> weights;
  double all = 0;
  std::size_t first = 0;
  for (const Window& window : windows) {
    while (first < timeline.kernels.size() && timeline.kernels[first].end_ns < window.interval.start_ns) ++first;
    std::unordered_map<std::uint32_t, double> times_ns;
    double total_ns = 0;
    for (std::size_t i = first; i < timeline.kernels.size(); ++i) {
      const Kernel& kernel = timeline.kernels[i];
      if (kernel.start_ns >= window.interval.end_ns) break;
      if (kernel.device != traffic.device || !kernel.has_times()) continue;
      const double ns =
          share_within(kernel.start_ns, kernel.end_ns, window.interval) * static_cast<double>(kernel.duration_ns());
      times_ns[kernel.name] += ns;
      total_ns += ns;
    }
    if (total_ns == 0) continue;
    for (const auto& [name, ns] : times_ns) weights[name] += window.dark_bytes * ns / total_ns;
    all += window.dark_bytes;
  }
  for (const auto& [name, weight] : weights) {
    const double share = weight / all;
    // The lower id of equal ones, so that the order of the map does not matter.
    if (share > traffic.kernel_share || (share == traffic.kernel_share && name < traffic.kernel)) {
      traffic.kernel = name;
      traffic.kernel_share = share;
    }
  }
}

}  // namespace

std::vector<DarkTraffic> dark_traffic_of(const Timeline& timeline) {
  std::vector<DarkTraffic> found;
  for (const auto& [device, counted] : counted_by_device(timeline)) {
    const Remainder remainder(timeline, device, counted);
    DarkTraffic traffic;
    traffic.device = device;
    traffic.counted_ns = remainder.span().end_ns - remainder.span().start_ns;
    traffic.carried_bytes = static_cast<std::uint64_t>(remainder.carried());
    traffic.copied_bytes = static_cast<std::uint64_t>(remainder.copied());
    traffic.dark_bytes = static_cast<std::uint64_t>(remainder.dark());
    const std::vector<Window> windows = dark_windows(timeline, device, counted);
    for (const Window& window : windows) traffic.peak_gbps = std::max(traffic.peak_gbps, window.dark_gbps);
    name_kernel(timeline, windows, traffic);
    found.push_back(traffic);
  }
  return found;
}

}  // namespace turnpike::analyze
