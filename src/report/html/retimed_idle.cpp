#include "report/html/retimed_idle.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace turnpike::report::html {
namespace {

using analyze::IdleCause;
using analyze::IdleInterval;
using analyze::Interval;
using analyze::IntervalSet;
using analyze::kNone;

// What one device does in a step, and from when on each piece of it was issued.
class DeviceWork {
 public:
  DeviceWork(const analyze::Timeline& timeline, const analyze::RetimedStep& step, std::uint32_t device) {
    std::vector<Interval> computing;
    std::vector<Interval> copying;
    for (const auto& item : step.kernels) {
      const analyze::Kernel& kernel = timeline.kernels[item.index];
      if (kernel.device == device) add(item.time, issued_ns(step, kernel.call), computing);
    }
    for (const auto& item : step.transfers) {
      const analyze::Transfer& transfer = timeline.transfers[item.index];
      if (transfer.device != device) continue;
      add(item.time, issued_ns(step, transfer.call),
          analyze::is_within_device(transfer.direction) ? computing : copying);
    }
    std::sort(starts_.begin(), starts_.end());
    computing_ = IntervalSet(std::move(computing));
    copying_ = IntervalSet(std::move(copying));
  }

  const IntervalSet& computing() const { return computing_; }
  const IntervalSet& copying() const { return copying_; }
  // Whether the work with which the device goes on was issued before it stopped.
  bool is_queued(const Interval& idle) const {
    const auto next = std::lower_bound(starts_.begin(), starts_.end(), std::pair(idle.end_ns, kEarlier));
    return next != starts_.end() && next->second <= idle.start_ns;
  }

 private:
  static constexpr std::int64_t kEarlier = std::numeric_limits<std::int64_t>::min();

  void add(const Interval& time, std::int64_t issued_ns, std::vector<Interval>& times) {
    times.push_back(time);
    starts_.emplace_back(time.start_ns, issued_ns);
  }
  // Calls of an earlier step are not in this one.
  static std::int64_t issued_ns(const analyze::RetimedStep& step, std::uint32_t call) {
    const auto found = std::lower_bound(step.calls.begin(), step.calls.end(), call,
                                        [](const auto& item, std::uint32_t index) { return item.index < index; });
    return found != step.calls.end() && found->index == call ? found->time.end_ns : kEarlier;
  }

  IntervalSet computing_;
  IntervalSet copying_;
  std::vector<std::pair<std::int64_t, std::int64_t>> starts_;  // when work begins, and when it was issued
};

bool is_another_at_work(const analyze::Timeline& timeline, const analyze::RetimedStep& step, std::uint32_t device,
                        const Interval& time) {
  std::vector<Interval> work;
  const auto add = [&](const auto& items, const auto& records) {
    for (const auto& item : items) {
      if (records[item.index].device != device) work.push_back(item.time);
    }
  };
  add(step.kernels, timeline.kernels);
  add(step.transfers, timeline.transfers);
  return analyze::explains_waiting(IntervalSet(std::move(work)), time);
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
  const bool is_held = recorded.cause == IdleCause::kCopy || recorded.cause == IdleCause::kSync ||
                       recorded.cause == IdleCause::kAllocation || recorded.cause == IdleCause::kInput;
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
    } else if (known != cause_of_call_.end() && known->second == IdleCause::kAllocation) {
      host.allocations.push_back(wait);
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
  const DeviceWork work(timeline_, step, device);
  const analyze::HostActivity host = host_of(step);
  const analyze::HostStates states(host);
  // Beside the calls of the step the host issues work of others.
  const IntervalSet calls(host.calls);
  const auto& of_step = calls.intervals();
  const auto is_of_others = [&](const Interval& time) {
    return of_step.empty() || time.end_ns <= of_step.front().start_ns || of_step.back().end_ns <= time.start_ns;
  };
  std::vector<IdleInterval> found;
  // What issuing work belongs to: the last wait in the gap.
  constexpr std::pair kNoWait(IdleCause::kLaunch, kNone);
  std::pair drained_by = kNoWait;
  const auto take_state = [&](const analyze::HostState& state) {
    const bool is_issuing = state.cause == IdleCause::kUnknown && is_of_others(state.time);
    IdleInterval one{state.time, is_issuing ? IdleCause::kLaunch : state.cause, kNone, state.call};
    if (one.cause == IdleCause::kCopy || one.cause == IdleCause::kSync) drained_by = {one.cause, one.call};
    if (one.cause == IdleCause::kLaunch) std::tie(one.cause, one.call) = drained_by;
    found.push_back(one);
  };
  const IntervalSet gaps = IntervalSet({step.work}).subtract(work.computing());
  for (const Interval& gap : gaps.intervals()) {
    drained_by = kNoWait;
    const IntervalSet copying = IntervalSet({gap}).intersect(work.copying());
    const IntervalSet idle = IntervalSet({gap}).subtract(work.copying());
    for (const Interval& time : copying.intervals()) found.push_back({time, IdleCause::kCopiesOnly, kNone, kNone});
    for (const Interval& time : idle.intervals()) {
      if (work.is_queued(time)) {
        found.push_back({time, cause_of_waiting(step, device, time), kNone, kNone});
      } else {
        states.each(time.start_ns, time.end_ns, take_state);
      }
    }
  }
  std::sort(found.begin(), found.end(),
            [](const IdleInterval& a, const IdleInterval& b) { return a.time.start_ns < b.time.start_ns; });
  return seamless(found);
}

IdleCause RetimedIdle::cause_of_waiting(const analyze::RetimedStep& step, std::uint32_t device,
                                        const Interval& time) const {
  if (time.end_ns - time.start_ns <= analyze::kBetweenKernelsNs) return IdleCause::kBetweenKernels;
  return is_another_at_work(timeline_, step, device, time) ? IdleCause::kOtherDevice : IdleCause::kUnrecorded;
}

}  // namespace turnpike::report::html
