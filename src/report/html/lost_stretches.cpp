// Counters say how many records are missing, not when. What was recorded before and after them does: a launch without
// a kernel, a copy without a record of the GPU, device work without its call.
#include "report/html/lost_stretches.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "trace/losses.h"

namespace turnpike::report::html {
namespace {

using analyze::Call;
using analyze::Interval;
using analyze::Kernel;
using analyze::kNone;
using analyze::Timeline;
using trace::Loss;

// Those after which records of device work are missing, or of calls.
constexpr Loss kDeviceLosses[] = {Loss::kCuptiDropped,  Loss::kActivityBuffersFull, Loss::kUnknownActivity,
                                  Loss::kWriteFailed,   Loss::kOtherCuptiUser,      Loss::kCuptiCallFailed,
                                  Loss::kEndedEarly,    Loss::kEndedByExec,         Loss::kEndedInExit,
                                  Loss::kNotClosed,     Loss::kDamagedBytes,        Loss::kUnknownChunk,
                                  Loss::kUnknownRecord, Loss::kCountMismatch};
constexpr Loss kCallLosses[] = {Loss::kCallBuffersFull, Loss::kWriteFailed,   Loss::kDamagedBytes,
                                Loss::kUnknownChunk,    Loss::kUnknownRecord, Loss::kCountMismatch};

bool has_any(const trace::Process& process, std::span<const Loss> losses) {
  return std::any_of(losses.begin(), losses.end(), [&](Loss loss) {
    const auto found = process.losses.find(static_cast<std::uint32_t>(loss));
    return found != process.losses.end() && found->second > 0;
  });
}

// The launches of one device's stream without a kernel, since the last one that has its kernel.
class LaunchesWithout {
 public:
  void add(const Call& launch) {
    if (!first_) first_ = launch.start_ns;
    last_ns_ = std::max(last_ns_, launch.end_ns);
    ++count_;
  }

  // They ran on the GPU between these kernels; where one of the two is unknown, or they ran out of turn, at their
  // launch.
  void close(const Kernel* before, const Kernel* after, std::vector<LostKernels>& found) {
    const Kernel* neighbour = before != nullptr ? before : after;
    if (!first_ || neighbour == nullptr) return;
    Interval time{*first_, last_ns_};
    const std::int64_t start_ns = before == nullptr ? *first_ : std::max(*first_, before->end_ns);
    const std::int64_t end_ns = after == nullptr ? last_ns_ : after->start_ns;
    if (start_ns < end_ns) time = {start_ns, end_ns};
    found.push_back({{time, count_}, neighbour->device, neighbour->stream});
    *this = {};
  }

 private:
  std::optional<std::int64_t> first_;
  std::int64_t last_ns_ = 0;
  std::uint64_t count_ = 0;
};

std::vector<LostKernels> find_kernels(const Timeline& timeline) {
  std::vector<std::uint32_t> kernel_of(timeline.calls.size(), kNone);
  for (std::uint32_t i = 0; i < timeline.kernels.size(); ++i) {
    const Kernel& kernel = timeline.kernels[i];
    if (kernel.call != kNone && kernel.has_times()) kernel_of[kernel.call] = i;
  }
  std::vector<LostKernels> found;
  LaunchesWithout without;
  const Kernel* before = nullptr;
  for (std::size_t i = 0; i < timeline.calls.size(); ++i) {
    const Call& call = timeline.calls[i];
    if (call.kind != trace::CallKind::kLaunch || call.result != 0 || !call.has_times()) continue;
    if (kernel_of[i] == kNone) {
      without.add(call);
      continue;
    }
    const Kernel* after = &timeline.kernels[kernel_of[i]];
    without.close(before, after, found);
    before = after;
  }
  without.close(before, nullptr, found);
  return found;
}

std::vector<std::uint32_t> find_copy_calls(const Timeline& timeline) {
  std::vector<bool> has_record(timeline.calls.size());
  for (const analyze::Transfer& transfer : timeline.transfers) {
    if (transfer.call != kNone) has_record[transfer.call] = true;
  }
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < timeline.calls.size(); ++i) {
    const Call& call = timeline.calls[i];
    if (call.must_copy && !has_record[i] && call.has_times()) found.push_back(i);
  }
  return found;
}

// Correlation ids are given out in the order of calls, so a missing one lies between its neighbours.
std::vector<LostCalls> find_calls(const Timeline& timeline) {
  std::map<std::uint32_t, const Call*> calls;
  for (const Call& call : timeline.calls) {
    if (call.correlation != 0 && call.has_times()) calls[call.correlation] = &call;
  }
  std::map<std::pair<const Call*, const Call*>, std::uint64_t> counts;
  const auto count = [&](std::uint32_t call, std::uint32_t correlation) {
    const auto after = calls.upper_bound(correlation);
    if (call != kNone || correlation == 0 || after == calls.begin() || after == calls.end()) return;
    ++counts[{std::prev(after)->second, after->second}];
  };
  for (const Kernel& kernel : timeline.kernels) count(kernel.call, kernel.correlation);
  for (const analyze::Transfer& transfer : timeline.transfers) {
    if (!transfer.is_migration) count(transfer.call, transfer.correlation);
  }
  std::vector<LostCalls> found;
  for (const auto& [neighbours, lost] : counts) {
    const auto& [before, after] = neighbours;
    if (before->thread != after->thread || before->end_ns >= after->start_ns) continue;
    found.push_back({{{before->end_ns, after->start_ns}, lost}, before->thread});
  }
  std::sort(found.begin(), found.end(),
            [](const LostCalls& a, const LostCalls& b) { return a.stretch.time.start_ns < b.stretch.time.start_ns; });
  return found;
}

}  // namespace

LostRecords find_lost(const trace::Process& process, const Timeline& timeline, bool are_kernels_recorded) {
  const bool lost_device_work = has_any(process, kDeviceLosses);
  const bool lost_calls = has_any(process, kCallLosses);
  LostRecords lost;
  // Launches that a graph captures have no kernels of their own, and do not say that they were captured.
  if (lost_device_work && are_kernels_recorded && timeline.graph_nodes.empty()) lost.kernels = find_kernels(timeline);
  if (timeline.missing_count > 0) lost.copy_calls = find_copy_calls(timeline);
  if (lost_calls) lost.calls = find_calls(timeline);
  lost.has_untimed =
      (lost_device_work || lost_calls) && lost.kernels.empty() && lost.copy_calls.empty() && lost.calls.empty();
  return lost;
}

}  // namespace turnpike::report::html
