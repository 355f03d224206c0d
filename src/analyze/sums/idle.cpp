// Walks each device's gaps, with its copies, the states of the host and the samples beside it.
#include "analyze/sums/idle.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "analyze/model/batch_gaps.h"
#include "analyze/sums/lost_work.h"

namespace turnpike::analyze {
namespace {

// A stretch in which a copy runs; the first of several.
struct Copying {
  Interval time;
  std::uint32_t transfer;
};

// The copies between GPUs that another device carries out, by their ends.
std::vector<const Transfer*> peer_copies_beside(const Timeline& timeline, std::uint32_t device) {
  std::vector<const Transfer*> found;
  for (const Transfer& transfer : timeline.transfers) {
    const bool is_beside = transfer.direction == Direction::kPeerToPeer && transfer.device != device;
    if (is_beside && transfer.has_times()) found.push_back(&transfer);
  }
  std::sort(found.begin(), found.end(), [](const auto* a, const auto* b) { return a->end_ns < b->end_ns; });
  return found;
}

std::vector<Copying> copying_of(const Timeline& timeline, std::uint32_t device) {
  std::vector<Copying> found;
  for (std::uint32_t index = 0; index < timeline.transfers.size(); ++index) {
    const Transfer& transfer = timeline.transfers[index];
    if (transfer.device != device || !transfer.has_times()) continue;
    if (is_within_device(transfer.direction) || transfer.direction == Direction::kHostToHost) continue;
    const std::int64_t start_ns =
        found.empty() ? transfer.start_ns : std::max(transfer.start_ns, found.back().time.end_ns);
    if (start_ns < transfer.end_ns) found.push_back({{start_ns, transfer.end_ns}, index});
  }
  return found;
}

// Finds for rising moments the call behind the first work that a device began then or later.
template <typename Record>
class NextWork {
 public:
  NextWork(const std::vector<Record>& records, std::uint32_t device) : records_(records), device_(device) {}

  // Returns nullptr if none is found.
  const Record* at(std::int64_t moment_ns) {
    while (next_ < records_.size() && !is_work_at(records_[next_], moment_ns)) ++next_;
    return next_ < records_.size() ? &records_[next_] : nullptr;
  }

 private:
  bool is_work_at(const Record& record, std::int64_t moment_ns) const {
    return record.device == device_ && record.has_times() && record.start_ns >= moment_ns;
  }

  const std::vector<Record>& records_;
  std::uint32_t device_;
  std::size_t next_ = 0;
};

// Finds for rising moments the call behind the last work that a device began before.
template <typename Record>
class LastWork {
 public:
  LastWork(const std::vector<Record>& records, std::uint32_t device) : records_(records), device_(device) {}

  // Returns nullptr if none is found.
  const Record* before(std::int64_t moment_ns) {
    for (; next_ < records_.size() && records_[next_].start_ns < moment_ns; ++next_) {
      if (records_[next_].device == device_ && records_[next_].has_times()) last_ = &records_[next_];
    }
    return last_;
  }

 private:
  const std::vector<Record>& records_;
  std::uint32_t device_;
  std::size_t next_ = 0;
  const Record* last_ = nullptr;
};

// The samples of one thread; asked for rising stretches.
class ThreadSamples {
 public:
  using Records = std::vector<trace::SampleRecord>;
  ThreadSamples(Records::const_iterator begin, Records::const_iterator end) : next_(begin), end_(end) {}

  template <typename Take>
  void each(const Interval& time, Take&& take) {
    while (next_ != end_ && next_->time_ns < time.start_ns) ++next_;
    for (; next_ != end_ && next_->time_ns < time.end_ns; ++next_) take(*next_);
  }

 private:
  Records::const_iterator next_;
  Records::const_iterator end_;
};

std::vector<ThreadSamples> samples_of(const Timeline& timeline, const Threads& threads) {
  std::vector<ThreadSamples> found;
  auto begin = timeline.samples.begin();
  while (begin != timeline.samples.end()) {
    const auto end = std::find_if(begin, timeline.samples.end(),
                                  [&](const trace::SampleRecord& one) { return one.thread != begin->thread; });
    if (threads.contains(begin->thread)) found.emplace_back(begin, end);
    begin = end;
  }
  return found;
}

}  // namespace

bool explains_waiting(const IntervalSet& work, const Interval& waiting) {
  const std::int64_t covered_ns = work.covered_ns(waiting.start_ns, waiting.end_ns);
  const std::int64_t rest_ns = waiting.end_ns - waiting.start_ns - covered_ns;
  return covered_ns > 0 && (rest_ns <= kBetweenKernelsNs || rest_ns < covered_ns);
}

// One device's time from its start to its end.
class IdleTimes::Walk {
 public:
  Walk(IdleTimes& idle, std::uint32_t device, const std::function<void(const IdleInterval&)>& take)
      : idle_(idle),
        take_(take),
        device_(device),
        peer_copies_(peer_copies_beside(idle.timeline_, device)),
        copying_(copying_of(idle.timeline_, device)),
        next_kernel_(idle.timeline_.kernels, device),
        next_transfer_(idle.timeline_.transfers, device),
        last_kernel_(idle.timeline_.kernels, device),
        last_transfer_(idle.timeline_.transfers, device),
        lost_(idle.timeline_, device),
        samples_(samples_of(idle.timeline_, idle.host_threads_)) {}

  // A stretch without computing.
  void pass(const Interval& gap) {
    drained_by_.reset();
    std::int64_t reached_ns = gap.start_ns;
    while (next_copying_ < copying_.size() && copying_[next_copying_].time.end_ns <= gap.start_ns) ++next_copying_;
    for (std::size_t i = next_copying_; i < copying_.size() && copying_[i].time.start_ns < gap.end_ns; ++i) {
      const Copying& copying = copying_[i];
      const Interval inside{std::max(copying.time.start_ns, gap.start_ns), std::min(copying.time.end_ns, gap.end_ns)};
      pass_idle({reached_ns, inside.start_ns});
      pass_copy(inside, idle_.timeline_.transfers[copying.transfer]);
      reached_ns = inside.end_ns;
    }
    pass_idle({reached_ns, gap.end_ns});
  }

 private:
  // Of the work with which a device goes on.
  struct NextCall {
    std::uint32_t call = kNone;                                         // kNone: not known
    std::int64_t begun_ns = std::numeric_limits<std::int64_t>::max();   // when it began
    std::int64_t issued_ns = std::numeric_limits<std::int64_t>::max();  // from when on the device could do the work
  };

  void pass_copy(const Interval& time, const Transfer& transfer) {
    take_({time, IdleCause::kCopiesOnly, idle_.place_of_transfer(transfer), transfer.call});
  }

  void pass_idle(const Interval& time) {
    if (time.start_ns >= time.end_ns) return;
    const NextCall next = call_of_work_at(time);
    if (next.issued_ns <= time.start_ns) return pass_queued(time);
    const bool is_held_up = time.end_ns - next.issued_ns > kQuietNs;
    const Interval late{time.start_ns, is_held_up ? next.issued_ns : time.end_ns};
    const auto lost = lost_.within(late, begun_before(time.start_ns), next.begun_ns);
    pass_late({late.start_ns, lost ? lost->start_ns : late.end_ns}, next.call);
    if (lost) take_({*lost, IdleCause::kUnrecorded, kNone, kNone});
    if (lost) pass_late({lost->end_ns, late.end_ns}, next.call);
    pass_queued({late.end_ns, time.end_ns});
  }

  // The next work was issued only then, by `call`.
  void pass_late(const Interval& time, std::uint32_t call) {
    if (time.start_ns >= time.end_ns) return;
    idle_.states_.each(time.start_ns, time.end_ns, [&](const HostState& state) {
      const bool is_for_lost_work =
          state.cause == IdleCause::kSync && state.time.end_ns - state.time.start_ns > kQuietNs;
      take_(is_for_lost_work && !is_another_at_work(state.time)
                ? IdleInterval{state.time, IdleCause::kUnrecorded, kNone, kNone}
                : explained(state, call));
    });
  }

  // When the call of the last work that the device began before `moment_ns` began; that moment if it is not known.
  std::int64_t begun_before(std::int64_t moment_ns) {
    const Kernel* kernel = last_kernel_.before(moment_ns);
    const Transfer* transfer = last_transfer_.before(moment_ns);
    const bool is_kernel = kernel != nullptr && (transfer == nullptr || transfer->start_ns <= kernel->start_ns);
    const std::uint32_t call = is_kernel ? kernel->call : transfer != nullptr ? transfer->call : kNone;
    return call == kNone || !idle_.timeline_.calls[call].has_times() ? moment_ns : idle_.timeline_.calls[call].start_ns;
  }

  // The next work was issued before.
  void pass_queued(const Interval& time) {
    if (time.start_ns >= time.end_ns) return;
    const Transfer* copy = awaited_copy(time);
    if (copy == nullptr) return pass_waiting(time);
    const Interval copying{std::max(copy->start_ns, time.start_ns), copy->end_ns};
    pass_waiting({time.start_ns, copying.start_ns});
    pass_copy(copying, *copy);
    pass_waiting({copying.end_ns, time.end_ns});
  }

  void pass_waiting(const Interval& time) {
    if (time.start_ns >= time.end_ns) return;
    const bool is_short = time.end_ns - time.start_ns <= kBetweenKernelsNs;
    take_({time,
           is_short                   ? IdleCause::kBetweenKernels
           : is_another_at_work(time) ? IdleCause::kOtherDevice
                                      : IdleCause::kUnrecorded,
           kNone, kNone});
  }

  // The copy from or to another GPU at whose end the device goes on.
  const Transfer* awaited_copy(const Interval& time) const {
    const auto behind =
        std::upper_bound(peer_copies_.begin(), peer_copies_.end(), time.end_ns,
                         [](std::int64_t moment_ns, const Transfer* copy) { return moment_ns < copy->end_ns; });
    if (behind == peer_copies_.begin()) return nullptr;
    const Transfer* last = *(behind - 1);
    return last->end_ns > std::max(time.start_ns, time.end_ns - kBetweenKernelsNs) ? last : nullptr;
  }

  bool is_another_at_work(const Interval& time) const {
    const auto& devices = idle_.activity_.devices();
    return std::any_of(devices.begin(), devices.end(), [&](const auto& device) {
      return device.first != device_ && explains_waiting(device.second.busy, time);
    });
  }

  // `late`: the call of the work with which the device goes on.
  IdleInterval explained(const HostState& state, std::uint32_t late) {
    switch (state.cause) {
      case IdleCause::kCopy:
      case IdleCause::kSync:
        drained_by_ = {state.time, state.cause, idle_.place_of_call(state.call), state.call};
        return *drained_by_;
      case IdleCause::kAllocation:
      case IdleCause::kInput:
        return {state.time, state.cause, idle_.place_of_call(state.call), state.call};
      case IdleCause::kUnrecorded:
        return {state.time, state.cause, kNone, kNone};
      case IdleCause::kLaunch:
        if (drained_by_) return {state.time, drained_by_->cause, drained_by_->place, drained_by_->call};
        return {state.time, state.cause, place_of_launch(state.time, late), late};
      default:
        return {state.time, IdleCause::kUnknown, place_of_samples(state.time), late};
    }
  }

  NextCall call_of_work_at(const Interval& idle) {
    const Kernel* kernel = next_kernel_.at(idle.end_ns);
    const Transfer* transfer = next_transfer_.at(idle.end_ns);
    const bool is_kernel = kernel != nullptr && (transfer == nullptr || kernel->start_ns <= transfer->start_ns);
    const std::uint32_t call = is_kernel ? kernel->call : transfer != nullptr ? transfer->call : kNone;
    if (call == kNone || !idle_.timeline_.calls[call].has_times()) return {};
    const Call& made = idle_.timeline_.calls[call];
    // A copy from the device asks the host for nothing before it begins, and holds it until it is done.
    const bool is_download = !is_kernel && transfer->direction == Direction::kDeviceToHost;
    return {call, made.start_ns, is_download ? std::min(made.end_ns, made.start_ns + kQuietNs) : made.end_ns};
  }

  std::uint32_t place_of_launch(const Interval& time, std::uint32_t late) {
    const std::uint32_t sampled = place_of_samples(time);
    if (sampled != kNone || late == kNone) return sampled;
    const std::uint32_t facts = idle_.stacks_.of_call(idle_.timeline_.calls[late]);
    return idle_.stacks_.facts(facts).is_place_known ? idle_.place_of_call(late) : kNone;
  }

  // The most frequent one.
  std::uint32_t place_of_samples(const Interval& time) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> counts;
    for (ThreadSamples& samples : samples_) {
      samples.each(time, [&](const trace::SampleRecord& sample) {
        const std::uint32_t facts = idle_.stacks_.of_stack(sample.stack);
        if (idle_.stacks_.facts(facts).place.site.empty()) return;
        const std::uint32_t place = idle_.place_of(facts, kNone);
        const auto known =
            std::find_if(counts.begin(), counts.end(), [=](const auto& entry) { return entry.first == place; });
        if (known == counts.end()) {
          counts.emplace_back(place, 1);
        } else {
          ++known->second;
        }
      });
    }
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? kNone : most->first;
  }

  IdleTimes& idle_;
  const std::function<void(const IdleInterval&)>& take_;
  std::uint32_t device_;
  std::vector<const Transfer*> peer_copies_;
  std::vector<Copying> copying_;
  std::size_t next_copying_ = 0;
  NextWork<Kernel> next_kernel_;
  NextWork<Transfer> next_transfer_;
  LastWork<Kernel> last_kernel_;
  LastWork<Transfer> last_transfer_;
  LostWork lost_;
  std::vector<ThreadSamples> samples_;
  std::optional<IdleInterval> drained_by_;  // the last wait in this gap
};

IdleTimes::IdleTimes(const Timeline& timeline, Stacks& stacks, const Activity& activity, HostActivity host,
                     const Threads& host_threads, Interval span, ForwardFacts forward_facts)
    : timeline_(timeline),
      stacks_(stacks),
      activity_(activity),
      states_(std::move(host)),
      host_threads_(host_threads),
      span_(span),
      forward_facts_(std::move(forward_facts)) {}

std::vector<std::uint32_t> IdleTimes::devices() const {
  std::vector<std::uint32_t> devices;
  for (const auto& [device, activity] : activity_.devices()) devices.push_back(device);
  return devices;
}

const SpilledLog<IdleInterval>& IdleTimes::of(std::uint32_t device) {
  const auto [kept, is_new] = kept_.try_emplace(device, spilled_);
  SpilledLog<IdleInterval>& log = kept->second;
  if (is_new) walk(device, [&](const IdleInterval& interval) { log.push_back(interval); });
  return log;
}

void IdleTimes::walk(std::uint32_t device, const std::function<void(const IdleInterval&)>& take) {
  const auto found = activity_.devices().find(device);
  if (found == activity_.devices().end()) return;
  Interval extent = span_;
  if (const auto& busy = found->second.busy.intervals(); !busy.empty()) {
    extent = {std::min(extent.start_ns, busy.front().start_ns), std::max(extent.end_ns, busy.back().end_ns)};
  }
  Walk walker(*this, device, take);
  std::int64_t reached_ns = extent.start_ns;
  for (const Interval& computing : found->second.computing.intervals()) {
    if (reached_ns < computing.start_ns) walker.pass({reached_ns, computing.start_ns});
    reached_ns = computing.end_ns;
  }
  if (reached_ns < extent.end_ns) walker.pass({reached_ns, extent.end_ns});
}

std::uint32_t IdleTimes::place_of_call(std::uint32_t call) {
  if (call == kNone) return kNone;
  const Call& made = timeline_.calls[call];
  return place_of(stacks_.of_call(made), forward_facts_(made));
}

// The line of work in a CUDA graph is the one that captured it, and no backward one.
std::uint32_t IdleTimes::place_of_transfer(const Transfer& transfer) {
  const bool has_forward = transfer.call != kNone && transfer.graph_node == 0;
  return place_of(stacks_.of_transfer(transfer), has_forward ? forward_facts_(timeline_.calls[transfer.call]) : kNone);
}

std::uint32_t IdleTimes::place_of(std::uint32_t facts, std::uint32_t forward_facts) {
  const auto [of_facts, is_new] = place_of_facts_.try_emplace(std::uint64_t{facts} << 32 | forward_facts,
                                                              static_cast<std::uint32_t>(places_.size()));
  if (!is_new) return of_facts->second;
  CallSite site = stacks_.site(facts, forward_facts);
  const auto [of_where, is_other] = place_of_where_.try_emplace(site, of_facts->second);
  of_facts->second = of_where->second;
  if (is_other) places_.push_back(std::move(site));
  return of_facts->second;
}

}  // namespace turnpike::analyze
