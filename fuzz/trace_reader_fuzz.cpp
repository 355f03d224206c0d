// Feeds any bytes to the trace reader and to dump. Checksums are put right first, so that fuzzing reaches what lies
// behind.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "report/dump/dump.h"
#include "trace/losses.h"
#include "trace/reader.h"

namespace {

using namespace turnpike::trace;

void require(bool holds) {
  if (!holds) std::abort();
}

// The input's first byte says whether to repair: half of the inputs keep their damage.
void repair_checksums(std::vector<std::uint8_t>& file) {
  std::size_t at = sizeof(FileHeader);
  while (at + sizeof(ChunkHeader) <= file.size()) {
    ChunkHeader header;
    std::memcpy(&header, file.data() + at, sizeof header);
    if (header.size % 8 != 0 || header.size > file.size() - at - sizeof header) return;
    header.magic = kChunkMagic;
    header.crc = turnpike::crc32c(&header.type, sizeof header.type + sizeof header.size);
    header.crc = turnpike::crc32c(file.data() + at + sizeof header, header.size, header.crc);
    std::memcpy(file.data() + at, &header, sizeof header);
    at += sizeof header + header.size;
  }
}

class Counter : public RecordSink {
 public:
  void on(const CallRecord& call) override { see(call, RecordKind::kCall); }
  void on(const MemcpyRecord& copy) override { see(copy, RecordKind::kMemcpy); }
  void on(const KernelRecord& kernel) override { see(kernel, RecordKind::kKernel); }
  void on(const GraphNodeRecord& node) override { see(node, RecordKind::kGraphNode); }

  std::size_t bytes = 0;

 private:
  template <typename Record>
  void see(const Record& record, RecordKind kind) {
    require(record.header.kind == kind && record.header.bytes >= sizeof record);
    bytes += record.header.bytes;
  }
};

// A file in memory, under a path.
class MemoryFile {
 public:
  explicit MemoryFile(const std::vector<std::uint8_t>& bytes) : file_(::memfd_create("trace", MFD_CLOEXEC)) {
    require(file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::vector<std::uint8_t> bytes(data + 1, data + size);
  if (data[0] % 2 == 0) repair_checksums(bytes);
  const MemoryFile file(bytes);

  Counter counter;
  const auto process = read_file(file.path(), counter);
  require(counter.bytes <= bytes.size());
  if (!process) {
    require(!process.error().message.empty());
    return 0;
  }
  require(process->end.has_value() || process->losses.contains(static_cast<std::uint32_t>(Loss::kNotClosed)));
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  require(turnpike::report::dump_file(file.path(), {}, nowhere).is_ok());
  return 0;
}
