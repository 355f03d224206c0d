#include "report/text/diff_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "report/text/item_text.h"
#include "report/text/saving_words.h"
#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

using analyze::ChangeKind;
using analyze::Comparison;
using analyze::Figures;
using analyze::FindingChange;
using analyze::Item;
using analyze::ItemChange;

constexpr const char* kArrow = " -> ";

// "2 x NVIDIA H100", and each model once.
std::string devices_text(const std::vector<analyze::Device>& devices) {
  std::vector<std::pair<std::string, std::size_t>> models;
  for (const analyze::Device& device : devices) {
    const std::string name = device.name.empty() ? "unknown model" : cleaned(device.name);
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& model) { return model.first == name; });
    if (found != models.end()) {
      ++found->second;
    } else {
      models.emplace_back(name, 1);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : models) parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string change_text(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return kUnknownText;
  if (*before == *after) return "=";
  if (*before <= 0) return "new";
  const double percent = 100 * (*after - *before) / *before;
  if (std::fabs(percent) < 0.5) return "=";
  return std::fabs(percent) < 1e5 ? fmt::format("{:+.0f} %", percent) : "> +99999 %";
}

const char* bound_text(std::optional<analyze::Bound> bound) {
  return bound ? analyze::name_of(*bound) : kUnknownText;
}

std::string pair_text(const std::string& before, const std::string& after) {
  return before == after ? after : before + kArrow + after;
}

std::string run_text(const analyze::Report& report) {
  std::vector<std::string> parts{cleaned(joined(report.source.paths, ", "))};
  if (report.steps) parts.push_back(fmt::format("{} steps", count_text(report.steps->count)));
  if (!report.steps) parts.push_back("no steps found");
  parts.push_back(duration_text(report.span_ns));
  if (!report.source.devices.empty()) parts.push_back(devices_text(report.source.devices));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string where_text(const ItemChange& change) {
  std::string now = place_text(change.any());
  if (!change.has_moved()) return now;
  const std::string before = place_text(*change.before);
  const auto colon = now.rfind(':');
  // In the same file the line alone says it.
  const bool is_same_file = colon != std::string::npos && before.substr(0, before.rfind(':')) == now.substr(0, colon);
  return before + kArrow + (is_same_file ? now.substr(colon) : now);
}

std::string cost_text(const std::optional<Item>& item) {
  return item ? time_text(analyze::cost_ns(item->figures)) : "-";
}

std::string side_text(const std::optional<Item>& item, std::string (*text)(double), double Figures::* figure) {
  return item ? text(item->figures.*figure) : "-";
}

std::string signed_time(std::optional<double> change_ns) {
  if (!change_ns) return kUnknownText;
  return (*change_ns > 0 ? "+" : "") + time_text(change_ns);
}

std::string same_text(const Comparison& comparison) {
  std::size_t same = 0;
  std::size_t moved = 0;
  for (const ItemChange& change : comparison.items) {
    if (change.kind != ChangeKind::kSame) continue;
    ++same;
    if (change.has_moved()) ++moved;
  }
  if (same == 0) return "";
  std::string text = fmt::format("{} place{} as before", same, same == 1 ? " is" : "s are");
  if (moved > 0 && moved < same) text += fmt::format(", {} of them on another line", moved);
  if (moved == same) text += same == 1 ? ", on another line" : ", on other lines";
  return text + ".";
}

std::string finding_text(const FindingChange& change, const analyze::Report& before, const analyze::Report& after) {
  const analyze::Finding& finding = change.any();
  const std::string where = finding.site.empty() ? "" : " at " + finding.site;
  const std::string what = fmt::format("{}{} ({})", finding.title, where, finding.rule);
  const std::string gain = saving_text(finding, (change.after ? after : before).steps.has_value());
  if (!change.after) return fmt::format("{}; {}{}", what, saving_of(finding) ? "predicted: " : "", gain);
  if (!change.before) return fmt::format("{}; {}", what, gain);
  return fmt::format("{}; {}", what, pair_text(saving_text(*change.before, before.steps.has_value()), gain));
}

}  // namespace turnpike::report
