#include "report/rollup/sums.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "analyze/model/link_state.h"
#include "report/rollup/buckets.h"
#include "trace/losses.h"

namespace turnpike::report::rollup {
namespace {

using Number = std::optional<std::int64_t>;
using Text = std::optional<std::string>;

void count_in(Histogram& histogram, std::size_t bucket) {
  histogram.resize(kBuckets);
  ++histogram[bucket];
}

std::string_view name_of(What what) {
  switch (what) {
    case What::kTransfer:
      return "transfer";
    case What::kSync:
      return "sync";
    case What::kStep:
      return "step";
    case What::kLoss:
      return "loss";
    case What::kProcess:
      return "process";
  }
  return "";
}

Number known(std::uint32_t id) {
  return id == trace::kUnknownId ? std::nullopt : Number(id);
}

Number widened(const std::optional<std::uint32_t>& number) {
  return number ? Number(*number) : std::nullopt;
}

// The host's side of a copy.
Text host_memory(const analyze::Site& site) {
  switch (site.direction) {
    case analyze::Direction::kHostToDevice:
    case analyze::Direction::kHostToHost:
      return site.src_kind;
    case analyze::Direction::kDeviceToHost:
      return site.dst_kind;
    default:
      return std::nullopt;
  }
}

// What the columns of one row are made from.
struct Row {
  const RowKey& key;
  const Sums& sums;
  const analyze::Where* where;     // nullptr: it has no place
  const analyze::Site* site;       // nullptr: it is no transfer
  const Text* api;                 // nullptr: it is no call
  const trace::DeviceRecord* gpu;  // nullptr: not known
};

std::string loss_name(std::uint32_t number) {
  const trace::LossInfo* const info = trace::find_loss(number);
  return info == nullptr ? std::to_string(number) : std::string(info->name);
}

std::string pci_address(const trace::DeviceRecord& gpu) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", gpu.pci_domain, gpu.pci_bus, gpu.pci_device);
}

class Columns {
 public:
  Columns(ParquetFile& file, std::vector<Row> rows) : file_(file), rows_(std::move(rows)) {}

  void whole(std::string_view name, const std::function<Number(const Row&)>& value) {
    file_.add_whole(name, all<Number>(value));
  }
  void text(std::string_view name, const std::function<Text(const Row&)>& value) {
    file_.add_text(name, all<Text>(value));
  }
  void lists(std::string_view name, const std::function<Histogram(const Row&)>& value) {
    file_.add_lists(name, all<std::optional<Histogram>>([&](const Row& row) {
                      Histogram list = value(row);
                      return list.empty() ? std::nullopt : std::optional(std::move(list));
                    }));
  }

 private:
  template <typename Value>
  std::vector<Value> all(const std::function<Value(const Row&)>& value) {
    std::vector<Value> values;
    values.reserve(rows_.size());
    for (const Row& row : rows_) values.push_back(value(row));
    return values;
  }

  ParquetFile& file_;
  std::vector<Row> rows_;
};

std::vector<Row> rows_of(const Tables& tables, analyze::RunSums& sums, std::span<const trace::DeviceRecord> gpus) {
  std::vector<Row> rows;
  for (const auto& [key, row] : tables.rows()) {
    Row one{.key = key, .sums = row, .where = nullptr, .site = nullptr, .api = nullptr, .gpu = nullptr};
    if (key.what == What::kTransfer) {
      one.site = &sums.sites.row(key.row).site;
      one.where = one.site;
      one.api = &one.site->api;
    } else if (key.what == What::kSync) {
      const analyze::SyncSite& site = sums.sync_sites.row(key.row);
      one.where = &site;
      one.api = &site.api;
    }
    // What names no device is of the only one.
    for (const trace::DeviceRecord& gpu : gpus) {
      if (gpu.device == key.device || gpus.size() == 1) one.gpu = &gpu;
    }
    rows.push_back(one);
  }
  return rows;
}

void add_places(Columns& columns) {
  columns.text("site", [](const Row& row) { return row.where ? Text(row.where->site) : std::nullopt; });
  columns.text("file", [](const Row& row) { return row.where ? row.where->file : std::nullopt; });
  columns.whole("line", [](const Row& row) { return row.where ? widened(row.where->line) : std::nullopt; });
  columns.text("function", [](const Row& row) { return row.where ? row.where->function : std::nullopt; });
  columns.text("op", [](const Row& row) { return row.where ? row.where->op : std::nullopt; });
  columns.text("phase", [](const Row& row) {
    return row.where && row.where->phase ? Text(analyze::name_of(*row.where->phase)) : std::nullopt;
  });
  columns.text("library_site", [](const Row& row) { return row.where ? row.where->library_site : std::nullopt; });
  columns.text("api", [](const Row& row) { return row.api ? *row.api : std::nullopt; });
}

void add_gpus(Columns& columns, const trace::Process& process) {
  columns.whole("device", [](const Row& row) { return row.gpu ? known(row.gpu->device) : known(row.key.device); });
  columns.text("gpu", [&](const Row& row) { return row.gpu ? Text(process.string(row.gpu->name)) : std::nullopt; });
  columns.text("pci", [](const Row& row) { return row.gpu ? Text(pci_address(*row.gpu)) : std::nullopt; });
  columns.whole("gpu_node", [](const Row& row) {
    return row.gpu && row.gpu->numa_node != trace::kUnknownNode ? Number(row.gpu->numa_node) : std::nullopt;
  });
  const auto link_of = [&](const Row& row) {
    return row.gpu ? analyze::link_state_of(process, row.gpu->device) : analyze::LinkState{};
  };
  columns.whole("pcie_generation", [&](const Row& row) { return widened(link_of(row).generation); });
  columns.whole("pcie_width", [&](const Row& row) { return widened(link_of(row).width); });
}

// A list of buckets, each followed by its count: most are empty.
Histogram pairs_of(const std::map<std::int32_t, std::int32_t>& counts) {
  Histogram pairs;
  pairs.reserve(2 * counts.size());
  for (const auto& [bucket, count] : counts) pairs.insert(pairs.end(), {bucket, count});
  return pairs;
}

// Bytes of host memory that lies on another node than the GPU; null where no node is known.
Number far_bytes(const Row& row) {
  if (row.sums.bytes_of_node.empty() || row.gpu == nullptr || row.gpu->numa_node == trace::kUnknownNode) return {};
  std::int64_t far = 0;
  for (const auto& [node, bytes] : row.sums.bytes_of_node) far += node == row.gpu->numa_node ? 0 : bytes;
  return far;
}

Number known_node_bytes(const Row& row) {
  if (!far_bytes(row)) return {};
  std::int64_t all = 0;
  for (const auto& [node, bytes] : row.sums.bytes_of_node) all += bytes;
  return all;
}

}  // namespace

void Sums::add(const analyze::TransferCost& cost) {
  count += cost.count;
  add_known(bytes, static_cast<std::int64_t>(cost.bytes));
  add_known(blocked_count, cost.is_blocked ? static_cast<std::int64_t>(cost.count) : 0);
  if (cost.device_time_ns) {
    add_known(device_ns, *cost.device_time_ns);
    add_known(timed_bytes, static_cast<std::int64_t>(cost.bytes));
    if (cost.bytes > 0 && *cost.device_time_ns > 0) count_in(rates, rate_bucket(cost.bytes, *cost.device_time_ns));
  }
  if (cost.host_blocked_ns) {
    add_known(blocked_ns, *cost.host_blocked_ns);
    add_wait(*cost.host_blocked_ns);
  }
  if (cost.exposed_ns) add_known(exposed_ns, *cost.exposed_ns);
  if (cost.gpu_idle_ns) add_known(idle_ns, *cost.gpu_idle_ns);
}

void Sums::add_wait(std::int64_t wait_ns) {
  if (wait_ns > 0) count_in(waits, wait_bucket(wait_ns));
}

void Sums::add_own_part(std::int64_t own_ns) {
  ++own_parts[own_bucket(own_ns)];
}

void Sums::add_host_node(std::optional<std::uint32_t> node, std::uint64_t size_bytes) {
  if (node) bytes_of_node[*node] += static_cast<std::int64_t>(size_bytes);
}

void add_columns(ParquetFile& file, const Tables& tables, analyze::RunSums& sums, const trace::Process& process,
                 std::span<const trace::DeviceRecord> gpus) {
  Columns columns(file, rows_of(tables, sums, gpus));
  columns.text("what", [](const Row& row) { return Text(name_of(row.key.what)); });
  columns.whole("minute_ns", [](const Row& row) { return Number(row.key.minute_ns); });
  columns.text(
      "loss", [](const Row& row) { return row.key.what == What::kLoss ? Text(loss_name(row.key.row)) : std::nullopt; });
  add_places(columns);
  add_gpus(columns, process);
  columns.whole("stream", [](const Row& row) { return known(row.key.stream); });
  columns.text("direction",
               [](const Row& row) { return row.site ? Text(analyze::name_of(row.site->direction)) : std::nullopt; });
  columns.text("host_memory", [](const Row& row) { return row.site ? host_memory(*row.site) : std::nullopt; });
  columns.whole("count", [](const Row& row) { return Number(static_cast<std::int64_t>(row.sums.count)); });
  columns.whole("bytes", [](const Row& row) { return row.sums.bytes; });
  columns.whole("blocked_count", [](const Row& row) { return row.sums.blocked_count; });
  columns.whole("timed_bytes", [](const Row& row) { return row.sums.timed_bytes; });
  columns.whole("device_time_ns", [](const Row& row) { return row.sums.device_ns; });
  columns.whole("host_blocked_ns", [](const Row& row) { return row.sums.blocked_ns; });
  columns.whole("exposed_ns", [](const Row& row) { return row.sums.exposed_ns; });
  columns.whole("gpu_idle_ns", [](const Row& row) { return row.sums.idle_ns; });
  columns.whole("node_bytes", known_node_bytes);
  columns.whole("far_bytes", far_bytes);
  columns.whole("step_ns", [](const Row& row) { return row.sums.step_ns; });
  columns.whole("collective_ns", [](const Row& row) { return row.sums.collective_ns; });
  columns.whole("kernel_ns", [](const Row& row) { return row.sums.kernel_ns; });
  columns.whole("span_ns", [](const Row& row) { return row.sums.span_ns; });
  columns.lists("rates", [](const Row& row) { return row.sums.rates; });
  columns.lists("waits", [](const Row& row) { return row.sums.waits; });
  columns.whole("start_ns", [](const Row& row) { return row.sums.start_ns; });
  columns.lists("own_parts", [](const Row& row) { return pairs_of(row.sums.own_parts); });
  columns.whole("kernel_count", [](const Row& row) { return row.sums.kernel_count; });
  columns.whole("collective_count", [](const Row& row) { return row.sums.collective_count; });
  columns.whole("peer_count", [](const Row& row) { return row.sums.peer_count; });
}

}  // namespace turnpike::report::rollup
