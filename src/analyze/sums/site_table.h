// The rows of the report while they are summed up, over all processes: transfers and synchronisations by place.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/model/place.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// Unknown plus something known is what is known.
void add_known(std::optional<std::int64_t>& sum, std::optional<std::int64_t> value);

// What one transfer adds to its site and its direction.
struct TransferCost {
  std::uint64_t count = 1;
  std::uint64_t bytes = 0;
  bool is_pageable = false;
  bool is_blocked = false;
  bool is_in_steps = false;
  std::optional<std::int64_t> device_time_ns;
  std::optional<std::int64_t> host_blocked_ns;
  std::optional<std::int64_t> exposed_ns;
  std::optional<std::int64_t> gpu_idle_ns;
};

// A site and what its rates are made of: only transfers with times count in them.
struct SiteSums {
  Site site;
  std::uint64_t timed_bytes = 0;
  std::int64_t overlap_base_ns = 0;  // device time of the transfers whose overlap is known

  void add(const TransferCost& cost);
};

// A direction and what its rate is made of.
struct TotalSums {
  Total total;
  std::uint64_t timed_bytes = 0;

  void add(const TransferCost& cost);
};

class SiteTable {
 public:
  // The row that `like` belongs to, by everything that names it but api, streams, stack and figures, as an index. A new
  // row takes those from `like` too.
  std::uint32_t row_of(const Site& like);
  SiteSums& row(std::uint32_t index) { return rows_[index]; }
  // Most costly first: host-blocked plus exposed device time. Empties the table.
  std::vector<Site> take_ranked();

 private:
  using Key = std::tuple<std::string, std::optional<std::string>, std::optional<std::uint32_t>,
                         std::optional<std::string>, std::optional<std::string>, std::optional<std::string>,
                         std::optional<Phase>, Direction, std::optional<std::string>, std::optional<std::string>,
                         std::optional<std::string>, bool, std::optional<MissingCall>>;
  std::map<Key, std::uint32_t> index_;
  std::vector<SiteSums> rows_;
};

class SyncTable {
 public:
  std::uint32_t row_of(const SyncSite& like);
  SyncSite& row(std::uint32_t index) { return rows_[index]; }
  // Most time first. Empties the table.
  std::vector<SyncSite> take_ranked();

 private:
  using Key =
      std::tuple<std::string, std::optional<std::string>, std::optional<std::uint32_t>, std::optional<std::string>,
                 std::optional<std::string>, std::optional<Phase>, std::optional<std::string>>;
  std::map<Key, std::uint32_t> index_;
  std::vector<SyncSite> rows_;
};

// All that the processes of a run add to.
struct RunSums {
  SiteTable sites;
  SyncTable sync_sites;
  Syncs syncs;
  std::array<TotalSums, kDirectionCount> totals;
};

// Bytes a nanosecond are gigabytes a second. nullopt without any time.
std::optional<double> bandwidth_gbps(std::uint64_t bytes, std::optional<std::int64_t> time_ns);

}  // namespace turnpike::analyze
