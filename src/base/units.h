// Figures for people: durations, sizes, rates and counts with three digits that count. Units are decimal: 1 kB is 1000
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace turnpike {

// What stands where the source cannot tell.
inline constexpr const char* kUnknownText = "?";

std::string duration_text(std::int64_t duration_ns);                // 12 ns, 3.21 us, 61.2 ms, 12.3 s, 25.0 min, 3.10 h
std::string duration_text(std::optional<std::int64_t> ns);          // kUnknownText
std::string size_text(std::uint64_t size_bytes);                    // 4 B, 201 kB, 1.07 GB
std::string count_text(std::uint64_t count);                        // 1876 exactly, from ten million on 12.3M
std::string rate_text(std::optional<double> gigabytes_per_second);  // 7.72 GB/s
std::string percent_text(std::optional<double> percent);            // 12 %, <1 %
std::string rounded_percent_text(double percent);                   // 12 %, also rounded to 0 % and 100 %
std::string exact_percent_text(double percent);                     // 12.3 %, for shares that add up
std::string number_text(double value);                              // three digits that count: 0.213, 2.00, 31.5, 128

// Of means and sums, which need not be whole.
std::string amount_text(double amount);                    // 2, 2.04, 0.5
std::string bytes_text(double bytes);                      // 0.5 B, 201 kB
std::string time_text(std::optional<double> duration_ns);  // 61.2 ms; kUnknownText

}  // namespace turnpike
