// The rows of a roll-up while they are added up, and as columns.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analyze/model/timeline.h"
#include "analyze/sums/run_sums.h"
#include "report/rollup/parquet_file.h"
#include "trace/format.h"
#include "trace/process.h"

namespace turnpike::report::rollup {

enum class What : std::uint8_t { kTransfer, kSync, kStep, kLoss, kProcess };

struct RowKey {
  What what;
  std::int64_t minute_ns;
  std::uint32_t row = 0;  // of the table of sites or of synchronisations; of a loss its number
  std::uint32_t device = trace::kUnknownId;
  std::uint32_t stream = trace::kUnknownId;
  friend auto operator<=>(const RowKey&, const RowKey&) = default;
};

using Histogram = std::vector<std::int32_t>;

inline void add_known(std::optional<std::int64_t>& sum, std::int64_t value) {
  sum = sum.value_or(0) + value;
}

// nullopt: not known for anything in the row.
struct Sums {
  std::uint64_t count = 0;
  std::optional<std::int64_t> bytes{};
  std::optional<std::int64_t> blocked_count{};
  std::optional<std::int64_t> timed_bytes{};
  std::optional<std::int64_t> device_ns{};
  std::optional<std::int64_t> blocked_ns{};
  std::optional<std::int64_t> exposed_ns{};
  std::optional<std::int64_t> idle_ns{};
  std::optional<std::int64_t> step_ns{};
  std::optional<std::int64_t> collective_ns{};
  std::optional<std::int64_t> kernel_ns{};
  std::optional<std::int64_t> kernel_count{};
  std::optional<std::int64_t> collective_count{};
  std::optional<std::int64_t> peer_count{};  // sends and receives
  std::optional<std::int64_t> start_ns{};
  std::optional<std::int64_t> span_ns{};
  std::map<std::uint32_t, std::int64_t> bytes_of_node{};  // of host memory whose node is known
  Histogram rates{};
  Histogram waits{};
  std::map<std::int32_t, std::int32_t> own_parts{};  // steps by bucket of what is not in collectives

  void add(const analyze::TransferCost& cost);
  void add_wait(std::int64_t wait_ns);
  void add_own_part(std::int64_t own_ns);
  void add_host_node(std::optional<std::uint32_t> node, std::uint64_t bytes);
};

class Tables {
 public:
  Sums& at(const RowKey& key) { return rows_[key]; }
  const std::map<RowKey, Sums>& rows() const { return rows_; }

 private:
  std::map<RowKey, Sums> rows_;
};

void add_columns(ParquetFile& file, const Tables& tables, analyze::RunSums& sums, const trace::Process& process,
                 std::span<const trace::DeviceRecord> gpus);

}  // namespace turnpike::report::rollup
