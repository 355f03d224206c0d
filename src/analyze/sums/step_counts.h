// What each step did, for the medians of a run: they do not depend on how many steps were recorded, as means do where a
// loop fetches ahead and the copies of its first steps fall before them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/report.h"

namespace turnpike::analyze {

class StepCounts {
 public:
  // Begins the next process. Does nothing if it has enough steps for the median. `starts_ns`: when the steps of the
  // process start. `count`: how many steps are whole, from the one at `first_ns` on.
  void begin_process(std::span<const std::int64_t> starts_ns, std::int64_t first_ns, std::size_t count);
  // Both at a time within its whole steps.
  void add_transfer(std::int64_t time_ns, Direction direction, std::uint64_t count, std::uint64_t bytes,
                    std::optional<std::int64_t> blocked_ns);
  // `blocked_ns`: without what a transfer has already.
  void add_synchronisation(std::int64_t time_ns, std::int64_t blocked_ns);

  // Each figure's own median; nullopt: there are no steps.
  std::optional<Steps::Medians> medians() const;

 private:
  struct Step {
    std::array<std::uint64_t, kDirectionCount> counts{};
    std::array<std::uint64_t, kDirectionCount> bytes{};
    std::uint64_t syncs = 0;
    std::int64_t blocked_ns = 0;
  };

  Step& step_at(std::int64_t time_ns);

  std::vector<Step> steps_;  // of all processes
  std::size_t begin_ = 0;    // of the process's own
  std::vector<std::int64_t> starts_ns_;
};

}  // namespace turnpike::analyze
