// The comparison of two runs in a few sentences.
#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/text/bound_words.h"
#include "report/text/diff_text.h"
#include "report/text/item_text.h"

namespace turnpike::report {
namespace {

using analyze::Comparison;
using analyze::Item;
using analyze::ItemChange;

// So many changed places are named.
constexpr std::size_t kNamed = 3;
// Two recordings of one program differ by this much.
constexpr double kNoisePct = 2.0;

double percent_change(double before, double after) {
  return before == 0 ? 0 : 100 * (after - before) / before;
}

std::string duration_sentence(const Comparison& comparison) {
  const char* of_step = comparison.is_device_step ? "The CPU runs ahead; on the GPU a step takes" : "A step takes";
  const char* what = comparison.unit == analyze::Unit::kStep ? of_step : "The run takes";
  const auto before_ns = comparison.before.duration_ns;
  const auto after_ns = comparison.after.duration_ns;
  if (!before_ns || !after_ns) return "";
  const double change = percent_change(*before_ns, *after_ns);
  if (std::fabs(change) < kNoisePct) {
    return fmt::format("{} about as long as before: {}, before {}.", what, time_text(after_ns), time_text(before_ns));
  }
  return fmt::format("{} {} instead of {} ({:+.0f} %).", what, time_text(after_ns), time_text(before_ns), change);
}

const char* per(const Comparison& comparison) {
  return comparison.unit == analyze::Unit::kStep ? " per step" : "";
}

std::string syncs_clause(const Comparison& comparison) {
  const double change = comparison.after.syncs.count - comparison.before.syncs.count;
  // A hundredth of a synchronisation is one in a hundred steps.
  if (std::fabs(change) < 0.01) return "";
  const double amount = std::fabs(change);
  return fmt::format("{} {} synchronisation{}{}", amount_text(amount), change < 0 ? "fewer" : "more",
                     amount == 1 ? "" : "s", per(comparison));
}

bool is_blocking(const Item& item) {
  return item.figures.blocked_ns.value_or(0) > 0;
}

std::string changed_clause(const ItemChange& change, const Comparison& comparison) {
  const Item& before = *change.before;
  const Item& after = *change.after;
  const std::string what = fmt::format("the {} at {}", noun_of(after), place_text(after));
  if (is_blocking(before) && after.figures.blocked_ns == 0.0) return what + " no longer blocks the CPU";
  if (before.figures.blocked_ns == 0.0 && is_blocking(after)) {
    return fmt::format("{} now blocks the CPU for {}{}", what, time_text(after.figures.blocked_ns), per(comparison));
  }
  const auto cost_change = cost_change_ns(change);
  if (cost_change && std::fabs(*cost_change) > 0) {
    return fmt::format("{} costs {} {}{}", what, time_text(std::fabs(*cost_change)), *cost_change < 0 ? "less" : "more",
                       per(comparison));
  }
  const double bytes = after.figures.bytes - before.figures.bytes;
  if (bytes != 0) {
    return fmt::format("{} moves {} {}{}", what, bytes_text(std::fabs(bytes)), bytes < 0 ? "less" : "more",
                       per(comparison));
  }
  return what + " changed";
}

std::string clause_of(const ItemChange& change, const Comparison& comparison) {
  if (!change.before) return fmt::format("a new {} at {}", noun_of(*change.after), place_text(*change.after));
  if (!change.after) return fmt::format("the {} at {} is gone", noun_of(*change.before), place_text(*change.before));
  return changed_clause(change, comparison);
}

std::string changes_sentence(const Comparison& comparison) {
  std::string text = syncs_clause(comparison);
  std::size_t named = 0;
  for (const ItemChange& change : comparison.items) {
    if (change.kind == analyze::ChangeKind::kSame || named == kNamed) break;
    if (change.any().is_sync()) continue;
    text += (text.empty() ? "" : "; ") + clause_of(change, comparison);
    ++named;
  }
  if (text.empty()) return "No transfer changed.";
  if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
}

std::string bound_sentence(std::optional<analyze::Bound> before, std::optional<analyze::Bound> after) {
  if (!before && !after) return "What limits the runs is unknown.";
  if (before == after) return fmt::format("Still {}.", words_of_bound(after));
  return fmt::format("Now {} (before: {}).", words_of_bound(after), words_of_bound(before));
}

}  // namespace

std::vector<std::string> summary_sentences(const analyze::Comparison& comparison, const analyze::Report& before,
                                           const analyze::Report& after) {
  const bool is_before_empty = analyze::is_without_work(before);
  const bool is_after_empty = analyze::is_without_work(after);
  if (is_before_empty || is_after_empty) {
    return {fmt::format(
        "{} no work of CUDA, no transfer, no synchronisation and no kernel, so there is nothing to compare.",
        is_before_empty && is_after_empty ? "Both runs hold"
        : is_before_empty                 ? "The run before holds"
                                          : "The run after holds")};
  }
  std::vector<std::string> sentences{duration_sentence(comparison), changes_sentence(comparison),
                                     bound_sentence(before.verdict.bound_by, after.verdict.bound_by)};
  std::erase(sentences, "");
  return sentences;
}

std::string summary_of(const analyze::Comparison& comparison, const analyze::Report& before,
                       const analyze::Report& after) {
  return joined(summary_sentences(comparison, before, after), " ");
}

}  // namespace turnpike::report
