// Numbers are written by std::to_chars, so that no locale of the program changes them.
#include "base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace turnpike {
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

// Of less than 1e19, or in scientific form.
std::string written(double value, std::chars_format form, int precision) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, form, precision).ptr;
  return {text.data(), end};
}

std::string rounded(double value) {
  return written(value, std::chars_format::fixed, 0);
}

std::string scaled(double value, std::span<const Unit> units, const char* separator) {
  const Unit& unit = unit_for(value, units);
  if (unit.size == 1) return rounded(value) + separator + unit.name;
  return number_text(value / unit.size) + separator + unit.name;
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return kUnknownText;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 0.9995) return written(value, std::chars_format::general, 3);
  if (magnitude < 9.995) return written(value, std::chars_format::fixed, 2);
  if (magnitude < 99.95) return written(value, std::chars_format::fixed, 1);
  if (magnitude < 1e7) return rounded(value);
  return written(value, std::chars_format::scientific, 2);
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
  return count < kFirstShortCount ? std::to_string(count) : scaled(static_cast<double>(count), kCounts, "");
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
  return (std::fabs(*percent) < 1e6 ? rounded(*percent) : written(*percent, std::chars_format::scientific, 2)) + " %";
}

std::string rounded_percent_text(double percent) {
  return std::to_string(std::llround(percent)) + " %";
}

std::string exact_percent_text(double percent) {
  return written(percent, std::chars_format::fixed, 1) + " %";
}

std::string amount_text(double amount) {
  const double whole = std::round(amount);
  if (std::fabs(amount - whole) > 1e-9 || std::fabs(whole) >= 1e15) return number_text(amount);
  return count_text(static_cast<std::uint64_t>(std::max(whole, 0.0)));
}

std::string bytes_text(double bytes) {
  // size_text() has no decimals below a kB.
  if (bytes > 0 && bytes < 1) return number_text(bytes) + " B";
  constexpr double kMost = 1.8e19;
  return size_text(static_cast<std::uint64_t>(std::min(std::round(std::max(bytes, 0.0)), kMost)));
}

std::string time_text(std::optional<double> duration_ns) {
  constexpr double kMost = 9.2e18;
  if (!duration_ns || !(std::fabs(*duration_ns) < kMost)) return kUnknownText;
  return duration_text(static_cast<std::int64_t>(std::llround(*duration_ns)));
}

}  // namespace turnpike
