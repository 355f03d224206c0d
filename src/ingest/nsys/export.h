// What every part of reading an export of Nsight Systems shares: the file, its names and processes, the clock,
// progress.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/nsys/names.h"
#include "ingest/nsys/processes.h"
#include "ingest/nsys/sqlite_file.h"
#include "trace/format.h"

namespace turnpike::ingest {

// An id of a device, context or stream: kUnknownId for anything that is none.
constexpr std::uint32_t id_or_unknown(std::optional<std::int64_t> value) {
  return value && *value >= 0 && *value < trace::kUnknownId ? static_cast<std::uint32_t>(*value) : trace::kUnknownId;
}

// The key of something that has a number unique in its process. Processes are numbered by the caller's key, of which 40
// bits are in use; correlation ids and the like have 32, so the two are mixed, not put side by side.
struct InProcess {
  ProcessKey process;
  std::uint64_t number;
  auto operator<=>(const InProcess&) const = default;
};
struct InProcessHash {
  std::size_t operator()(const InProcess& key) const {
    return (key.process * 0x9E3779B97F4A7C15u) ^ (key.number * 0xC2B2AE3D27D4EB4Fu);
  }
};

struct NsysSpan {
  std::int64_t start_ns;
  std::int64_t end_ns;
};

class NsysExport {
 public:
  NsysExport(SqliteFile file, const std::string& path, const SinkOfProcess& sink_of_process);
  NsysExport(const NsysExport&) = delete;
  NsysExport& operator=(const NsysExport&) = delete;

  SqliteFile file;
  NsysNames names;
  NsysProcesses processes;

  // Gives the readable rows to `on_row`; counts the others, and damage.
  template <typename OnRow>
  ScanEnd scan(const std::string& table, std::initializer_list<std::string_view> columns, std::size_t needed_count,
               const OnRow& on_row) {
    const std::uint64_t rows_before = row_count_;
    const ScanEnd end = file.scan(table, columns, needed_count, [&](SqliteRow& row) {
      on_row(row);
      note_row(row);
    });
    if (end == ScanEnd::kDamaged) note_damage(table, row_count_ - rows_before);
    return end;
  }

  // A moment of the export on the clock of all records: CLOCK_REALTIME where the file knows when it began, else time
  // since the recording began. Nullopt, and the row unreadable, when that is no time of this era.
  std::optional<std::int64_t> time_ns(SqliteRow& row, std::optional<std::int64_t> value) const;
  // Of something that must have both ends in order.
  std::optional<NsysSpan> span(SqliteRow& row, std::size_t start_column, std::size_t end_column) const;

  std::optional<std::int64_t> start_realtime_ns() const { return start_realtime_ns_; }
  std::uint64_t row_count() const { return row_count_; }
  bool is_damaged() const { return is_damaged_; }
  // Called with the rows seen so far, now and then.
  std::function<void(std::uint64_t)> on_progress;

 private:
  void note_row(const SqliteRow& row);
  void note_damage(const std::string& table, std::uint64_t rows_read);
  void read_start();

  std::optional<std::int64_t> start_realtime_ns_;
  std::uint64_t row_count_ = 0;
  bool is_damaged_ = false;
};

}  // namespace turnpike::ingest
