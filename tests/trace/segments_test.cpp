// Recordings that keep the last of a program: one file of definitions, and segments beside it.
#include <gmock/gmock.h>

#include <vector>

#include "trace/reader.h"
#include "trace/trace_file.h"

namespace turnpike::trace {
namespace {

using testing::ElementsAre;

struct Correlations : RecordSink {
  std::vector<std::uint32_t> calls, copies;
  std::vector<std::int64_t> range_starts;
  int devices = 0;
  void on(const CallRecord& call) override { calls.push_back(call.correlation); }
  void on(const MemcpyRecord& copy) override { copies.push_back(copy.correlation); }
  void on(const RangeRecord& range) override { range_starts.push_back(range.start_ns); }
  void on(const DeviceRecord&) override { ++devices; }
};

std::string segment_header(std::uint32_t first_correlation, std::int64_t start_ns, std::uint32_t pid = 4242) {
  FileHeader header;
  std::memcpy(&header, file_header().data(), sizeof header);
  header.reserved[0] = first_correlation;
  header.start_realtime_ns = start_ns;
  header.pid = pid;
  return bytes_of(header);
}

std::string call(std::uint32_t correlation) {
  auto value = record<CallRecord>(RecordKind::kCall);
  value.correlation = correlation;
  return bytes_of(value);
}

std::string copy(std::uint32_t correlation) {
  auto value = record<MemcpyRecord>(RecordKind::kMemcpy);
  value.correlation = correlation;
  value.bytes = 8;
  return bytes_of(value);
}

std::string range(std::int64_t start_ns, std::int64_t end_ns) {
  auto value = record<RangeRecord>(RecordKind::kRange);
  value.start_ns = start_ns;
  value.end_ns = end_ns;
  return bytes_of(value);
}

std::string losses(std::uint64_t dropped, std::uint64_t failed) {
  return chunk(ChunkType::kLosses,
               bytes_of(LossEntry{static_cast<std::uint32_t>(Loss::kCuptiDropped), 0, dropped}) +
                   bytes_of(LossEntry{static_cast<std::uint32_t>(Loss::kCuptiCallFailed), 0, failed}));
}

std::string end(std::uint64_t calls, std::uint64_t copies) {
  EndEntry entry{};
  entry.end_realtime_ns = 900;
  entry.call_count = calls;
  entry.memcpy_count = copies;
  entry.memcpy_bytes = copies * 8;
  return chunk(ChunkType::kEnd, bytes_of(entry));
}

class Segments : public testing::Test {
 protected:
  void SetUp() override {
    write("4242.tpt", file_header() + chunk(ChunkType::kMetadata, metadata("last_ms", "60000")) +
                          chunk(ChunkType::kRecords, bytes_of(record<DeviceRecord>(RecordKind::kDevice))));
  }
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
  }
  Process read() {
    found_ = {};
    return *read_file(directory_ / "4242.tpt", found_);
  }
  std::uint64_t loss(const Process& process, Loss loss) {
    const auto found = process.losses.find(static_cast<std::uint32_t>(loss));
    return found == process.losses.end() ? 0 : found->second;
  }

  TemporaryDirectory directory_;
  Correlations found_;
};

TEST_F(Segments, AreReadByTheirNumber) {
  write("4242.999999.tps", segment_header(5, 100) + losses(0, 0) + chunk(ChunkType::kRecords, call(5)) + end(1, 0));
  write("4242.1000000.tps", segment_header(6, 200) + losses(0, 0) + chunk(ChunkType::kRecords, call(6)) + end(1, 0));
  write("42.000001.tps", segment_header(1, 1, 42) + chunk(ChunkType::kRecords, call(77)));
  write("4242.12.tps", "too few digits");
  const Process process = read();
  EXPECT_THAT(found_.calls, ElementsAre(5u, 6u));
  EXPECT_EQ(found_.devices, 1);
  EXPECT_EQ(process.kept_since_ns, 100);
  EXPECT_TRUE(process.losses.empty());
  ASSERT_TRUE(process.end);
  EXPECT_EQ(process.end->call_count, 2u);
}

TEST_F(Segments, LeaveOutWhatBelongsToCallsBeforeThem) {
  write("4242.000007.tps", segment_header(5, 100) + losses(0, 0) +
                               chunk(ChunkType::kRecords, copy(4) + call(3) + call(5) + copy(5) + copy(0) +
                                                              range(90, 150) + range(110, 120)) +
                               end(2, 3));
  const Process process = read();
  EXPECT_THAT(found_.calls, ElementsAre(5u));
  EXPECT_THAT(found_.copies, ElementsAre(5u, 0u));
  EXPECT_THAT(found_.range_starts, ElementsAre(110));
  EXPECT_TRUE(process.losses.empty()) << "left out is not lost";
}

TEST_F(Segments, LeaveOutNothingWhereNoneIsGone) {
  write("4242.000001.tps", segment_header(0, 100) + losses(0, 0) +
                               chunk(ChunkType::kRecords, call(3) + copy(2) + range(90, 150)) + end(1, 1));
  read();
  EXPECT_THAT(found_.calls, ElementsAre(3u));
  EXPECT_THAT(found_.copies, ElementsAre(2u));
  EXPECT_THAT(found_.range_starts, ElementsAre(90));
}

TEST_F(Segments, KnowThatIdsComeRound) {
  write("4242.000002.tps", segment_header(0xFFFFFFF0, 100) + losses(0, 0) +
                               chunk(ChunkType::kRecords, call(0xFFFFFFEF) + call(0xFFFFFFF0) + call(2)) + end(3, 0));
  read();
  EXPECT_THAT(found_.calls, ElementsAre(0xFFFFFFF0, 2u));
}

TEST_F(Segments, CountTheLossesOfTheWindowAlone) {
  write("4242.000002.tps", segment_header(0, 100) + losses(7, 1) + losses(9, 1) + end(0, 0));
  write("4242.000003.tps", segment_header(0, 200) + losses(9, 1) + losses(12, 1) + end(0, 0));
  const Process process = read();
  EXPECT_EQ(loss(process, Loss::kCuptiDropped), 5u);
  EXPECT_EQ(loss(process, Loss::kCuptiCallFailed), 1u) << "what it would have switched on is still missing";
}

TEST_F(Segments, AreClosedWhenTheLastIs) {
  write("4242.000001.tps", segment_header(0, 100) + chunk(ChunkType::kRecords, call(1)) + end(1, 0));
  write("4242.000002.tps", segment_header(2, 200) + chunk(ChunkType::kRecords, call(2)));
  const Process process = read();
  EXPECT_FALSE(process.end);
  EXPECT_EQ(loss(process, Loss::kNotClosed), 1u);
  EXPECT_EQ(loss(process, Loss::kCountMismatch), 0u);
  EXPECT_THAT(found_.calls, ElementsAre(1u, 2u));
}

TEST_F(Segments, ThatAreMissingAreCounted) {
  EXPECT_EQ(loss(read(), Loss::kMissingSegment), 1u) << "all of them";
  write("4242.000003.tps", segment_header(1, 100) + chunk(ChunkType::kRecords, call(1)) + end(1, 0));
  write("4242.000006.tps", segment_header(4, 400) + chunk(ChunkType::kRecords, call(4)) + end(1, 0));
  EXPECT_EQ(loss(read(), Loss::kMissingSegment), 2u);
  EXPECT_THAT(found_.calls, ElementsAre(1u, 4u));
  write("4242.000004.tps", "no trace");
  EXPECT_EQ(loss(read(), Loss::kMissingSegment), 2u);
  write("4242.000005.tps", segment_header(3, 300, 99) + chunk(ChunkType::kRecords, call(3)) + end(1, 0));
  EXPECT_EQ(loss(read(), Loss::kMissingSegment), 2u) << "of another process";
  EXPECT_THAT(found_.calls, ElementsAre(1u, 4u));
}

TEST_F(Segments, ThatWereOnlyJustMadeHeldNothing) {
  write("4242.000001.tps", segment_header(1, 100) + losses(0, 0) + chunk(ChunkType::kRecords, call(1)) + end(1, 0));
  write("4242.000002.tps", "");
  const Process process = read();
  EXPECT_THAT(found_.calls, ElementsAre(1u));
  EXPECT_EQ(loss(process, Loss::kMissingSegment), 0u);
  write("4242.000003.tps", segment_header(2, 200) + losses(0, 0) + chunk(ChunkType::kRecords, call(2)) + end(1, 0));
  EXPECT_EQ(loss(read(), Loss::kMissingSegment), 1u) << "another one follows, so it held something once";
}

TEST_F(Segments, OfAnOrdinaryFileAreNotLookedFor) {
  write("4242.tpt", small_file());
  write("4242.000001.tps", segment_header(0, 100) + chunk(ChunkType::kRecords, call(77)) + end(1, 0));
  const Process process = read();
  EXPECT_EQ(process.kept_since_ns, kUnknownTime);
  EXPECT_THAT(found_.calls, ElementsAre(3u));
}

}  // namespace
}  // namespace turnpike::trace
