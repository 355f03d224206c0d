// The rows of the report while they are summed up, over all processes: transfers and synchronisations by place.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

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
  std::optional<std::int64_t> device_time_ns{};
  std::optional<std::int64_t> host_blocked_ns{};
  std::optional<std::int64_t> exposed_ns{};
  std::optional<std::int64_t> gpu_idle_ns{};
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

// Rows, each under a key of its own.
template <typename Key, typename Row>
class RowTable {
 public:
  // The row of `key`, as an index. A new one starts as `like`.
  template <typename Like>
  std::uint32_t row_of(Key key, Like like) {
    const auto [entry, is_new] = index_.try_emplace(std::move(key), static_cast<std::uint32_t>(rows_.size()));
    if (is_new) rows_.push_back(Row{std::move(like)});
    return entry->second;
  }
  Row& row(std::uint32_t index) { return rows_[index]; }
  // Empties the table.
  std::vector<Row> take() {
    index_.clear();
    return std::exchange(rows_, {});
  }

 private:
  std::map<Key, std::uint32_t> index_;
  std::vector<Row> rows_;
};

class SiteTable {
 public:
  // The row of the place and kind of `like`, as an index. A new row takes all of `like`.
  std::uint32_t row_of(Site like) {
    std::pair<Where, TransferKind> key(like, like);
    return rows_.row_of(std::move(key), std::move(like));
  }
  SiteSums& row(std::uint32_t index) { return rows_.row(index); }
  // Most costly first: host-blocked plus exposed device time. Empties the table.
  std::vector<Site> take_ranked();

 private:
  RowTable<std::pair<Where, TransferKind>, SiteSums> rows_;
};

class SyncTable {
 public:
  // As SiteTable's, by the place alone.
  std::uint32_t row_of(SyncSite like) {
    Where key = like;
    return rows_.row_of(std::move(key), std::move(like));
  }
  SyncSite& row(std::uint32_t index) { return rows_.row(index); }
  // Most time first. Empties the table.
  std::vector<SyncSite> take_ranked();

 private:
  RowTable<Where, SyncSite> rows_;
};

// Bytes a nanosecond are gigabytes a second. nullopt without any time.
std::optional<double> bandwidth_gbps(std::uint64_t bytes, std::optional<std::int64_t> time_ns);

}  // namespace turnpike::analyze
