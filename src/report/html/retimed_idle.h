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

// By device, those without an idle stretch included: every stretch of the step's work in which it does not compute.
// Causes are found as in the recording, from the calls as they would go; a call that waits there waits for the same
// here. Intervals have no place.
class RetimedIdle {
 public:
  // `waits`: by call. `steps`: of() is asked about no others. Keeps references to `timeline` and `waits`.
  RetimedIdle(const analyze::Timeline& timeline, const std::vector<bool>& waits,
              std::span<const std::optional<analyze::RetimedStep>> steps);

  // Every stretch of the recording, before of() is asked.
  void note(const analyze::IdleInterval& recorded) {
    if (first_call_ <= recorded.call && recorded.call <= last_call_) note_of_steps(recorded);
  }
  std::vector<analyze::IdleInterval> of(const analyze::RetimedStep& step, std::uint32_t device) const;

 private:
  analyze::IdleCause cause_of_waiting(const analyze::RetimedStep& step, std::uint32_t device,
                                      const analyze::Interval& time) const;
  void note_of_steps(const analyze::IdleInterval& recorded);
  analyze::HostActivity host_of(const analyze::RetimedStep& step) const;

  const analyze::Timeline& timeline_;
  const std::vector<bool>& waits_;
  std::uint32_t first_call_;  // of any of the steps: few of a long run
  std::uint32_t last_call_;
  std::map<std::uint32_t, analyze::IdleCause> cause_of_call_;  // of calls that a device waited for
};

}  // namespace turnpike::report::html
