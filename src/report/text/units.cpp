#include "report/text/units.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

namespace turnpike::report {
namespace {

struct Unit {
  double size;
  const char* name;
};

constexpr Unit kDurations[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {60e9, "min"}, {3600e9, "h"}};
constexpr Unit kSizes[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}, {1e18, "EB"}};
constexpr Unit kCounts[] = {{1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}, {1e18, "E"}};
// Smaller counts are written out.
constexpr std::uint64_t kFirstShortCount = 10'000'000;

// The largest unit in which `value`, as it will be written, is still at least one. 999.7 us is 1.00 ms.
const Unit& unit_for(double value, std::span<const Unit> units) {
  const Unit* best = &units[0];
  for (const Unit& unit : units) {
    if (value / unit.size >= 0.9995) best = &unit;
  }
  return *best;
}

std::string scaled(double value, std::span<const Unit> units, const char* separator) {
  const Unit& unit = unit_for(value, units);
  if (unit.size == 1) return fmt::format("{:.0f}{}{}", value, separator, unit.name);
  return fmt::format("{}{}{}", number_text(value / unit.size), separator, unit.name);
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return kUnknownText;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 0.9995) return fmt::format("{:.3g}", value);
  if (magnitude < 9.995) return fmt::format("{:.2f}", value);
  if (magnitude < 99.95) return fmt::format("{:.1f}", value);
  if (magnitude < 1e7) return fmt::format("{:.0f}", value);
  return fmt::format("{:.2e}", value);
}

std::string duration_text(std::int64_t duration_ns) {
  const double magnitude = std::fabs(static_cast<double>(duration_ns));
  return (duration_ns < 0 ? "-" : "") + scaled(magnitude, kDurations, " ");
}

std::string duration_text(std::optional<std::int64_t> ns) {
  return ns ? duration_text(*ns) : kUnknownText;
}

std::string size_text(std::uint64_t size_bytes) {
  return scaled(static_cast<double>(size_bytes), kSizes, " ");
}

std::string count_text(std::uint64_t count) {
  return count < kFirstShortCount ? fmt::format("{}", count) : scaled(static_cast<double>(count), kCounts, "");
}

std::string rate_text(std::optional<double> gigabytes_per_second) {
  if (!gigabytes_per_second || !std::isfinite(*gigabytes_per_second)) return kUnknownText;
  return number_text(*gigabytes_per_second) + " GB/s";
}

std::string percent_text(std::optional<double> percent) {
  if (!percent || !std::isfinite(*percent)) return kUnknownText;
  if (*percent > 0 && *percent < 1) return "<1 %";
  // Not quite all is not all: nothing is rounded up to 100.
  if (*percent > 99 && *percent < 100) return "99 %";
  return std::fabs(*percent) < 1e6 ? fmt::format("{:.0f} %", *percent) : fmt::format("{:.2e} %", *percent);
}

}  // namespace turnpike::report
