// CUPTI's clock, where it is not the host's.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/format.h"

namespace turnpike::record {

// CUPTI counts nanoseconds of CLOCK_REALTIME, as the recorder does; in WSL2, from CUDA 13 on, those since the start of
// the machine. Such times are led over by samples of both clocks: the host's is slewed and set, the other one is not.
// Collector's thread only.
class DeviceClock {
 public:
  // Decides by the first sample whether there are two clocks.
  void begin(const trace::ClockSample& start);
  void note(const trace::ClockSample& sample);

  bool is_other() const { return is_other_; }
  // Whether a time may be one of this clock: it lies among the samples, or just beside them.
  bool covers(std::int64_t time) const;
  // trace::kUnknownTime where one of the clocks was set between the samples around the time.
  std::int64_t to_realtime(std::int64_t time) const;

 private:
  struct Sample {
    std::int64_t device_ns;
    std::int64_t host_ns;
    std::int64_t offset() const { return host_ns - device_ns; }
  };
  static bool was_set_between(const Sample& one, const Sample& next);
  static std::int64_t on_the_line(const Sample& one, const Sample& next, std::int64_t time);

  std::vector<Sample> samples_;  // by rising times, at most kMost
  bool is_other_ = false;
};

}  // namespace turnpike::record
