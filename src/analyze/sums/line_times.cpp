#include "analyze/sums/line_times.h"

#include <algorithm>

#include "analyze/sums/site_table.h"

namespace turnpike::analyze {

void LineTable::Times::add_wait(const Interval& wait, std::optional<std::int64_t> idle_ns) {
  waits.push_back(wait);
  add_known(gpu_idle_ns, idle_ns);
}

LineTable::Times* LineTable::of(const Where& where) {
  if (!where.file || !where.line) return nullptr;
  return &of_process_[{*where.file, *where.line}];
}

void LineTable::finish_process() {
  for (auto& [key, times] : of_process_) {
    if (times.waits.empty() && times.copies.empty()) continue;
    const IntervalSet waits(std::move(times.waits));
    const IntervalSet copies(std::move(times.copies));
    const LineTime found{.file = key.first,
                         .line = key.second,
                         .time_ns = waits.unite(copies).total_ns(),
                         .waits_ns = waits.total_ns(),
                         .copies_ns = copies.total_ns(),
                         .gpu_idle_ns = times.gpu_idle_ns};
    LineTime& known = lines_.try_emplace(key, found).first->second;
    if (found.time_ns > known.time_ns) known = found;
  }
  of_process_.clear();
}

std::vector<LineTime> LineTable::take_ranked() {
  std::vector<LineTime> ranked;
  for (auto& [key, line] : lines_) ranked.push_back(std::move(line));
  lines_.clear();
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const LineTime& a, const LineTime& b) { return a.time_ns > b.time_ns; });
  return ranked;
}

}  // namespace turnpike::analyze
