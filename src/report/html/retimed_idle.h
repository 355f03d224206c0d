// What the devices would wait for in a re-timed step.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analyze/sums/idle.h"
#include "analyze/whatif/retimed_step.h"

namespace turnpike::report::html {

// By device, those without an idle stretch included: every stretch of the step's work in which no kernel of it runs.
// Causes are found as in the recording, from the calls as they would go; a call that waits there waits for the same
// here. Intervals have no place.
class RetimedIdle {
 public:
  // `recorded`: the devices' stretches in the recording. `waits`: by call. `steps`: of() is asked about no others.
  // Keeps references to `timeline` and `waits`.
  RetimedIdle(const analyze::Timeline& timeline, const std::vector<bool>& waits,
              const std::map<std::uint32_t, const std::vector<analyze::IdleInterval>*>& recorded,
              std::span<const std::optional<analyze::RetimedStep>> steps);

  std::vector<analyze::IdleInterval> of(const analyze::RetimedStep& step, std::uint32_t device) const;

 private:
  analyze::HostActivity host_of(const analyze::RetimedStep& step) const;

  const analyze::Timeline& timeline_;
  const std::vector<bool>& waits_;
  std::map<std::uint32_t, analyze::IdleCause> cause_of_call_;  // of calls that a device waited for
};

}  // namespace turnpike::report::html
