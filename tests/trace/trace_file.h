// Makes trace files byte by byte, as docs/format.md has them and without the writer, and collects what the reader
// finds.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "trace/losses.h"
#include "trace/reader.h"

namespace turnpike::trace {

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string padded(std::string text) {
  text.resize((text.size() + 7) / 8 * 8, '\0');
  return text;
}

inline std::string file_header(std::uint32_t version = kFormatVersion) {
  FileHeader header{};
  std::memcpy(header.magic, kFileMagic, sizeof header.magic);
  header.version = version;
  header.header_bytes = sizeof header;
  header.start_realtime_ns = 1'700'000'000'000'000'000;
  header.start_monotonic_ns = 5'000;
  header.pid = 4242;
  header.parent_pid = 4241;
  return bytes_of(header);
}

inline std::string chunk(ChunkType type, const std::string& payload) {
  ChunkHeader header{kChunkMagic, type, static_cast<std::uint32_t>(payload.size()), 0};
  header.crc = crc32c(payload.data(), payload.size(), crc32c(&header.type, 8));
  return bytes_of(header) + payload;
}

inline std::string metadata(const std::string& key, const std::string& value) {
  const MetadataEntry entry{static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
  return bytes_of(entry) + padded(key + value);
}

inline std::string string_entry(std::uint32_t id, const std::string& text) {
  return bytes_of(StringEntry{id, static_cast<std::uint32_t>(text.size())}) + padded(text);
}

inline std::string stack_entry(std::uint32_t id, const std::vector<std::uint32_t>& frames, std::uint16_t flags = 0) {
  std::string ids;
  for (const std::uint32_t frame : frames) ids += bytes_of(frame);
  return bytes_of(StackEntry{id, static_cast<std::uint16_t>(frames.size()), flags}) + padded(ids);
}

// A record of the kind whose every byte behind the header is `fill`, but for its times, which must be possible ones.
template <typename Record>
Record record(RecordKind kind, unsigned char fill = 0) {
  Record value;
  std::memset(&value, fill, sizeof value);
  value.header = {kind, sizeof value};
  if constexpr (requires { value.start_ns; }) value.start_ns = value.end_ns = fill;
  if constexpr (requires { value.time_ns; }) value.time_ns = fill;
  return value;
}

// A small file with every type of chunk, closed and consistent.
inline std::string small_file() {
  auto call = record<CallRecord>(RecordKind::kCall);
  call.name = 1;
  call.stack = 9;
  call.correlation = 3;
  auto copy = record<MemcpyRecord>(RecordKind::kMemcpy);
  copy.bytes = 200704;
  copy.correlation = 3;
  EndEntry end{};
  end.call_count = end.memset_count = end.kernel_count = 1;
  end.memcpy_count = 2;
  end.memcpy_bytes = 2 * 200704;
  return file_header() +
         chunk(ChunkType::kMetadata, metadata("program", "python\x1ftrain.py") + metadata("rank", "0")) +
         chunk(ChunkType::kRecords, bytes_of(call) + bytes_of(copy) + bytes_of(copy)) +
         chunk(ChunkType::kStrings,
               string_entry(1, "cudaMemcpyAsync") + string_entry(2, "step") + string_entry(3, "/home/me/train.py")) +
         chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kPython, 2, 3, 12, 10, 0})) +
         chunk(ChunkType::kStacks, stack_entry(9, {5})) +
         chunk(ChunkType::kRecords, bytes_of(record<MemsetRecord>(RecordKind::kMemset)) +
                                        bytes_of(record<KernelRecord>(RecordKind::kKernel))) +
         chunk(ChunkType::kClock, bytes_of(ClockSample{1, 2, kUnknownTime, 4})) +
         chunk(ChunkType::kLosses, bytes_of(LossEntry{static_cast<std::uint32_t>(Loss::kClockStepped), 0, 1})) +
         chunk(ChunkType::kEnd, bytes_of(end));
}

// Every record as its bytes, in the order of arrival.
class Collector : public RecordSink {
 public:
  void on(const CallRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const MemcpyRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const MemsetRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const KernelRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const RangeRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const DeviceRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const ThreadRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const StreamRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const MigrationRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const GraphNodeRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const ContentRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const MemoryRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const LinkTrafficRecord& value) override { records.push_back(bytes_of(value)); }
  void on(const SampleRecord& value) override { records.push_back(bytes_of(value)); }

  std::vector<std::string> records;
};

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "turnpike_test_XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryDirectory() {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class TraceFileTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes, std::string_view name = "a.tpt") const {
    std::ofstream(directory_ / name, std::ios::binary | std::ios::trunc) << bytes;
    return directory_ / name;
  }

  // Reads `bytes` as a file, which is in memory because some tests read thousands; the records go to collector_.
  Result<Process> read(const std::string& bytes) {
    collector_.records.clear();
    const int file = ::memfd_create("trace", MFD_CLOEXEC);
    EXPECT_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    auto process = read_file("/proc/self/fd/" + std::to_string(file), collector_);
    ::close(file);
    return process;
  }

  TemporaryDirectory directory_;
  Collector collector_;
};

inline std::uint64_t loss_of(const Process& process, Loss loss) {
  const auto found = process.losses.find(static_cast<std::uint32_t>(loss));
  return found == process.losses.end() ? 0 : found->second;
}

}  // namespace turnpike::trace
