// The records that will be written next, as they will stand in the file, with what is counted about them on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_log.h"
#include "trace/format.h"
#include "trace/make_record.h"

namespace turnpike::record {

// What has been handed to the file, by the counts that its end and the status line give.
struct RecordCounts {
  std::uint64_t calls = 0;
  std::uint64_t copies = 0;
  std::uint64_t copy_bytes = 0;
  std::uint64_t memsets = 0;
  std::uint64_t kernels = 0;
  std::uint64_t syncs = 0;
  std::int64_t waiting_ns = 0;            // in calls that synchronise or copy
  std::uint64_t transfer_counts[6] = {};  // h2d, d2h, d2d, p2p, h2h, memset
  std::uint64_t transfer_bytes[6] = {};
};

// Which of these counts a copy belongs to.
std::size_t direction_of(const trace::MemcpyRecord& record);

// Collector's thread only. Has two areas: while one is written to the file, it stays as it is, and the next records go
// to the other. So whoever finds the memory of a process that died knows what had not been written.
class RecordBatch {
 public:
  // What is added between two looks at bytes() must fit on top of what makes the collector write.
  static constexpr std::size_t kAreaBytes = ByteLog::kHeadBytes + (std::size_t{8} << 20);

  // Over these areas, zeroed or of a batch before it, or over memory of its own.
  explicit RecordBatch(std::span<std::byte> first = {}, std::span<std::byte> second = {}) noexcept
      : areas_{{first, kAreaBytes}, {second, kAreaBytes}} {
    areas_[0].clear();
  }

  template <typename Record>
  void add(const Record& record) {
    if (append(&record, sizeof(Record))) count(record);
  }
  // A record as a thread's ring holds it: with its size in its header.
  void add_raw(const std::byte* slot);

  std::span<const std::byte> bytes() const { return areas_[area_].bytes(); }
  bool is_empty() const { return bytes().empty(); }
  // Forgets the records and turns to the other area.
  void clear();
  // The area that records are added to: 0 or 1.
  std::uint32_t area() const { return area_; }
  // Bytes of records that found no room.
  std::uint64_t dropped_bytes() const { return dropped_bytes_; }

  const RecordCounts& counts() const { return counts_; }
  // From nothing, or from what was counted before.
  void restart(const RecordCounts& counts = {});

 private:
  bool append(const void* record, std::size_t size);
  void count(const trace::CallRecord& record);
  void count(const trace::MemcpyRecord& record);
  void count(const trace::MemsetRecord& record);
  void count(const trace::KernelRecord& record);
  template <typename Other>
  void count(const Other&) {}

  ByteLog areas_[2];
  std::uint32_t area_ = 0;
  std::uint64_t dropped_bytes_ = 0;
  RecordCounts counts_;
};

using trace::make_record;

// The end of a file that was begun when `before` had been counted.
trace::EndEntry end_entry(std::int64_t end_realtime_ns, const RecordCounts& counts, const RecordCounts& before);

}  // namespace turnpike::record
