// What bounds the run: what the GPU did with its time, and what the host did while the GPU ran no kernel.
//
// Every nanosecond of the span of each device is exactly one of: a kernel runs; a transfer runs and no kernel; nothing
// runs and the host is held by a copy; nothing runs and the host is held by a synchronisation; nothing runs and the
// host calls CUDA, or pauses for no longer than kQuietNs ("launch": it works to issue, too slowly); nothing runs and
// the host does not call CUDA for longer ("input": the host does something else, such as preparing the next batch). The
// host is the threads that launch; a process that launches nothing is seen through all of its threads. Several devices
// and processes add up. This knows no dependencies: it says where time went, not what would be gained.
#pragma once

#include <cstdint>
#include <vector>

#include "analyze/activity.h"
#include "analyze/intervals.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// Between the calls of a busy host lie microseconds; even a slow step of Python that issues work stays below this.
inline constexpr std::int64_t kQuietNs = 2'000'000;
// From this share of busy time on there is little left to gain from anything but faster kernels.
inline constexpr double kGpuBoundPct = 90.0;

// The time of all devices by what it was spent on.
struct DeviceTime {
  std::int64_t span_ns = 0;
  std::int64_t kernel_ns = 0;
  std::int64_t exposed_transfer_ns = 0;
  std::int64_t idle_ns = 0;  // the four below, summed
  std::int64_t copy_wait_ns = 0;
  std::int64_t sync_wait_ns = 0;
  std::int64_t launch_ns = 0;
  std::int64_t quiet_ns = 0;

  void add(const DeviceTime& other);
};

// What the host of a process did.
struct HostActivity {
  Interval span{0, 0};                 // of the process
  std::vector<Interval> calls{};       // all calls of the threads that launch, waits included
  std::vector<Interval> copy_waits{};  // held by a copy, or by the synchronisation paired with it
  std::vector<Interval> sync_waits{};  // held by other synchronisations
};

// Summed over the devices that did anything.
DeviceTime account(const Activity& activity, HostActivity host);

// `is_known`: false when a process did not record its kernels; nothing is said then but why.
Verdict judge(const DeviceTime& time, bool is_known);

}  // namespace turnpike::analyze
