// The section of the text report that adds up all transfers by direction.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "report/text/incomplete.h"
#include "report/text/table.h"
#include "report/text/terminal_sections.h"

namespace turnpike::report {
namespace {

using analyze::Direction;
using analyze::Total;

constexpr const char* kDoesNotApply = "-";

bool crosses_link(Direction direction) {
  return direction == Direction::kHostToDevice || direction == Direction::kDeviceToHost;
}

bool has_host_side(Direction direction) {
  return crosses_link(direction) || direction == Direction::kHostToHost;
}

double percent_of(double part, double whole) {
  return 100 * part / whole;
}

std::string pageable_text(Direction direction, const Total& total) {
  if (!has_host_side(direction)) return kDoesNotApply;
  const bool by_bytes = total.bytes > 0;
  return percent_text(percent_of(static_cast<double>(by_bytes ? total.pageable_bytes : total.pageable_count),
                                 static_cast<double>(by_bytes ? total.bytes : total.count)));
}

std::string link_text(Direction direction, const Total& total) {
  if (!crosses_link(direction)) return kDoesNotApply;
  if (!total.link_gbps || *total.link_gbps <= 0) return "link unknown";
  const std::string link = rate_text(total.link_gbps);
  if (!total.bandwidth_gbps) return "? of " + link;
  return fmt::format("{} of {}", percent_text(percent_of(*total.bandwidth_gbps, *total.link_gbps)), link);
}

bool is_link_missing(const analyze::Report& report) {
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    const Total& total = report.totals[i];
    if (crosses_link(static_cast<Direction>(i)) && total.count > 0 && !total.link_gbps) return true;
  }
  return false;
}

Table totals_table(const analyze::Report& report) {
  Table table({{"  direction", Align::kLeft},
               {.title = "count", .leaves_as = 2},
               {.title = "bytes", .leaves_as = 1},
               {.title = "pageable", .leaves_as = 4},
               {.title = "device time", .leaves_as = 3},
               {.title = "speed", .leaves_as = 5},
               {.title = "of the link", .leaves_as = 6},
               {"CPU blocked"}});
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    const auto direction = static_cast<Direction>(i);
    const Total& total = report.totals[i];
    if (total.count == 0) continue;
    table.add_row({std::string("  ") + words_for(direction), count_text(total.count), size_text(total.bytes),
                   pageable_text(direction, total), duration_text(total.device_time_ns),
                   rate_text(total.bandwidth_gbps), link_text(direction, total), duration_text(total.host_blocked_ns)});
  }
  return table;
}

// All the time that the CPU was held, each wait once: a synchronisation that belongs to a transfer is in that
// transfer's.
std::optional<std::int64_t> blocked_in_all(const analyze::Report& report) {
  std::optional<std::int64_t> sum;
  for (const Total& total : report.totals) {
    if (total.host_blocked_ns) sum = sum.value_or(0) + *total.host_blocked_ns;
  }
  if (report.syncs.host_blocked_ns) {
    sum = sum.value_or(0) + *report.syncs.host_blocked_ns - report.syncs.of_transfers_host_blocked_ns.value_or(0);
  }
  return sum;
}

// What a usual step does. Sums of the run divided by its steps would count start-up, and other processes' work.
std::string per_step_text(const analyze::Steps& steps) {
  std::string text;
  for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
    if (steps.medians->counts[i] == 0) continue;
    text += fmt::format("{} {}, {}; ", number_text(steps.medians->counts[i]), words_for(static_cast<Direction>(i)),
                        size_text(static_cast<std::uint64_t>(steps.medians->bytes[i])));
  }
  return text + fmt::format("CPU blocked {} of {} (medians of {} steps).",
                            duration_text(static_cast<std::int64_t>(steps.medians->blocked_ns)),
                            duration_text(steps.typical_ns()), count_text(steps.whole_count));
}

}  // namespace

const char* words_for(Direction direction) {
  switch (direction) {
    case Direction::kHostToDevice:
      return "CPU > GPU";
    case Direction::kDeviceToHost:
      return "GPU > CPU";
    case Direction::kDeviceToDevice:
      return "in GPU";
    case Direction::kPeerToPeer:
      return "GPU > GPU";
    case Direction::kHostToHost:
      return "CPU > CPU";
    case Direction::kMemset:
      return "memset";
  }
  return "?";
}

void print_totals(const analyze::Report& report, Page& page) {
  page.blank();
  page.line("TRANSFERS", Style::kHeading);
  const bool is_empty =
      std::all_of(report.totals.begin(), report.totals.end(), [](const Total& t) { return t.count == 0; });
  if (is_empty) return page.line("  " + none_words(report, "none was recorded"));
  totals_table(report).print(page);
  if (const auto blocked = blocked_in_all(report)) {
    page.paragraph("  in all: ", "CPU blocked " + duration_text(*blocked) + ", synchronisations included.");
  }
  if (report.steps && report.steps->medians) page.paragraph("  per step: ", per_step_text(*report.steps));
  if (is_link_missing(report)) {
    page.paragraph("  ", "link unknown: run `turnpike bench link` once, on the machine of the run, to measure it.",
                   Style::kNote);
  }
}

}  // namespace turnpike::report
