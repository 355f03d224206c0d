// How a process launches kernels, and whether its GPU waits for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/rules/rule.h"

namespace turnpike::analyze {

// Where a thread's time went while it gave the GPU work.
struct Issuing {
  std::int64_t in_calls_ns = 0;
  std::int64_t between_ns = 0;
  bool is_autograd = false;
  std::int64_t total_ns() const { return in_calls_ns + between_ns; }
};

struct LaunchFigures {
  std::size_t count = 0;
  std::int64_t median_kernel_ns = 0;
  std::int64_t median_lead_ns = 0;
  double idle_pct = 0;           // of the device that has most to do
  std::vector<Issuing> threads;  // the one that issues longest first
};

double percent_of_stretch(const ProcessModel& model, std::int64_t part_ns);

// nullopt: launching is not what the GPU waits for.
std::optional<LaunchFigures> measure_launch_bound(const ProcessModel& model);

}  // namespace turnpike::analyze
