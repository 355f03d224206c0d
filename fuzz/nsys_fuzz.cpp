// Feeds any bytes to the reader of Nsight Systems exports.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

#include "ingest/nsys/nsys.h"

namespace {

using namespace turnpike;

void require(bool holds) {
  if (!holds) std::abort();
}

// Whoever reads the records takes differences of their times.
template <typename Record>
void require_sound_times(const Record& record) {
  if (record.start_ns == trace::kUnknownTime || record.end_ns == trace::kUnknownTime) return;
  require(record.end_ns >= record.start_ns);
  std::int64_t duration_ns = 0;
  require(!__builtin_sub_overflow(record.end_ns, record.start_ns, &duration_ns));
}

class Checker : public trace::RecordSink {
 public:
  void on(const trace::CallRecord& record) override { see(record, trace::RecordKind::kCall); }
  void on(const trace::MemcpyRecord& record) override { see(record, trace::RecordKind::kMemcpy); }
  void on(const trace::MemsetRecord& record) override { see(record, trace::RecordKind::kMemset); }
  void on(const trace::KernelRecord& record) override { see(record, trace::RecordKind::kKernel); }
  void on(const trace::RangeRecord& record) override { see(record, trace::RecordKind::kRange); }
  void on(const trace::MigrationRecord& record) override { see(record, trace::RecordKind::kMigration); }

  std::size_t records = 0;

 private:
  template <typename Record>
  void see(const Record& record, trace::RecordKind kind) {
    require(record.header.kind == kind && record.header.bytes == sizeof record);
    require_sound_times(record);
    ++records;
  }
};

// A file in memory. SQLite follows links, so a memfd's path would lead it nowhere.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : path_("/dev/shm/nsys_fuzz." + std::to_string(::getpid())) {
    std::FILE* file = std::fopen(path_.c_str(), "wb");
    require(file != nullptr && std::fwrite(data, 1, size, file) == size && std::fclose(file) == 0);
  }
  ~MemoryFile() { std::remove(path_.c_str()); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  std::deque<Checker> checkers;
  const auto processes =
      ingest::read_nsys(file.path(), [&]() -> trace::RecordSink& { return checkers.emplace_back(); });
  if (!processes) {
    require(!processes.error().message.empty());
    return 0;
  }
  require(!processes->empty() && processes->size() == checkers.size());
  // A row needs more than a byte, and may be read as one of several tables.
  for (const Checker& checker : checkers) require(checker.records <= 16 * size);
  for (const trace::Process& process : *processes) {
    for (const auto [id, stack] : process.stacks) {
      for (const std::uint32_t frame : stack.frames) require(process.frames.contains(frame));
    }
  }
  return 0;
}
