#include "report/rollup/step_rows.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/model/collectives.h"

namespace turnpike::report::rollup {
namespace {

constexpr std::int64_t kMinuteNs = 60'000'000'000;

enum class Kind : std::uint8_t { kCompute, kCollective, kPeer };
constexpr std::size_t kKinds = 3;

Kind kind_of(std::string_view kernel_name) {
  if (!analyze::is_of_nccl(kernel_name)) return Kind::kCompute;
  return analyze::collective_of(kernel_name).empty() ? Kind::kPeer : Kind::kCollective;
}

// What the devices did.
struct Work {
  analyze::IntervalSet communication;  // collectives, sends and receives: in all of them a rank waits for others
  analyze::IntervalSet kernels;        // others
  std::array<std::vector<std::int64_t>, kKinds> starts_ns;  // of the kernels of each kind, sorted
  bool are_kernels_known;

  std::int64_t count(Kind kind, std::int64_t from_ns, std::int64_t end_ns) const {
    const auto& starts = starts_ns[static_cast<std::size_t>(kind)];
    return std::lower_bound(starts.begin(), starts.end(), end_ns) -
           std::lower_bound(starts.begin(), starts.end(), std::min(from_ns, end_ns));
  }
};

Work work_of(const analyze::ProcessAnalysis& analysis, const trace::Process& process,
             const analyze::Timeline& timeline) {
  Work work{.communication = {}, .kernels = {}, .starts_ns = {}, .are_kernels_known = analysis.activity().is_known()};
  std::map<std::uint32_t, Kind> kind_of_name;
  std::vector<analyze::Interval> communication;
  for (const analyze::Kernel& kernel : timeline.kernels) {
    if (!kernel.has_times()) continue;
    const auto [known, is_new] = kind_of_name.try_emplace(kernel.name);
    if (is_new) known->second = kind_of(process.string(kernel.name));
    work.starts_ns[static_cast<std::size_t>(known->second)].push_back(kernel.start_ns);
    if (known->second != Kind::kCompute) communication.push_back({kernel.start_ns, kernel.end_ns});
  }
  for (auto& starts : work.starts_ns) std::sort(starts.begin(), starts.end());
  work.communication = analyze::IntervalSet(std::move(communication));
  if (!work.are_kernels_known) return work;
  for (const auto& [device, did] : analysis.activity().devices()) work.kernels = work.kernels.unite(did.kernels);
  work.kernels = work.kernels.subtract(work.communication);
  return work;
}

}  // namespace

std::int64_t minute_of(std::int64_t time_ns) {
  std::int64_t minute = time_ns / kMinuteNs;
  if (time_ns % kMinuteNs < 0) --minute;
  return minute * kMinuteNs;
}

void StepRows::close(std::int64_t end_ns, Tables& tables) {
  if (end_ns <= open_->start_ns) return;
  Sums& sums = tables.at({.what = What::kStep, .minute_ns = minute_of(open_->start_ns)});
  const std::int64_t step_ns = end_ns - open_->start_ns;
  ++sums.count;
  add_known(sums.step_ns, step_ns);
  sums.add_wait(step_ns);
  if (!open_->are_kernels_known) return;
  add_known(sums.collective_ns, open_->collective_ns);
  add_known(sums.kernel_ns, open_->kernel_ns);
  add_known(sums.kernel_count, open_->kernel_count);
  add_known(sums.collective_count, open_->collective_count);
  add_known(sums.peer_count, open_->peer_count);
  sums.add_own_part(step_ns - open_->collective_ns);
}

void StepRows::add(const analyze::ProcessAnalysis& analysis, const trace::Process& process,
                   const analyze::Timeline& timeline, const Part& part, Tables& tables) {
  const auto& steps = analysis.steps();
  if (!steps && !open_) return;
  const Work work = work_of(analysis, process, timeline);
  const auto pass_until = [&](std::int64_t end_ns) {
    if (!open_) return;
    const std::int64_t from_ns = std::max(open_->start_ns, part.time.start_ns);
    open_->are_kernels_known = open_->are_kernels_known && work.are_kernels_known;
    open_->collective_ns += work.communication.covered_ns(from_ns, end_ns);
    open_->kernel_ns += work.kernels.covered_ns(from_ns, end_ns);
    open_->kernel_count += work.count(Kind::kCompute, from_ns, end_ns);
    open_->collective_count += work.count(Kind::kCollective, from_ns, end_ns);
    open_->peer_count += work.count(Kind::kPeer, from_ns, end_ns);
  };
  if (steps) {
    for (const std::int64_t start_ns : steps->starts_ns) {
      if (start_ns < part.time.start_ns || start_ns >= part.time.end_ns) continue;
      // Those that warm up lie before the window, which only the first part with steps can have.
      if (!found_ && start_ns < steps->window.start_ns) continue;
      pass_until(start_ns);
      if (open_) close(start_ns, tables);
      open_ = Step{.start_ns = start_ns};
    }
    found_ = steps->steps;
    // The last one of all may have no end.
    if (part.is_last && open_ && open_->start_ns < steps->window.end_ns) {
      pass_until(steps->window.end_ns);
      close(steps->window.end_ns, tables);
    }
  }
  if (!part.is_last) pass_until(part.time.end_ns);
}

}  // namespace turnpike::report::rollup
