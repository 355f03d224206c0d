// Looks the launches without work up by their times.
#include "analyze/sums/lost_work.h"

#include <algorithm>

namespace turnpike::analyze {
namespace {

auto first_from(const std::vector<Interval>& sorted, std::int64_t start_ns) {
  return std::lower_bound(sorted.begin(), sorted.end(), start_ns,
                          [](const Interval& one, std::int64_t value) { return one.start_ns < value; });
}

}  // namespace

LostWork::LostWork(const Timeline& timeline, std::uint32_t device) {
  for (const std::uint32_t index : timeline.lost_launches) {
    const Call& call = timeline.calls[index];
    if (call.device == device || call.device == trace::kUnknownId) launches_.push_back({call.start_ns, call.end_ns});
  }
  if (launches_.empty()) return;
  for (const Call& call : timeline.calls) {
    if (call.kind == trace::CallKind::kSynchronize && call.has_times()) {
      synchronisations_.push_back({call.start_ns, call.end_ns});
    }
  }
}

std::optional<Interval> LostWork::within(const Interval& gap, std::int64_t after_ns, std::int64_t before_ns) const {
  const auto first = first_from(launches_, after_ns);
  const auto behind = first_from(launches_, std::min(before_ns, gap.end_ns));
  if (first == behind) return std::nullopt;
  const auto waited_ns = end_of_synchronisation_from((behind - 1)->end_ns);
  const Interval found{std::max(gap.start_ns, first->end_ns), std::min(gap.end_ns, waited_ns.value_or(gap.end_ns))};
  return found.start_ns < found.end_ns ? std::optional(found) : std::nullopt;
}

std::optional<std::int64_t> LostWork::end_of_synchronisation_from(std::int64_t start_ns) const {
  const auto found = first_from(synchronisations_, start_ns);
  return found == synchronisations_.end() ? std::nullopt : std::optional(found->end_ns);
}

}  // namespace turnpike::analyze
