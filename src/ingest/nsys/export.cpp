// Counts what cannot be read, and puts times onto one clock.
#include "ingest/nsys/export.h"

#include <utility>

namespace turnpike::ingest {
namespace {

constexpr std::uint64_t kRowsBetweenProgress = 1 << 12;

}  // namespace

NsysExport::NsysExport(SqliteFile opened, const std::string& path, const SinkOfProcess& sink_of_process)
    : file(std::move(opened)), names(file), processes(names, path, sink_of_process) {
  read_start();
  if (file.missing_bytes() > 0) processes.count(trace::Loss::kDamagedBytes, file.missing_bytes());
}

void NsysExport::read_start() {
  scan("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, 1, [this](SqliteRow& row) {
    const auto epoch_ns = row.integer(0);
    if (epoch_ns && *epoch_ns > 0 && *epoch_ns < trace::kMaxTimeNs && !start_realtime_ns_)
      start_realtime_ns_ = epoch_ns;
  });
}

std::optional<std::int64_t> NsysExport::time_ns(SqliteRow& row, std::optional<std::int64_t> value) const {
  if (!value) return std::nullopt;
  if (*value < -trace::kMaxTimeNs || *value > trace::kMaxTimeNs) {
    row.set_unreadable();
    return std::nullopt;
  }
  return *value + start_realtime_ns_.value_or(0);
}

std::optional<NsysSpan> NsysExport::span(SqliteRow& row, std::size_t start_column, std::size_t end_column) const {
  const auto start_ns = time_ns(row, row.needed_integer(start_column));
  const auto end_ns = time_ns(row, row.needed_integer(end_column));
  if (!row.is_readable() || !start_ns || !end_ns) return std::nullopt;
  if (*end_ns < *start_ns) {
    row.set_unreadable();
    return std::nullopt;
  }
  return NsysSpan{*start_ns, *end_ns};
}

void NsysExport::note_row(const SqliteRow& row) {
  if (!row.is_readable()) processes.count(trace::Loss::kUnreadableEvent);
  if (++row_count_ % kRowsBetweenProgress == 0 && on_progress) on_progress(row_count_);
}

// How many rows there were behind the damage is a guess by their numbers; there was one at least.
void NsysExport::note_damage(const std::string& table, std::uint64_t rows_read) {
  const std::uint64_t row_count = file.about_row_count(table);
  processes.count(trace::Loss::kUnreadableEvent, row_count > rows_read ? row_count - rows_read : 1);
  is_damaged_ = true;
}

}  // namespace turnpike::ingest
