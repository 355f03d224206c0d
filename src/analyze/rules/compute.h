// Where a process computed: the streams of its kernels, and when they ran.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/model/intervals.h"

namespace turnpike::analyze {

class Compute {
 public:
  explicit Compute(const ProcessModel& model);

  // False when no kernel was recorded: nothing can be said of what could run beside what.
  bool is_known() const { return !kernels_.empty(); }
  // Whether the kernels of a device run on this stream. One that runs few beside copies (fills, conversions) is none.
  bool is_compute_stream(std::uint32_t device, std::uint32_t stream) const;
  // Time of a copy's operation during which no kernel ran on its device.
  std::int64_t exposed_ns(const Operation& copy) const;
  // The same for any device.
  std::int64_t exposed_ns(std::uint32_t device, const Operation& copy) const;
  std::vector<std::uint32_t> devices() const;

 private:
  std::map<std::uint32_t, IntervalSet> kernels_;                               // by device
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> kernel_ns_;  // by device and stream
};

}  // namespace turnpike::analyze
