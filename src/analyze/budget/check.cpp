// One function for each kind of limit; what a run cannot tell is never within it.
#include "analyze/budget/check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyze/budget/site_pattern.h"
#include "analyze/rules/rules.h"
#include "base/text.h"

namespace turnpike::analyze {
namespace {

constexpr std::size_t kMaxCulprits = 3;
// Means over steps are sums of fractions: 2 is not more than 2.
constexpr double kRounding = 1e-9;

constexpr const char* kNoSteps =
    "no steps were found in this run. Record at least 3, or mark them with torch.cuda.nvtx.range_push(\"step\") and "
    "torch.cuda.nvtx.range_pop(), or limit the whole run under [per_run].";

ValueKind kind_of(Measure measure) {
  switch (measure) {
    case Measure::kCount:
    case Measure::kSyncs:
    case Measure::kPageable:
      return ValueKind::kAmount;
    case Measure::kBytes:
      return ValueKind::kBytes;
    case Measure::kBlocked:
    case Measure::kExposed:
    case Measure::kDuration:
      return ValueKind::kDuration;
  }
  return ValueKind::kAmount;
}

// Of a transfer over the link, the memory on the host's side decides; others have no part in this.
std::optional<double> pageable_count(const Item& item) {
  if (item.direction != Direction::kHostToDevice && item.direction != Direction::kDeviceToHost) return 0;
  const auto& kind = item.direction == Direction::kHostToDevice ? item.src_kind : item.dst_kind;
  if (!kind) return std::nullopt;
  return *kind == "pageable" ? item.figures.count : 0;
}

// nullopt: unknown. What has no part in the measure counts 0.
std::optional<double> value_of(const Item& item, Measure measure) {
  const Figures& figures = item.figures;
  switch (measure) {
    case Measure::kCount:
      return item.is_sync() ? 0 : figures.count;
    case Measure::kSyncs:
      return item.is_sync() ? figures.count : 0;
    case Measure::kPageable:
      return pageable_count(item);
    case Measure::kBytes:
      return figures.bytes;
    case Measure::kBlocked:
      return figures.blocked_ns;
    case Measure::kExposed:
      return item.is_sync() ? 0 : figures.exposed_ns;
    case Measure::kDuration:
      break;
  }
  return std::nullopt;
}

const char* words_for(Measure measure) {
  if (measure == Measure::kPageable) return "which memory of the host took part";
  return measure == Measure::kBlocked ? "how long the CPU was blocked" : "how much of the copying was not overlapped";
}

bool is_within(double measured, double most) {
  return measured <= most + kRounding * std::max(1.0, most);
}

class Check {
 public:
  Check(const Report& report, const Budget& budget) : report_(report), budget_(budget) {
    result_.has_steps = has_whole_steps(report);
    items_of_run_ = items_of(report, Unit::kRun);
    if (result_.has_steps) items_of_step_ = items_of(report, Unit::kStep);
  }

  CheckResult run() {
    for (const Limit& limit : budget_.limits) add(checked(limit));
    if (budget_.bound_by) add(checked_bound());
    check_percent("verdict.max_exposed_transfer_pct", budget_.max_exposed_transfer_pct,
                  report_.verdict.exposed_transfer_pct);
    check_percent("verdict.max_gpu_idle_pct", budget_.max_gpu_idle_pct, report_.verdict.gpu_idle_pct);
    if (budget_.forbidden_findings) add(checked_findings());
    if (budget_.max_saving_pct) add(checked_saving());
    add(checked_losses());
    check_patterns();
    check_rules();
    check_work();
    sort_as_in_file();
    return std::move(result_);
  }

 private:
  void add(LimitResult limit) {
    if (limit.outcome == Outcome::kExceeded) ++result_.exceeded_count;
    if (limit.outcome == Outcome::kUnknown) ++result_.unknown_count;
    result_.limits.push_back(std::move(limit));
  }

  // What stands in the file only by default comes last.
  void sort_as_in_file() {
    const auto place = [](const LimitResult& limit) { return limit.line == 0 ? ~std::uint32_t{0} : limit.line; };
    std::stable_sort(result_.limits.begin(), result_.limits.end(),
                     [&](const LimitResult& a, const LimitResult& b) { return place(a) < place(b); });
  }

  bool is_allowed(const Item& item) const {
    return std::any_of(budget_.allowances.begin(), budget_.allowances.end(), [&](const Allowance& allowance) {
      return (!allowance.direction || allowance.direction == item.direction) && matches_site(allowance.site, item);
    });
  }

  static bool is_meant(const Limit& limit, const Item& item) {
    if (!limit.site.empty() && !matches_site(limit.site, item)) return false;
    if (limit.direction) return item.direction == limit.direction;
    // Filling memory moves nothing: it counts only where it is named.
    return item.direction != Direction::kMemset;
  }

  LimitResult checked(const Limit& limit) const {
    LimitResult result{.name = limit.name, .line = limit.line, .kind = kind_of(limit.measure), .most = limit.most};
    result.is_per_step = limit.unit == Unit::kStep;
    if (result.is_per_step && !result_.has_steps) {
      result.outcome = Outcome::kUnknown;
      result.why = kNoSteps;
    } else if (limit.measure == Measure::kDuration) {
      result.measured = static_cast<double>(result.is_per_step ? report_.steps->typical_ns() : report_.span_ns);
    } else {
      measure(limit, result);
    }
    if (result.measured && !is_within(*result.measured, result.most)) result.outcome = Outcome::kExceeded;
    if (result.outcome != Outcome::kExceeded) result.culprits.clear();
    return result;
  }

  void measure(const Limit& limit, LimitResult& result) const {
    double sum = 0;
    std::size_t unknown = 0;
    std::string unknown_site;
    for (const Item& item : limit.unit == Unit::kStep ? items_of_step_ : items_of_run_) {
      if (!is_meant(limit, item) || is_allowed(item)) continue;
      const auto value = value_of(item, limit.measure);
      if (!value) {
        if (unknown++ == 0) unknown_site = place_of(item);
        continue;
      }
      sum += *value;
      if (*value > 0) result.culprits.push_back({item, *value});
    }
    std::stable_sort(result.culprits.begin(), result.culprits.end(),
                     [](const Culprit& a, const Culprit& b) { return a.share > b.share; });
    if (result.culprits.size() > kMaxCulprits) result.culprits.resize(kMaxCulprits);
    // What is known can be too much already.
    if (unknown == 0 || !is_within(sum, limit.most)) {
      result.measured = sum;
      return;
    }
    result.outcome = Outcome::kUnknown;
    result.why = std::string("the run does not tell ") + words_for(limit.measure) + " at " + unknown_site +
                 (unknown > 1 ? " and " + std::to_string(unknown - 1) + " other places" : "") + ". " +
                 how_to_record_kernels(report_.source) + ", or [[allow]] these places.";
  }

  LimitResult checked_bound() const {
    LimitResult result{.name = "verdict.bound_by", .line = budget_.bound_by->line, .kind = ValueKind::kText};
    const auto& fine = budget_.bound_by->value;
    std::vector<std::string> names;
    for (const Bound bound : fine) names.emplace_back(name_of(bound));
    result.most_text = joined(names, " or ");
    result.why = report_.verdict.why;
    const auto bound = report_.verdict.bound_by;
    if (bound) result.measured_text = name_of(*bound);
    if (!bound) {
      result.outcome = Outcome::kUnknown;
      if (result.why.empty()) {
        result.why = "what limits this run is unknown. " + how_to_record_kernels(report_.source) + ".";
      }
    } else if (std::find(fine.begin(), fine.end(), *bound) == fine.end()) {
      result.outcome = Outcome::kExceeded;
    } else {
      result.why.clear();
    }
    return result;
  }

  void check_percent(const char* name, const std::optional<Setting<double>>& rule, std::optional<double> measured) {
    if (!rule) return;
    LimitResult result{.name = name, .line = rule->line, .kind = ValueKind::kPercent, .most = rule->value};
    result.measured = measured && std::isfinite(*measured) ? measured : std::nullopt;
    if (!result.measured) {
      result.outcome = Outcome::kUnknown;
      result.why =
          "the run does not tell. " + how_to_record_kernels(report_.source) + ", on a program that uses the GPU.";
    } else if (!is_within(*result.measured, rule->value)) {
      result.outcome = Outcome::kExceeded;
    }
    add(std::move(result));
  }

  bool is_allowed(const Finding& finding) const {
    return std::any_of(budget_.allowances.begin(), budget_.allowances.end(),
                       [&](const Allowance& allowance) { return matches_site(allowance.site, finding.site); });
  }

  // The place of a finding, with its file and line where the run has a row for it.
  Item item_of(const Finding& finding) const {
    for (const Item& item : items_of_run_) {
      if (item.site == finding.site) return item;
    }
    Item item;
    item.site = finding.site;
    return item;
  }

  LimitResult checked_findings() const {
    const auto& patterns = budget_.forbidden_findings->value;
    LimitResult result{.name = "findings.forbid", .line = budget_.forbidden_findings->line, .kind = ValueKind::kText};
    result.most_text = "no " + joined(patterns, ", ");
    std::vector<std::string> found;
    for (const Finding& finding : report_.findings) {
      const bool is_forbidden = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
        return matches_glob(pattern, finding.rule);
      });
      if (!is_forbidden || is_allowed(finding)) continue;
      found.push_back(finding.site.empty() ? finding.rule : finding.rule + " at " + finding.site);
      if (!finding.site.empty() && result.culprits.size() < kMaxCulprits) {
        result.culprits.push_back({item_of(finding), 1});
      }
    }
    result.measured_text = found.empty() ? "none" : joined(found, ", ");
    if (!found.empty()) result.outcome = Outcome::kExceeded;
    return result;
  }

  LimitResult checked_saving() const {
    LimitResult result{.name = "findings.max_saving_pct",
                       .line = budget_.max_saving_pct->line,
                       .kind = ValueKind::kPercent,
                       .most = budget_.max_saving_pct->value,
                       .measured = 0};
    for (const Finding& finding : report_.findings) {
      // A finding that promises no time is about something else.
      const double saving = finding.saving_pct.value_or(0);
      if (is_allowed(finding)) continue;
      result.measured = std::max(*result.measured, saving);
      if (!is_within(saving, result.most)) result.culprits.push_back({item_of(finding), saving});
    }
    std::stable_sort(result.culprits.begin(), result.culprits.end(),
                     [](const Culprit& a, const Culprit& b) { return a.share > b.share; });
    if (!result.culprits.empty()) result.outcome = Outcome::kExceeded;
    if (result.culprits.size() > kMaxCulprits) result.culprits.resize(kMaxCulprits);
    return result;
  }

  LimitResult checked_losses() const {
    LimitResult result{.name = "losses.allow", .line = budget_.losses_line, .kind = ValueKind::kText};
    const auto& fine = budget_.allowed_losses;
    result.most_text = budget_.are_losses_allowed ? "any" : fine.empty() ? "none" : "only " + joined(fine, ", ");
    std::vector<std::string> lost;
    for (const auto& [name, count] : report_.losses) {
      const bool is_fine = budget_.are_losses_allowed || std::find(fine.begin(), fine.end(), name) != fine.end();
      lost.push_back(std::to_string(count) + " x " + name);
      if (!is_fine) result.outcome = Outcome::kExceeded;
    }
    if (!report_.source.unusable.empty()) {
      lost.push_back("processes that could not be recorded");
      if (!budget_.are_losses_allowed) result.outcome = Outcome::kExceeded;
    }
    result.measured_text = lost.empty() ? "none" : joined(lost, ", ");
    if (result.outcome == Outcome::kExceeded) {
      result.why =
          "what was lost may have exceeded a limit unseen. `turnpike report` says what each loss means; accept "
          "some with allow = [\"NAME\"] under [losses].";
    }
    return result;
  }

  // A run without anything of a GPU keeps to every limit, and says nothing of the program.
  void check_work() {
    if (used_gpu(report_)) return;
    std::string why =
        "the run holds nothing of a GPU, so it keeps to any limit. Did the program use one while it was "
        "recorded?";
    if (!report_.source.unusable.empty()) why = "nothing was recorded: " + report_.source.unusable.front();
    add({.name = "recording",
         .outcome = Outcome::kUnknown,
         .kind = ValueKind::kText,
         .most_text = "something",
         .measured_text = "nothing",
         .why = why});
  }

  // A place or a rule of the budget that is not there: then what it says can never come true.
  void miss(const std::string& name, std::uint32_t line, bool is_optional, const std::string& what) {
    if (is_optional) return result_.notes.push_back("optional: " + what + ".");
    add({.name = name,
         .line = line,
         .outcome = Outcome::kUnknown,
         .kind = ValueKind::kText,
         .most_text = "something",
         .measured_text = "nothing",
         .why = what + ". Has the line moved, or the name? Where that is fine, add optional = true."});
  }

  void check_patterns() {
    const auto check_site = [&](const std::string& name, const std::string& site, std::uint32_t line,
                                bool is_optional) {
      const bool is_there = std::any_of(items_of_run_.begin(), items_of_run_.end(),
                                        [&](const Item& item) { return matches_site(site, item); });
      if (!is_there) miss(name, line, is_optional, "nothing in this run is at " + site);
    };
    for (const Allowance& allowance : budget_.allowances) {
      check_site("allow (" + allowance.site + "): site", allowance.site, allowance.line, allowance.is_optional);
    }
    std::string last;
    for (const Limit& limit : budget_.limits) {
      if (!limit.site.empty() && limit.site != last) {
        check_site(limit.name.substr(0, limit.name.rfind(": ")) + ": site", limit.site, limit.line, limit.is_optional);
      }
      last = limit.site;
    }
  }

  void check_rules() {
    if (!budget_.forbidden_findings) return;
    const auto rules = all_rules();
    for (const std::string& pattern : budget_.forbidden_findings->value) {
      const bool is_known =
          std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return matches_glob(pattern, rule.name); });
      if (is_known) continue;
      miss("findings.forbid: " + pattern, budget_.forbidden_findings->line, budget_.are_findings_optional,
           "no rule of this version is called " + pattern);
    }
  }

  const Report& report_;
  const Budget& budget_;
  std::vector<Item> items_of_run_;
  std::vector<Item> items_of_step_;
  CheckResult result_;
};

}  // namespace

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kWithin:
      return "ok";
    case Outcome::kExceeded:
      return "exceeded";
    case Outcome::kUnknown:
      return "unknown";
  }
  return "unknown";
}

CheckResult check(const Report& report, const Budget& budget) {
  return Check(report, budget).run();
}

}  // namespace turnpike::analyze
