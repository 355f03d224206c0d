#include "report/rollup/windows.h"

#include <algorithm>
#include <string_view>

#include "base/step_name.h"

namespace turnpike::report::rollup {

template <typename Record>
void Survey::take_in_time(const Record& record) {
  count();
  most_late_ns_ = std::max(most_late_ns_, lateness_ns(record.start_ns));
  take(record);
}

void Survey::count() {
  if (++count_ > limit_) loader_.reset();
}

std::int64_t Survey::lateness_ns(std::int64_t start_ns) const {
  const bool is_known = start_ns != trace::kUnknownTime && newest_ns_ != std::numeric_limits<std::int64_t>::min();
  return is_known ? newest_ns_ - start_ns : 0;
}

void Survey::on(const trace::CallRecord& record) {
  take_in_time(record);
  if (record.start_ns != trace::kUnknownTime) newest_ns_ = std::max(newest_ns_, record.start_ns);
}

void Survey::on(const trace::RangeRecord& record) {
  count();
  std::int64_t& most_ns = most_late_range_ns_[record.name];
  most_ns = std::max(most_ns, lateness_ns(record.start_ns));
  take(record);
}

std::int64_t Survey::margin_ns(const trace::Process& process, const WindowLimits& limits) const {
  std::int64_t margin_ns = std::max(limits.margin_ns, most_late_ns_);
  // Of ranges only the steps count. One around the whole program comes at its end.
  for (const auto& [name, late_ns] : most_late_range_ns_) {
    if (names_a_step(without_number(process.string(name)))) margin_ns = std::max(margin_ns, late_ns);
  }
  return margin_ns;
}

Windows::Windows(const trace::Process& process, std::int64_t margin_ns, const WindowLimits& limits)
    : rollup_(process), margin_ns_(margin_ns), limit_(limits.records), cut_at_(limits.records) {}

void Windows::on(const trace::CallRecord& record) {
  if (record.start_ns != trace::kUnknownTime) newest_ns_ = std::max(newest_ns_, record.start_ns);
  hold(calls_, record);
  if (held_count_ < cut_at_) return;
  // What comes now is no later than the margin, and what began before the end has begun what it caused.
  const std::int64_t end_ns = newest_ns_ - 2 * margin_ns_;
  const auto has_begun = [&](const trace::CallRecord& call) { return call.start_ns < end_ns; };
  const bool is_long = std::count_if(calls_.begin(), calls_.end(), has_begun) > std::ssize(calls_) / 4;
  cut_at_ = held_count_ + limit_ / 4;
  if (!is_long) return;
  const analyze::Timeline all = timeline();
  if (held_count_ < kMostForSteps * limit_ && !rollup_.has_steps(all)) {
    cut_at_ = 2 * held_count_;
    return;
  }
  cut(all, end_ns, false);
  cut_at_ = std::max(limit_, held_count_ + limit_ / 4);
}

analyze::Timeline Windows::timeline() const {
  analyze::TimelineLoader loader;
  const auto load = [&](const auto& records) {
    for (const auto& record : records) loader.on(record);
  };
  load(devices_);
  load(streams_);
  for (const auto& [thread, record] : threads_) loader.on(record);
  for (const auto& [node, record] : graph_nodes_) loader.on(record);
  load(calls_);
  load(memcpys_);
  load(memsets_);
  load(kernels_);
  load(migrations_);
  load(ranges_);
  return loader.take();
}

void Windows::cut(const analyze::Timeline& timeline, std::int64_t end_ns, bool is_last) {
  rollup_.add(timeline, {.time = {start_ns_, end_ns}, .is_last = is_last});
  start_ns_ = end_ns;
  ++count_;
  drop_before(end_ns - margin_ns_);
}

// What has no times stays until the last window, which it is counted in.
void Windows::drop_before(std::int64_t time_ns) {
  const auto drop = [&](auto& records) {
    std::erase_if(records, [&](const auto& record) {
      return record.start_ns != trace::kUnknownTime && record.end_ns != trace::kUnknownTime &&
             std::max(record.start_ns, record.end_ns) < time_ns;
    });
    return records.size();
  };
  held_count_ = drop(calls_) + drop(memcpys_) + drop(memsets_) + drop(kernels_) + drop(migrations_) + drop(ranges_);
}

std::string Windows::finish(const std::string& run) {
  cut(timeline(), std::numeric_limits<std::int64_t>::max(), true);
  return rollup_.finish(run);
}

}  // namespace turnpike::report::rollup
