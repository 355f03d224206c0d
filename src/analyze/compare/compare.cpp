// Brings both runs to one unit, aligns their places and findings, and ranks what changed.
#include "analyze/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analyze/compare/site_match.h"

namespace turnpike::analyze {
namespace {

// Counts and bytes of equal programs are equal but for steps that differ; times never are.
constexpr double kSameAmount = 0.01;
constexpr double kSameTime = 0.10;
// A change of less than this share of a step is not worth a row, however large it is for the place.
constexpr double kSmallShareOfStep = 0.005;

bool is_about(double a, double b, double tolerance) {
  return std::fabs(a - b) <= tolerance * std::max(std::fabs(a), std::fabs(b));
}

// Two times of one kind: a step on the host and one on the devices cannot be compared.
bool compares_device_steps(const Report& before, const Report& after) {
  const bool are_known = before.steps->device_median_ns && after.steps->device_median_ns;
  return are_known && (before.steps->is_host_ahead() || after.steps->is_host_ahead());
}

std::int64_t duration_ns(const Report& report, const Comparison& comparison) {
  if (comparison.unit == Unit::kRun) return report.span_ns;
  return comparison.is_device_step ? *report.steps->device_median_ns : report.steps->median_ns;
}

Side side_of(const Report& report, const std::vector<Item>& items, const Comparison& comparison) {
  Side side;
  side.duration_ns = static_cast<double>(duration_ns(report, comparison));
  Figures all;
  for (const Item& item : items) {
    (item.is_sync() ? side.syncs : side.totals[static_cast<std::size_t>(*item.direction)]).add(item.figures);
    all.add(item.figures);
  }
  side.blocked_ns = all.blocked_ns;
  return side;
}

bool has_same_kinds(const Item& a, const Item& b) {
  return a.src_kind == b.src_kind && a.dst_kind == b.dst_kind;
}

bool is_cost_same(const Figures& a, const Figures& b, double duration_ns) {
  const auto a_ns = cost_ns(a);
  const auto b_ns = cost_ns(b);
  if (!a_ns || !b_ns) return a_ns.has_value() == b_ns.has_value();
  return is_about(*a_ns, *b_ns, kSameTime) || std::fabs(*a_ns - *b_ns) <= kSmallShareOfStep * duration_ns;
}

ChangeKind kind_of(const ItemChange& change, double duration_ns) {
  if (!change.before) return ChangeKind::kGained;
  if (!change.after) return ChangeKind::kLost;
  const Figures& before = change.before->figures;
  const Figures& after = change.after->figures;
  const bool is_same = is_about(before.count, after.count, kSameAmount) &&
                       is_about(before.bytes, after.bytes, kSameAmount) &&
                       has_same_kinds(*change.before, *change.after) && is_cost_same(before, after, duration_ns);
  return is_same ? ChangeKind::kSame : ChangeKind::kChanged;
}

// By what a change is worth: same things last, then time, bytes, count.
bool ranks_before(const ItemChange& a, const ItemChange& b) {
  const bool is_a_same = a.kind == ChangeKind::kSame;
  const bool is_b_same = b.kind == ChangeKind::kSame;
  if (is_a_same != is_b_same) return is_b_same;
  const auto weight = [](const ItemChange& change) {
    const Figures none;
    const Figures& before = change.before ? change.before->figures : none;
    const Figures& after = change.after ? change.after->figures : none;
    return std::tuple(std::fabs(cost_change_ns(change).value_or(0)), std::fabs(after.bytes - before.bytes),
                      std::fabs(after.count - before.count));
  };
  const auto a_weight = weight(a);
  const auto b_weight = weight(b);
  if (a_weight != b_weight) return a_weight > b_weight;
  return place_of(a.any()) < place_of(b.any());
}

std::vector<ItemChange> changes_of(const std::vector<Item>& before, const std::vector<Item>& after,
                                   double duration_ns) {
  std::vector<ItemChange> changes;
  for (const Match& match : match_items(before, after)) {
    ItemChange change;
    if (match.before) change.before = before[*match.before];
    if (match.after) change.after = after[*match.after];
    change.kind = kind_of(change, duration_ns);
    changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), ranks_before);
  return changes;
}

// Findings are of one rule at one file, whatever the line: in their order.
std::vector<FindingChange> changes_of(const std::vector<Finding>& before, const std::vector<Finding>& after) {
  const auto key_of = [](const Finding& finding) {
    return std::pair(finding.rule, finding.site.substr(0, finding.site.rfind(':')));
  };
  std::map<std::pair<std::string, std::string>, std::vector<const Finding*>> left;
  for (const Finding& finding : before) left[key_of(finding)].push_back(&finding);
  std::vector<FindingChange> changes;
  for (const Finding& finding : after) {
    auto& candidates = left[key_of(finding)];
    FindingChange change{.before = {}, .after = finding};
    if (!candidates.empty()) {
      change.before = *candidates.front();
      candidates.erase(candidates.begin());
    }
    changes.push_back(std::move(change));
  }
  for (const Finding& finding : before) {
    const auto& unsolved = left[key_of(finding)];
    if (std::find(unsolved.begin(), unsolved.end(), &finding) != unsolved.end()) {
      changes.push_back({.before = finding, .after = {}});
    }
  }
  return changes;
}

}  // namespace

const char* name_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kGained:
      return "gained";
    case ChangeKind::kLost:
      return "lost";
    case ChangeKind::kChanged:
      return "changed";
    case ChangeKind::kSame:
      return "same";
  }
  return "unknown";
}

bool ItemChange::has_moved() const {
  return before && after && place_of(*before) != place_of(*after);
}

std::optional<double> cost_ns(const Figures& figures) {
  if (!figures.blocked_ns && !figures.exposed_ns) return std::nullopt;
  return figures.blocked_ns.value_or(0) + figures.exposed_ns.value_or(0);
}

std::optional<double> cost_change_ns(const ItemChange& change) {
  const auto before_ns = change.before ? cost_ns(change.before->figures) : std::optional(0.0);
  const auto after_ns = change.after ? cost_ns(change.after->figures) : std::optional(0.0);
  if (!before_ns || !after_ns) return std::nullopt;
  return *after_ns - *before_ns;
}

Comparison compare(const Report& before, const Report& after) {
  Comparison comparison;
  comparison.unit = has_whole_steps(before) && has_whole_steps(after) ? Unit::kStep : Unit::kRun;
  comparison.is_device_step = comparison.unit == Unit::kStep && compares_device_steps(before, after);
  const std::vector<Item> items_before = items_of(before, comparison.unit);
  const std::vector<Item> items_after = items_of(after, comparison.unit);
  comparison.before = side_of(before, items_before, comparison);
  comparison.after = side_of(after, items_after, comparison);
  const double shorter_ns =
      std::min(comparison.before.duration_ns.value_or(0), comparison.after.duration_ns.value_or(0));
  comparison.items = changes_of(items_before, items_after, shorter_ns);
  comparison.findings = changes_of(before.findings, after.findings);
  comparison.doubts = doubts_about(before, after);
  return comparison;
}

}  // namespace turnpike::analyze
