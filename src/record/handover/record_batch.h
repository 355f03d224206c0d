// The records that will be written next, as they will stand in the file, with what is counted about them on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

// Collector's thread only.
class RecordBatch {
 public:
  template <typename Record>
  void add(const Record& record) {
    append(&record, sizeof(Record));
    count(record);
  }
  // A record as a thread's ring holds it: with its size in its header.
  void add_raw(const std::byte* slot);

  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool is_empty() const { return bytes_.empty(); }
  void clear() { bytes_.clear(); }

  const RecordCounts& counts() const { return counts_; }
  void restart();

 private:
  void append(const void* record, std::size_t size);
  void count(const trace::CallRecord& record);
  void count(const trace::MemcpyRecord& record);
  void count(const trace::MemsetRecord& record);
  void count(const trace::KernelRecord& record);
  template <typename Other>
  void count(const Other&) {}

  std::vector<std::byte> bytes_;
  RecordCounts counts_;
};

using trace::make_record;

}  // namespace turnpike::record
