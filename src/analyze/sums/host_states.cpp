// Lays the kinds of stretches over each other, the most telling first.
#include "analyze/sums/host_states.h"

#include <iterator>
#include <utility>

#include "analyze/model/batch_gaps.h"

namespace turnpike::analyze {
namespace {

bool starts_before(const HostState& a, const HostState& b) {
  return a.time.start_ns < b.time.start_ns;
}

// Where waits overlap, the one that began first counts to its end.
std::vector<HostState> without_overlap(std::vector<HostWait> waits, IdleCause cause) {
  std::stable_sort(waits.begin(), waits.end(),
                   [](const HostWait& a, const HostWait& b) { return a.start_ns < b.start_ns; });
  std::vector<HostState> states;
  for (const HostWait& wait : waits) {
    const std::int64_t reached_ns = states.empty() ? wait.start_ns : states.back().time.end_ns;
    const std::int64_t start_ns = std::max(wait.start_ns, reached_ns);
    if (start_ns < wait.end_ns) states.push_back({{start_ns, wait.end_ns}, cause, wait.call});
  }
  return states;
}

// Where the process called CUDA, short gaps between its calls included.
std::vector<HostState> times_of_issuing(std::vector<Interval> calls) {
  for (Interval& call : calls) call.end_ns += kQuietNs;
  const IntervalSet reached(std::move(calls));
  std::vector<HostState> states;
  for (const Interval& interval : reached.intervals()) {
    // A gap that is longer than kQuietNs is quiet from its start.
    const std::int64_t end_ns = interval.end_ns - kQuietNs;
    if (interval.start_ns < end_ns) states.push_back({{interval.start_ns, end_ns}, IdleCause::kLaunch, kNone});
  }
  return states;
}

// Adds of `lower` what `states` leave free. Both are rising and without overlap, and so is the result.
void lay_under(std::vector<HostState>& states, const std::vector<HostState>& lower) {
  std::vector<HostState> free;
  auto cut = states.cbegin();
  for (const HostState& state : lower) {
    while (cut != states.cend() && cut->time.end_ns <= state.time.start_ns) ++cut;
    std::int64_t start_ns = state.time.start_ns;
    for (auto c = cut; c != states.cend() && c->time.start_ns < state.time.end_ns; ++c) {
      if (start_ns < c->time.start_ns) free.push_back({{start_ns, c->time.start_ns}, state.cause, state.call});
      start_ns = c->time.end_ns;
    }
    if (start_ns < state.time.end_ns) free.push_back({{start_ns, state.time.end_ns}, state.cause, state.call});
  }
  std::vector<HostState> both;
  both.reserve(states.size() + free.size());
  std::merge(states.begin(), states.end(), free.begin(), free.end(), std::back_inserter(both), starts_before);
  states = std::move(both);
}

}  // namespace

HostStates::HostStates(HostActivity host)
    : states_(without_overlap(std::move(host.untimed_waits), IdleCause::kUnrecorded)) {
  lay_under(states_, without_overlap(std::move(host.copy_waits), IdleCause::kCopy));
  lay_under(states_, without_overlap(std::move(host.sync_waits), IdleCause::kSync));
  lay_under(states_, without_overlap(std::move(host.allocations), IdleCause::kAllocation));
  lay_under(states_, without_overlap(std::move(host.batch_gaps), IdleCause::kInput));
  lay_under(states_, without_overlap(std::move(host.long_calls), IdleCause::kUnknown));
  lay_under(states_, times_of_issuing(std::move(host.calls)));
}

}  // namespace turnpike::analyze
