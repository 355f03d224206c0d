#include "report/text/budget_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "analyze/compare/figures.h"
#include "base/text.h"
#include "base/units.h"
#include "report/text/item_text.h"
#include "report/text/terminal_sections.h"
#include "report/text/text_width.h"
#include "trace/losses.h"

namespace turnpike::report {
namespace {

using analyze::Bound;
using analyze::Direction;
using analyze::Figures;
using analyze::Unit;

constexpr double kBytesHeadroom = 1.1;
constexpr double kTimeHeadroom = 2.0;
// Of a step: less than that may be blocked on a busy machine without any change.
constexpr double kLeastBlocked = 0.01;
// What crosses a link or the memory of the host; copies inside of a GPU are part of computing.
constexpr Direction kLimited[] = {Direction::kHostToDevice, Direction::kDeviceToHost, Direction::kPeerToPeer};

struct Sums {
  std::array<Figures, analyze::kDirectionCount> of_direction;
  double syncs = 0;
  std::optional<double> blocked_ns;
};

Sums sums_of(const analyze::Report& report, Unit unit) {
  Sums sums;
  Figures all;
  for (const analyze::Item& item : analyze::items_of(report, unit)) {
    if (item.direction != Direction::kMemset) all.add(item.figures);
    if (item.is_sync()) {
      sums.syncs += item.figures.count;
    } else {
      sums.of_direction[static_cast<std::size_t>(*item.direction)].add(item.figures);
    }
  }
  sums.blocked_ns = all.blocked_ns;
  return sums;
}

// At least what the median step did. A run that ends with steps whose copies were made ahead has a lower mean, which
// rises with the number of steps.
void raise_to_median(Sums& sums, const analyze::Steps& steps) {
  if (steps.medians) {
    for (std::size_t i = 0; i < analyze::kDirectionCount; ++i) {
      sums.of_direction[i].count = std::max(sums.of_direction[i].count, steps.medians->counts[i]);
      sums.of_direction[i].bytes = std::max(sums.of_direction[i].bytes, steps.medians->bytes[i]);
    }
    sums.syncs = std::max(sums.syncs, steps.medians->syncs);
    if (sums.blocked_ns) sums.blocked_ns = std::max(*sums.blocked_ns, steps.medians->blocked_ns);
  }
  if (sums.blocked_ns) {
    sums.blocked_ns = std::max(*sums.blocked_ns, kLeastBlocked * static_cast<double>(steps.typical_ns()));
  }
}

// Rounded up to two digits that count, so that a person can read it.
double rounded_up(double value) {
  if (value <= 0) return 0;
  const double step = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return std::ceil(value / step - 1e-9) * step;
}

// The next whole number: a mean over steps depends on how many were recorded, where the first or last ones differ.
std::string count_limit(double count) {
  // From here on not every whole number is a double; TOML has no larger integers than 64 bits either.
  constexpr double kFirstInexact = 1e15;
  if (count >= kFirstInexact) return fmt::format("{:.17g}", count);
  return fmt::format("{:.0f}", std::fabs(std::ceil(count - 1e-6)));
}

std::string scaled_limit(double value, std::initializer_list<std::pair<double, const char*>> units) {
  if (value <= 0) return "0";
  auto best = *units.begin();
  for (const auto& unit : units) {
    if (value >= unit.first) best = unit;
  }
  return fmt::format("\"{:g} {}\"", value / best.first, best.second);
}

std::string bytes_limit(double bytes) {
  if (bytes > 0 && bytes < 100) return fmt::format("\"{:g} B\"", std::ceil(bytes));
  return scaled_limit(rounded_up(bytes * kBytesHeadroom), {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}});
}

std::string time_limit(double duration_ns) {
  return scaled_limit(rounded_up(duration_ns * kTimeHeadroom), {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}});
}

std::string line(const std::string& key, const std::string& value, const std::string& comment) {
  return fmt::format("{:<40}  # {}\n", key + " = " + value, comment);
}

std::string limits_text(const analyze::Report& report, Unit unit) {
  const bool is_step = unit == Unit::kStep;
  const Sums measured = sums_of(report, unit);
  Sums sums = measured;
  if (is_step) raise_to_median(sums, *report.steps);
  std::string text = is_step ? "[per_step]  # means over the whole steps, without start-up and warm-up\n"
                             : "[per_run]  # no steps were found in the run, so these limit all of it\n";
  for (const Direction direction : kLimited) {
    const Figures& figures = sums.of_direction[static_cast<std::size_t>(direction)];
    const Figures& mean = measured.of_direction[static_cast<std::size_t>(direction)];
    const std::string name = analyze::name_of(direction);
    const std::string words = words_for(direction);
    if (direction == Direction::kPeerToPeer && figures.count == 0 && report.source.devices.size() < 2) continue;
    text += line(name + "_count", count_limit(figures.count),
                 fmt::format("measured {} ({})", amount_text(mean.count), words));
    text += line(name + "_bytes", bytes_limit(figures.bytes), fmt::format("measured {}", bytes_text(mean.bytes)));
  }
  text +=
      line("syncs", count_limit(sums.syncs), fmt::format("measured {} synchronisations", amount_text(measured.syncs)));
  if (sums.blocked_ns) {
    text += line("blocked", time_limit(*sums.blocked_ns),
                 fmt::format("measured {} in which the CPU was blocked", time_text(measured.blocked_ns)));
  } else {
    text += line("# blocked", "\"1 ms\"", "this run does not tell how long the CPU was blocked");
  }
  const double duration_ns = static_cast<double>(is_step ? report.steps->typical_ns() : report.span_ns);
  text +=
      line("# duration", time_limit(duration_ns), "measured " + time_text(duration_ns) + "; for one kind of machine");
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : cleaned(text)) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result + '"';
}

std::string verdict_text(const analyze::Verdict& verdict) {
  std::string fine = quoted(analyze::name_of(Bound::kGpu));
  if (verdict.bound_by.value_or(Bound::kGpu) != Bound::kGpu) fine += ", " + quoted(analyze::name_of(*verdict.bound_by));
  std::string text = "\n# [verdict]\n";
  std::vector<std::string> known;
  for (const Bound bound : analyze::kBounds) known.emplace_back(analyze::name_of(bound));
  text += line("# bound_by", "[" + fine + "]", "of " + joined(known, ", "));
  text += line("# max_exposed_transfer_pct", "5", "share of time in which the GPU only copied");
  return text;
}

// Never one of which nobody knows the effect, and none because of which a part of the run is missing: a budget that
// allows it would pass any half of a run.
bool may_be_allowed(const std::string& loss) {
  const trace::LossInfo* const info = trace::find_loss(loss);
  return info != nullptr && info->effect != trace::LossEffect::kIncomplete;
}

std::string losses_text(const analyze::Report& report) {
  std::string names;
  for (const auto& [name, count] : report.losses) {
    if (may_be_allowed(name)) names += (names.empty() ? "" : ", ") + quoted(name);
  }
  if (names.empty()) return "\n[losses]\nallow = false  # a run that lost records may have exceeded a limit unseen\n";
  return "\n[losses]\nallow = [" + names + "]  # what this run lost already; anything else fails\n";
}

constexpr const char* kAllow = R"(
# Places that may transfer whatever the limits say: FILE, FILE:LINE or FILE:FUNCTION; * is anything.
# [[allow]]
# site = "train.py:save_checkpoint"
# reason = "once in a while"

# Limits for one place.
# [[limit]]
# site = "model.py:*"
# direction = "d2h"
# count = 0
# optional = true  # else it fails when nothing at all is there
)";

constexpr const char* kFindings = R"(
# [findings]
# forbid = ["*"]       # rules that must find nothing; * is any
# max_saving_pct = 10  # or: nothing may be left that saves more of a step
)";

}  // namespace

std::string budget_for(const analyze::Report& report, const std::string& run) {
  const Unit unit = analyze::has_whole_steps(report) ? Unit::kStep : Unit::kRun;
  // A line break in a name would end the comment.
  return "# What a run may cost; `turnpike check RUN` fails when it costs more. Made from " + cleaned(run) +
         ":\n# counts are rounded up, bytes have a tenth to spare, times are doubled. Tighten what you can.\n\n" +
         limits_text(report, unit) + kAllow + verdict_text(report.verdict) + kFindings + losses_text(report);
}

}  // namespace turnpike::report
