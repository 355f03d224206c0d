// Sums by numbers first, then by names.
#include "analyze/sums/idle_table.h"

#include <algorithm>
#include <array>
#include <utility>

namespace turnpike::analyze {
namespace {

// Of one device, by cause, then by place; the first row of a cause is of no known place.
using Sums = std::array<std::vector<IdleSite>, kIdleCauses.size()>;

IdleSite& row_of(Sums& sums, const IdleInterval& interval) {
  std::vector<IdleSite>& rows = sums[static_cast<std::size_t>(interval.cause)];
  const std::size_t row = interval.place == kNone ? 0 : interval.place + std::size_t{1};
  if (row >= rows.size()) rows.resize(row + 1);
  return rows[row];
}

void add_row(IdleSite& row, const IdleSite& more) {
  row.count += more.count;
  row.time_ns += more.time_ns;
  row.in_steps_count += more.in_steps_count;
  row.in_steps_ns += more.in_steps_ns;
}

}  // namespace

void add_stretch(IdleSite& row, const Interval& time, const IntervalSet& steps) {
  ++row.count;
  row.time_ns += time.end_ns - time.start_ns;
  const std::int64_t in_steps_ns = steps.covered_ns(time.start_ns, time.end_ns);
  if (in_steps_ns <= 0) return;
  ++row.in_steps_count;
  row.in_steps_ns += in_steps_ns;
}

void IdleTable::add(IdleTimes& idle, const IntervalSet& steps) {
  for (const std::uint32_t device : idle.devices()) {
    Sums sums;
    for (const IdleInterval& interval : idle.of(device)) {
      add_stretch(row_of(sums, interval), interval.time, steps);
    }
    for (const IdleCause cause : kIdleCauses) {
      const std::vector<IdleSite>& rows = sums[static_cast<std::size_t>(cause)];
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].count == 0) continue;
        const Where where = i == 0 ? Where{} : Where(idle.places()[i - 1]);
        IdleSite like{where};
        like.device = device;
        like.cause = cause;
        add_row(rows_.try_emplace({device, cause, where}, std::move(like)).first->second, rows[i]);
      }
    }
  }
}

std::vector<IdleSite> IdleTable::take_ranked() {
  std::vector<IdleSite> ranked;
  for (auto& [key, row] : rows_) ranked.push_back(std::move(row));
  rows_.clear();
  std::stable_sort(ranked.begin(), ranked.end(), [](const IdleSite& a, const IdleSite& b) {
    return std::tie(a.in_steps_ns, a.time_ns) > std::tie(b.in_steps_ns, b.time_ns);
  });
  return ranked;
}

}  // namespace turnpike::analyze
