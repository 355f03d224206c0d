// The median is that of the newest steps before the judged one.
#include "record/collect/step_watch.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace turnpike::record {
namespace {

constexpr std::size_t kNewest = 101;
// Below, a median says nothing, and the steps that warm up are among them.
constexpr std::uint64_t kFirstJudged = 10;
constexpr std::uint64_t kFewRanges = 3;
constexpr std::size_t kMostNames = 16;

double ms(std::int64_t duration_ns) {
  return static_cast<double>(duration_ns) / 1e6;
}

bool starts_graph(const trace::CallRecord& call) {
  if (call.autograd_role != trace::AutogradRole::kForward) return false;
  const bool is_launch = call.kind == trace::CallKind::kLaunch || call.kind == trace::CallKind::kGraphLaunch;
  return is_launch || (call.kind == trace::CallKind::kCopy && call.autograd_sequence > 0);
}

}  // namespace

std::int64_t StepWatch::Steps::median_ns() const {
  std::vector<std::int64_t> sorted(newest_ns.begin(), newest_ns.end());
  if (sorted.empty()) return 0;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void StepWatch::Steps::add(std::int64_t duration_ns) {
  ++count;
  newest_ns.push_back(duration_ns);
  if (newest_ns.size() > kNewest) newest_ns.pop_front();
}

void StepWatch::judge(std::string_view what, const Steps& steps, std::int64_t duration_ns) {
  const std::int64_t median_ns = steps.median_ns();
  const bool is_judged = steps.count >= kFirstJudged || trigger_.longer_than.count() > 0;
  const bool is_slow = trigger_.medians > 0
                           ? static_cast<double>(duration_ns) > trigger_.medians * static_cast<double>(median_ns)
                           : duration_ns > trigger_.longer_than.count();
  if (is_judged && is_slow && duration_ns > slowest_ns_) {
    const std::string name(what.substr(0, 80));
    char text[256];
    if (steps.count > 0) {
      std::snprintf(text, sizeof text, "a step (%s) took %.1f ms, the median of the %zu before it is %.1f ms",
                    name.c_str(), ms(duration_ns), steps.newest_ns.size(), ms(median_ns));
    } else {
      std::snprintf(text, sizeof text, "the first step (%s) took %.1f ms", name.c_str(), ms(duration_ns));
    }
    reason_ = std::string(text) + " (" + trigger_.text + ")";
    slowest_ns_ = duration_ns;
  }
}

void StepWatch::note_step_range(std::string_view name, const trace::RangeRecord& range) {
  if (!trigger_.is_set() || range.end_ns <= range.start_ns) return;
  std::string key(name);
  if (!by_name_.contains(key) && by_name_.size() >= kMostNames) return;
  Steps& steps = by_name_[key];
  has_ranges_ = has_ranges_ || steps.count + 1 >= kFewRanges;
  // Of ranges within each other the outermost: its steps are the longest.
  const std::int64_t median_ns = steps.median_ns();
  const bool is_outermost = std::none_of(by_name_.begin(), by_name_.end(), [&](const auto& other) {
    return other.second.count >= kFewRanges && other.second.median_ns() > std::max(median_ns, std::int64_t{1});
  });
  const std::int64_t duration_ns = range.end_ns - range.start_ns;
  if (is_outermost) judge(name, steps, duration_ns);
  steps.add(duration_ns);
}

void StepWatch::note_call(const trace::CallRecord& call) {
  if (!trigger_.is_set() || has_ranges_) return;
  if (call.autograd_role == trace::AutogradRole::kBackward) {
    if (is_in_pass_) return;
    if (pass_start_ns_ != 0) {
      const std::int64_t duration_ns = call.start_ns - pass_start_ns_;
      judge("backward pass to backward pass", passes_, duration_ns);
      passes_.add(duration_ns);
    }
    pass_start_ns_ = call.start_ns;
    is_in_pass_ = true;
  } else if (starts_graph(call)) {
    is_in_pass_ = false;
  }
}

std::optional<std::string> StepWatch::take_reason() {
  if (slowest_ns_ == 0) return std::nullopt;
  slowest_ns_ = 0;
  return std::move(reason_);
}

}  // namespace turnpike::record
