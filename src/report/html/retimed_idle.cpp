#include "report/html/retimed_idle.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace turnpike::report::html {
namespace {

using analyze::IdleCause;
using analyze::IdleInterval;
using analyze::Interval;
using analyze::IntervalSet;
using analyze::kNone;

template <typename Record>
IntervalSet busy(const std::vector<analyze::RetimedStep::Item>& items, const std::vector<Record>& records,
                 std::uint32_t device) {
  std::vector<Interval> times;
  for (const auto& item : items) {
    if (records[item.index].device == device) times.push_back(item.time);
  }
  return IntervalSet(std::move(times));
}

// The first and the last call of any of the steps.
std::pair<std::uint32_t, std::uint32_t> range_of_calls(std::span<const std::optional<analyze::RetimedStep>> steps) {
  std::pair<std::uint32_t, std::uint32_t> range(kNone, 0);
  for (const auto& step : steps) {
    if (!step || step->calls.empty()) continue;
    // They are in the order of the recording.
    range = {std::min(range.first, step->calls.front().index), std::max(range.second, step->calls.back().index)};
  }
  return range;
}

// What follows without a hole and for the same reason is one stretch.
std::vector<IdleInterval> seamless(const std::vector<IdleInterval>& stretches) {
  std::vector<IdleInterval> result;
  for (const IdleInterval& next : stretches) {
    const bool continues = !result.empty() && result.back().time.end_ns == next.time.start_ns &&
                           result.back().cause == next.cause && result.back().call == next.call;
    if (continues) {
      result.back().time.end_ns = next.time.end_ns;
    } else {
      result.push_back(next);
    }
  }
  return result;
}

}  // namespace

RetimedIdle::RetimedIdle(const analyze::Timeline& timeline, const std::vector<bool>& waits,
                         std::span<const std::optional<analyze::RetimedStep>> steps)
    : timeline_(timeline), waits_(waits) {
  std::tie(first_call_, last_call_) = range_of_calls(steps);
}

void RetimedIdle::note_of_steps(const IdleInterval& recorded) {
  const bool is_held =
      recorded.cause == IdleCause::kCopy || recorded.cause == IdleCause::kSync || recorded.cause == IdleCause::kInput;
  if (is_held) cause_of_call_.try_emplace(recorded.call, recorded.cause);
}

analyze::HostActivity RetimedIdle::host_of(const analyze::RetimedStep& step) const {
  analyze::HostActivity host;
  std::map<std::uint32_t, std::int64_t> end_of_thread;
  for (const auto& item : step.calls) {
    const analyze::Call& call = timeline_.calls[item.index];
    const auto known = cause_of_call_.find(item.index);
    const analyze::HostWait wait{item.time.start_ns, item.time.end_ns, item.index};
    host.calls.push_back(item.time);
    const auto [end_ns, is_first] = end_of_thread.try_emplace(call.thread, step.work.start_ns);
    if (known != cause_of_call_.end() && known->second == IdleCause::kInput) {
      host.batch_gaps.push_back({end_ns->second, item.time.start_ns, item.index});
    } else if (waits_[item.index]) {
      const bool is_copy =
          known == cause_of_call_.end() ? call.kind == trace::CallKind::kCopy : known->second == IdleCause::kCopy;
      (is_copy ? host.copy_waits : host.sync_waits).push_back(wait);
    }
    end_ns->second = std::max(end_ns->second, item.time.end_ns);
  }
  return host;
}

std::vector<IdleInterval> RetimedIdle::of(const analyze::RetimedStep& step, std::uint32_t device) const {
  const IntervalSet idle = IntervalSet({step.work}).subtract(busy(step.kernels, timeline_.kernels, device));
  const IntervalSet copies = busy(step.transfers, timeline_.transfers, device);
  const analyze::HostActivity host = host_of(step);
  const analyze::HostStates states(host);
  // Beside the calls of the step the host issues work of others.
  const IntervalSet calls(host.calls);
  const auto& of_step = calls.intervals();
  const auto is_of_others = [&](const Interval& time) {
    return of_step.empty() || time.end_ns <= of_step.front().start_ns || of_step.back().end_ns <= time.start_ns;
  };
  std::vector<IdleInterval> found;
  const IntervalSet copying = idle.intersect(copies);
  const IntervalSet doing_nothing = idle.subtract(copies);
  for (const Interval& time : copying.intervals()) {
    found.push_back({time, IdleCause::kCopiesOnly, kNone, kNone});
  }
  for (const Interval& time : doing_nothing.intervals()) {
    states.each(time.start_ns, time.end_ns, [&](const analyze::HostState& state) {
      const bool is_issuing = state.cause == IdleCause::kUnknown && is_of_others(state.time);
      found.push_back({state.time, is_issuing ? IdleCause::kLaunch : state.cause, kNone, state.call});
    });
  }
  std::sort(found.begin(), found.end(),
            [](const IdleInterval& a, const IdleInterval& b) { return a.time.start_ns < b.time.start_ns; });
  return seamless(found);
}

}  // namespace turnpike::report::html
