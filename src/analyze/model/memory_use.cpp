// Follows allocations and frees in the order of time.
#include "analyze/model/memory_use.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace turnpike::analyze {
namespace {

constexpr std::size_t kMaxPoints = 256;
constexpr std::size_t kMaxSites = 10;

using Kind = AllocationKind;
constexpr std::array kKinds = {Kind::kDevice, Kind::kPinned, Kind::kManaged};

struct Allocation {
  Kind kind;
  std::uint64_t bytes;
  std::uint32_t call;
};

// What is live of one kind, and what was at its peak.
struct Level {
  std::uint64_t bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::size_t peak_at = 0;  // events passed
};

struct Event {
  std::int64_t time_ns;
  bool is_free;
  Allocation allocation;
  std::uint64_t resident_bytes;  // of a memory sample; else 0
};

std::optional<Kind> kind_taken(trace::CallKind kind) {
  switch (kind) {
    case trace::CallKind::kDeviceAlloc:
      return Kind::kDevice;
    case trace::CallKind::kHostAlloc:
    case trace::CallKind::kHostRegister:
      return Kind::kPinned;
    case trace::CallKind::kManagedAlloc:
      return Kind::kManaged;
    default:
      return std::nullopt;
  }
}

bool gives_back(trace::CallKind kind) {
  return kind == trace::CallKind::kDeviceFree || kind == trace::CallKind::kHostFree ||
         kind == trace::CallKind::kHostUnregister;
}

// Allocations and frees of known sizes, and the memory samples, in the order of time.
std::vector<Event> events_of(const Timeline& timeline) {
  std::vector<Event> events;
  std::unordered_map<std::uint64_t, Allocation> live;
  for (std::uint32_t index = 0; index < timeline.calls.size(); ++index) {
    const Call& call = timeline.calls[index];
    if (!call.has_times() || call.result != 0 || call.dst == 0) continue;
    if (const auto kind = kind_taken(call.kind); kind && call.bytes != trace::kUnknownSize) {
      const Allocation allocation{*kind, call.bytes, index};
      live[call.dst] = allocation;
      events.push_back({call.end_ns, false, allocation, 0});
    } else if (gives_back(call.kind)) {
      const auto found = live.find(call.dst);
      if (found == live.end()) continue;
      events.push_back({call.end_ns, true, found->second, 0});
      live.erase(found);
    }
  }
  for (const auto& sample : timeline.memory) events.push_back({sample.time_ns, false, {}, sample.resident_bytes});
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return events;
}

using Levels = std::array<Level, kKinds.size()>;

void pass(Levels& levels, const Event& event, std::size_t at) {
  Level& level = levels[static_cast<std::size_t>(event.allocation.kind)];
  if (event.is_free) {
    level.bytes -= event.allocation.bytes;
    return;
  }
  level.bytes += event.allocation.bytes;
  if (level.bytes > level.peak_bytes) {
    level.peak_bytes = level.bytes;
    level.peak_at = at;
  }
}

// The lines whose allocations were live when a kind was at its peak.
void add_sites(MemoryUse& use, const std::vector<Event>& events, Kind kind, std::size_t peak_at,
               const Timeline& timeline, Stacks& stacks) {
  std::map<std::uint32_t, Allocation> live;  // by call
  for (std::size_t i = 0; i <= peak_at && i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.resident_bytes != 0 || event.allocation.kind != kind) continue;
    if (event.is_free) {
      live.erase(event.allocation.call);
    } else {
      live.emplace(event.allocation.call, event.allocation);
    }
  }
  std::map<std::string, MemorySite> by_site;
  for (const auto& [call, allocation] : live) {
    const std::string& site = stacks.facts(stacks.of_call(timeline.calls[call])).place.site;
    MemorySite& sum = by_site[site];
    sum.site = site;
    sum.kind = kind;
    sum.bytes += allocation.bytes;
    ++sum.count;
  }
  for (auto& [site, sum] : by_site) use.sites.push_back(std::move(sum));
}

// Every n-th, the last among them.
void thin_out(std::vector<MemoryPoint>& points) {
  if (points.size() <= kMaxPoints) return;
  const std::size_t pitch = (points.size() + kMaxPoints - 1) / kMaxPoints;
  std::vector<MemoryPoint> kept;
  for (std::size_t i = (points.size() - 1) % pitch; i < points.size(); i += pitch) kept.push_back(points[i]);
  points = std::move(kept);
}

}  // namespace

std::optional<MemoryUse> memory_use_of(const Timeline& timeline, Stacks& stacks, std::int64_t span_start_ns) {
  const std::vector<Event> events = events_of(timeline);
  if (events.empty()) return std::nullopt;
  MemoryUse use;
  Levels levels;
  std::optional<std::uint64_t> resident_bytes;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].resident_bytes != 0) {
      resident_bytes = events[i].resident_bytes;
      use.peak_resident_bytes = std::max(use.peak_resident_bytes.value_or(0), *resident_bytes);
    } else {
      pass(levels, events[i], i);
    }
    use.points.push_back({events[i].time_ns - span_start_ns, resident_bytes, levels[0].bytes, levels[1].bytes});
  }
  use.peak_device_bytes = levels[0].peak_bytes;
  use.peak_pinned_bytes = levels[1].peak_bytes;
  for (const Kind kind : kKinds) {
    const Level& level = levels[static_cast<std::size_t>(kind)];
    if (level.peak_bytes > 0) add_sites(use, events, kind, level.peak_at, timeline, stacks);
  }
  std::stable_sort(use.sites.begin(), use.sites.end(),
                   [](const MemorySite& a, const MemorySite& b) { return a.bytes > b.bytes; });
  if (use.sites.size() > kMaxSites) use.sites.resize(kMaxSites);
  thin_out(use.points);
  return use;
}

std::optional<std::uint64_t> peak_device_bytes_of(const Timeline& timeline, std::uint32_t device) {
  Levels levels;
  const auto at = static_cast<std::size_t>(Kind::kDevice);
  for (const Event& event : events_of(timeline)) {
    if (event.resident_bytes != 0 || event.allocation.kind != Kind::kDevice) continue;
    const std::uint32_t on = timeline.calls[event.allocation.call].device;
    if (on == trace::kUnknownId) return std::nullopt;
    if (on == device) pass(levels, event, 0);
  }
  return levels[at].peak_bytes > 0 ? std::optional(levels[at].peak_bytes) : std::nullopt;
}

}  // namespace turnpike::analyze
