// What crosses in a step, in one line.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/units.h"
#include "report/text/incomplete.h"
#include "report/text/screen_parts.h"

namespace turnpike::report {
namespace {

using analyze::Direction;

struct Way {
  Direction direction;
  const char* words;
};
// One line, unless copies between GPUs come along.
constexpr std::size_t kTransfersLines = 2;
// What does not leave a GPU or the CPU is in --transfers.
constexpr std::array kWays = {Way{Direction::kHostToDevice, "up"}, Way{Direction::kDeviceToHost, "down"},
                              Way{Direction::kPeerToPeer, "between GPUs"}};

std::string text_of(const Way& way, double bytes, double count, const std::string& remark) {
  return fmt::format("{} {} in {}{}", way.words, bytes_text(bytes), amount_text(count), remark);
}

// A usual step, with the medians of the report.
std::vector<std::string> ways_of_step(const analyze::Report& report) {
  std::vector<std::string> parts;
  for (const Way& way : kWays) {
    const auto index = static_cast<std::size_t>(way.direction);
    const auto& medians = *report.steps->medians;
    if (medians.counts[index] > 0) parts.push_back(text_of(way, medians.bytes[index], medians.counts[index], ""));
  }
  return parts;
}

std::vector<std::string> ways_of_run(const analyze::Report& report) {
  std::vector<std::string> parts;
  for (const Way& way : kWays) {
    const analyze::Total& total = report.totals[static_cast<std::size_t>(way.direction)];
    if (total.count == 0) continue;
    parts.push_back(text_of(way, static_cast<double>(total.bytes), static_cast<double>(total.count), ""));
  }
  return parts;
}

std::string blocked_text(const analyze::Steps& steps) {
  return "; CPU blocked " + duration_text(static_cast<std::int64_t>(steps.medians->blocked_ns));
}

}  // namespace

std::string transfers_text(const analyze::Report& report) {
  const std::vector<std::string> of_run = ways_of_run(report);
  if (report.steps && report.steps->medians) {
    const std::vector<std::string> of_step = ways_of_step(report);
    if (!of_step.empty()) return "a step: " + joined(of_step, ", ") + blocked_text(*report.steps);
    if (of_run.empty()) return none_words(report, "none between CPU and GPU") + blocked_text(*report.steps) + " a step";
    return "in a usual step none; in the whole run " + joined(of_run, ", ");
  }
  return of_run.empty() ? none_words(report, "none between CPU and GPU") : "in the whole run: " + joined(of_run, ", ");
}

void print_screen_transfers(const analyze::Report& report, Page& page) {
  page.blank();
  page.paragraph("TRANSFERS  ", transfers_text(report), Style::kPlain, kTransfersLines);
}

}  // namespace turnpike::report
