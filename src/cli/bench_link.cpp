// Prints and keeps what move/link_rate measures.
#include "cli/bench_link.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/kept_links.h"
#include "machine/link_cache.h"
#include "move/link_rate.h"

namespace turnpike::cli {
namespace {

using move::LinkRate;
using move::Spread;

std::string spread_text(const Spread& spread, const char* unit) {
  return fmt::format("{:>8.2f} {} ({:.2f} to {:.2f})", spread.median, unit, spread.low, spread.high);
}

void print_table(const std::vector<LinkRate>& links) {
  for (const auto& link : links) {
    fmt::print("device {}: {}\n", link.device, link.device_name);
    fmt::print("  {:<16}{:<34}{}\n", "", "256 MiB, pinned", "4 KiB, pinned");
    fmt::print("  {:<16}{:<34}{}\n", "host to device", spread_text(link.h2d_pinned_gbps, "GB/s"),
               spread_text(link.h2d_latency_us, "us"));
    fmt::print("  {:<16}{:<34}{}\n", "device to host", spread_text(link.d2h_pinned_gbps, "GB/s"),
               spread_text(link.d2h_latency_us, "us"));
    fmt::print("  {:<16}{:<34}into 4 MiB of pinned memory that the CPU has read since the last copy\n",
               "device to host", spread_text(link.d2h_cached_gbps, "GB/s"));
  }
  fmt::print("Median of {} copies, with quartiles; timed on the device; the bytes were compared.\n",
             move::kRepetitions);
}

nlohmann::ordered_json json_of(const Spread& spread) {
  return {{"median", spread.median}, {"low_quartile", spread.low}, {"high_quartile", spread.high}};
}

void print_json(const std::vector<LinkRate>& links) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& link : links) {
    rows.push_back({{"device", link.device},
                    {"device_name", link.device_name},
                    {"h2d_pinned_gbps", json_of(link.h2d_pinned_gbps)},
                    {"d2h_pinned_gbps", json_of(link.d2h_pinned_gbps)},
                    {"h2d_latency_us", json_of(link.h2d_latency_us)},
                    {"d2h_latency_us", json_of(link.d2h_latency_us)},
                    {"d2h_cached_gbps", json_of(link.d2h_cached_gbps)}});
  }
  const nlohmann::ordered_json document = {{"schema", 1},
                                           {"size_bytes", move::kRateBytes},
                                           {"latency_size_bytes", move::kLatencyBytes},
                                           {"cached_size_bytes", move::kCachedBytes},
                                           {"samples", move::kRepetitions},
                                           {"links", rows}};
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

// Said when it fails, but no failure of the measurement.
void keep(const std::vector<LinkRate>& links) {
  const std::string path = machine::link_cache_path();
  const Status kept = path.empty() ? Status(Error{"neither XDG_CACHE_HOME nor HOME is set"})
                                   : machine::keep_links(path, kept_links_of(links));
  if (!kept) fmt::print(stderr, "turnpike bench link: not kept for later reports: {}\n", kept.error().message);
}

}  // namespace

int bench_link(const BenchLinkOptions& options) {
  const auto links = move::measure_links(options.device);
  if (!links) {
    fmt::print(stderr, "turnpike bench link: {}\n", links.error().message);
    return kFailed;
  }
  keep(*links);
  options.is_json ? print_json(*links) : print_table(*links);
  return kFine;
}

}  // namespace turnpike::cli
