// Feeds any bytes to the reader of torch.profiler's traces, plain or packed, through windows of several sizes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "ingest/kineto/gzip.h"
#include "ingest/kineto/kineto.h"
#include "trace/process.h"
#include "trace/record_sink.h"

namespace {

using namespace turnpike;

void require(bool holds) {
  if (!holds) std::abort();
}

class MemorySource final : public ingest::ByteSource {
 public:
  MemorySource(std::string_view bytes, std::size_t piece_bytes) : bytes_(bytes), piece_bytes_(piece_bytes) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t count = std::min({into.size(), piece_bytes_, bytes_.size() - at_});
    if (count > 0) std::memcpy(into.data(), bytes_.data() + at_, count);
    at_ += count;
    return count;
  }
  std::uint64_t consumed_bytes() const override { return at_; }
  std::uint64_t file_bytes() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t piece_bytes_;
  std::size_t at_ = 0;
};

// Keeps every record as bytes, and the ids that calls refer to.
class Collector final : public trace::RecordSink {
 public:
  void on(const trace::CallRecord& record) override {
    keep(record);
    require(record.name != trace::kNoId && record.end_ns >= record.start_ns);
    calls.push_back(record);
  }
  void on(const trace::MemcpyRecord& record) override { keep(record); }
  void on(const trace::MemsetRecord& record) override { keep(record); }
  void on(const trace::KernelRecord& record) override { keep(record); }
  void on(const trace::RangeRecord& record) override { keep(record); }
  void on(const trace::DeviceRecord& record) override { keep(record); }
  void on(const trace::ThreadRecord& record) override { keep(record); }
  void on(const trace::SampleRecord& record) override {
    keep(record);
    require(++sample_count <= 40'000);
  }

  std::string bytes;
  std::vector<trace::CallRecord> calls;
  std::size_t sample_count = 0;

 private:
  template <typename Record>
  void keep(const Record& record) {
    require(record.header.bytes == sizeof record);
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
};

Result<trace::Process> read(std::string_view input, bool is_packed, std::size_t piece_bytes, std::size_t window_bytes,
                            Collector& collector) {
  std::unique_ptr<ingest::ByteSource> source = std::make_unique<MemorySource>(input, piece_bytes);
  if (is_packed) source = ingest::unpacked(std::move(source));
  return ingest::read_kineto(*source, "input", collector, {}, window_bytes, std::size_t{1} << 16);
}

void check_references(const trace::Process& process, const Collector& collector) {
  for (const trace::CallRecord& call : collector.calls) {
    require(process.strings.contains(call.name));
    require(call.stack == trace::kNoId || process.stacks.contains(call.stack));
  }
  for (const auto [id, stack] : process.stacks) {
    for (const std::uint32_t frame : stack.frames) require(process.frames.contains(frame));
  }
}

}  // namespace

// The first byte: its lowest bit says whether the rest is packed, the others how large the pieces are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool is_packed = data[0] % 2 == 1;
  const std::size_t piece_bytes = 1 + data[0] / 2;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  Collector whole;
  const auto process = read(input, is_packed, std::size_t{1} << 20, std::size_t{1} << 16, whole);
  if (!process) {
    require(!process.error().message.empty());
    return 0;
  }
  check_references(*process, whole);
  // What is read without a loss does not depend on where the windows end.
  Collector in_pieces;
  const auto again = read(input, is_packed, piece_bytes, 64, in_pieces);
  require(again.has_value());
  check_references(*again, in_pieces);
  if (process->losses.empty()) require(again->losses.empty() && in_pieces.bytes == whole.bytes);
  return 0;
}
