// What happened between two looks at the recorded processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "cli/live_process.h"

namespace turnpike::cli {

struct SiteRate {
  record::LiveSite site;  // the sums since the recording began
  double per_second = 0;
  double gbps = 0;
  double host_time_pct = 0;  // of wall time
};

struct ProcessRate {
  LiveProcess process;
  double seconds = 0;  // that the rates are of
  double gbps[2] = {};
  double transfers_per_second = 0;
  double pageable_pct = 0;  // of the bytes up and down in that time
  double host_time_pct = 0;
  double syncs_per_second = 0;
  double kernels_per_second = 0;
  std::vector<SiteRate> sites;  // in the order of the page
  bool has_ended = false;
};

// Keeps what was seen in the last seconds. Times are the recorder's own of CLOCK_MONOTONIC: a clock that is set does
// not matter.
class TopHistory {
 public:
  explicit TopHistory(double window_seconds) : window_ns_(static_cast<std::int64_t>(window_seconds * 1e9)) {}

  // The rates of all processes; those that were there before and are no more come once with `has_ended`. A process
  // seen for the first time has rates since its recording began.
  std::vector<ProcessRate> add(const std::vector<LiveProcess>& processes);

 private:
  std::int64_t window_ns_;
  std::map<std::uint32_t, std::deque<LiveProcess>> seen_;
};

// "train.py:23", "step (main.so)", "other lines".
std::string place_text(const record::LiveSite& site);
const char* name_of(record::LiveDirection direction);  // h2d
std::string operator_text(const record::LiveSite& site);
std::string program_text(const record::LivePage& page);

}  // namespace turnpike::cli
