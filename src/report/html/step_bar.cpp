#include "report/html/step_bar.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/html/escape.h"
#include "report/html/patterns.h"

namespace turnpike::report::html {
namespace {

struct Part {
  const char* name;
  double share_pct;
  const char* style;
  const char* fill;
};

std::vector<Part> parts_of(const analyze::Verdict& verdict) {
  std::vector<Part> parts;
  if (!verdict.gpu_busy_pct) return parts;
  parts.push_back({"GPU computes", *verdict.gpu_busy_pct, "p-kernel", "#4470b3"});
  parts.push_back({"only copies", verdict.exposed_transfer_pct.value_or(0), "p-copy", "#1e8569"});
  if (verdict.idle) {
    const analyze::IdleShares& idle = *verdict.idle;
    parts.push_back({"idle: copies", idle.copies_pct, "p-wait", wait_fill(Class::kIdleCopy)});
    parts.push_back({"idle: synchronisations", idle.syncs_pct, "p-wait", wait_fill(Class::kIdleSync)});
    parts.push_back({"idle: allocations", idle.allocations_pct, "p-wait", wait_fill(Class::kIdleAllocation)});
    parts.push_back({"idle: next batch", idle.input_pct, "p-wait", wait_fill(Class::kIdleInput)});
    parts.push_back({"idle: CPU issues work", idle.launch_pct, "p-wait", wait_fill(Class::kIdleLaunch)});
    parts.push_back({"idle: other work on the CPU", idle.quiet_pct, "p-wait", wait_fill(Class::kIdleUnknown)});
    parts.push_back(
        {"idle: between kernels", idle.between_kernels_pct, "p-wait", wait_fill(Class::kIdleBetweenKernels)});
    parts.push_back({"idle: another GPU", idle.other_devices_pct, "p-wait", wait_fill(Class::kIdleOtherDevice)});
    parts.push_back({"idle: unrecorded work", idle.unrecorded_pct, "p-wait", wait_fill(Class::kIdleUnrecorded)});
  } else {
    parts.push_back({"idle", verdict.gpu_idle_pct.value_or(0), "p-wait", wait_fill(Class::kIdleCopy)});
  }
  constexpr double kVisiblePct = 0.05;
  std::erase_if(parts, [](const Part& part) { return part.share_pct < kVisiblePct; });
  return parts;
}

}  // namespace

std::string bar_of_step(const analyze::Report& report, const std::string& what, double width_pct) {
  const auto parts = parts_of(report.verdict);
  if (parts.empty()) return "";
  std::string words;
  std::string bar;
  double from_pct = 0;
  for (const Part& part : parts) {
    const std::string text = fmt::format("{} {}", part.name, percent_text(part.share_pct));
    words += (words.empty() ? "" : ", ") + escaped(text);
    const double part_pct = part.share_pct * width_pct / 100;
    fmt::format_to(std::back_inserter(bar),
                   "<rect class=\"{}\" fill=\"{}\" x=\"{:.2f}%\" y=\"0\" width=\"{:.2f}%\" height=\"28\"/>", part.style,
                   part.fill, from_pct, part_pct);
    // Parts of the same pattern would otherwise be one.
    if (from_pct > 0) {
      fmt::format_to(std::back_inserter(bar),
                     "<rect class=\"p-cut\" fill=\"#ffffff\" x=\"{:.2f}%\" y=\"0\" width=\"2\" height=\"28\"/>",
                     from_pct);
    }
    constexpr double kPctOfLetter = 0.75;
    if (part_pct > kPctOfLetter * static_cast<double>(text.size()) + 2) {
      fmt::format_to(
          std::back_inserter(bar), "<text class=\"{}\" x=\"{:.2f}%\" y=\"19\" text-anchor=\"middle\">{}</text>",
          part.style == std::string_view("p-wait") ? "p-plate" : "p-on", from_pct + part_pct / 2, escaped(text));
    }
    from_pct += part_pct;
  }
  return fmt::format(
      "<div class=\"bar-of-step\"><svg class=\"bar\" width=\"100%\" height=\"28\" role=\"img\" aria-label=\"{}: {}\">{}"
      "</svg>\n<p class=\"hint\">{}: {}.</p></div>\n",
      what, words, bar, what, words);
}

}  // namespace turnpike::report::html
