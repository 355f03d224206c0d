// What the reader makes of whole files: every record, every definition, and files that are no trace.
#include "trace/reader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "trace/trace_file.h"

namespace turnpike::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Reader : public TraceFileTest {
 protected:
  std::string error_of(const std::filesystem::path& path) {
    const auto process = read_file(path, collector_);
    return process ? "no error" : process.error().message;
  }
};

TEST_F(Reader, HandsOnEveryKindOfRecordUnchanged) {
  const std::vector<std::string> records = {
      bytes_of(record<CallRecord>(RecordKind::kCall, 0xA1)),
      bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy, 0xA2)),
      bytes_of(record<MemsetRecord>(RecordKind::kMemset, 0xA3)),
      bytes_of(record<KernelRecord>(RecordKind::kKernel, 0xA4)),
      bytes_of(record<RangeRecord>(RecordKind::kRange, 0xA5)),
      bytes_of(record<DeviceRecord>(RecordKind::kDevice, 0xA6)),
      bytes_of(record<ThreadRecord>(RecordKind::kThread, 0xA7)),
      bytes_of(record<StreamRecord>(RecordKind::kStream, 0xA8)),
      bytes_of(record<MigrationRecord>(RecordKind::kMigration, 0xA9)),
      bytes_of(record<GraphNodeRecord>(RecordKind::kGraphNode, 0xAA)),
      bytes_of(record<ContentRecord>(RecordKind::kContent, 0xAB)),
      bytes_of(record<MemoryRecord>(RecordKind::kMemory, 0xAC)),
      bytes_of(record<SampleRecord>(RecordKind::kSample, 0xAD)),
      bytes_of(record<LinkTrafficRecord>(RecordKind::kLinkTraffic, 0xAE)),
  };
  std::string payload;
  for (const std::string& each : records) payload += each;
  const auto process = read(file_header() + chunk(ChunkType::kRecords, payload));
  ASSERT_TRUE(process);
  EXPECT_EQ(collector_.records, records);
  EXPECT_EQ(loss_of(*process, Loss::kUnknownRecord), 0u);
}

TEST_F(Reader, TellsWhoTheProcessWas) {
  const auto process = read_file(write(small_file()), collector_);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->path, (directory_ / "a.tpt").string());
  EXPECT_EQ(process->pid, 4242u);
  EXPECT_EQ(process->parent_pid, 4241u);
  EXPECT_EQ(process->start_realtime_ns, 1'700'000'000'000'000'000);
  EXPECT_EQ(process->metadata.at("program"), "python\x1ftrain.py");
  EXPECT_EQ(process->metadata.at("rank"), "0");
}

TEST_F(Reader, ResolvesDefinitionsThatStandBehindTheirUse) {
  const auto process = read(small_file());
  ASSERT_TRUE(process);
  EXPECT_EQ(process->string(1), "cudaMemcpyAsync");
  const Frame& frame = process->frames.at(process->stacks.at(9).frames[0]);
  EXPECT_EQ(frame.kind, FrameKind::kPython);
  EXPECT_EQ(frame.function, "step");
  EXPECT_EQ(frame.file, "/home/me/train.py");
  EXPECT_EQ(frame.line, 12u);
  EXPECT_EQ(frame.first_line, 10u);
}

TEST_F(Reader, FindsNoLossInConsistentFile) {
  const auto process = read(small_file());
  ASSERT_TRUE(process);
  EXPECT_EQ(collector_.records.size(), 5u);
  ASSERT_EQ(process->clock_samples.size(), 1u);
  EXPECT_EQ(process->clock_samples[0].cupti_ns, kUnknownTime);
  EXPECT_EQ(process->losses.size(), 1u) << "only the recorder's own";
  EXPECT_EQ(loss_of(*process, Loss::kClockStepped), 1u);
  ASSERT_TRUE(process->end);
  EXPECT_EQ(process->end->memcpy_count, 2u);
}

TEST_F(Reader, KeepsStacksAsTheyAre) {
  const auto process = read(file_header() + chunk(ChunkType::kStacks, stack_entry(1, {7, 8, 9}, kStackIsTruncated) +
                                                                          stack_entry(2, {}) + stack_entry(3, {7, 8})));
  ASSERT_TRUE(process);
  EXPECT_THAT(process->stacks.at(1).frames, ElementsAre(7, 8, 9));
  EXPECT_TRUE(process->stacks.at(1).is_truncated);
  EXPECT_THAT(process->stacks.at(2).frames, IsEmpty());
  EXPECT_THAT(process->stacks.at(3).frames, ElementsAre(7, 8));
  EXPECT_FALSE(process->stacks.at(3).is_truncated);
}

TEST_F(Reader, ReadsTextOfEveryLengthAndItsPadding) {
  std::string strings;
  std::string pairs;
  for (std::uint32_t size = 0; size < 20; ++size) {
    strings += string_entry(size + 1, std::string(size, 'x'));
    pairs += metadata("key" + std::to_string(size), std::string(size, 'y'));
  }
  const auto process = read(file_header() + chunk(ChunkType::kStrings, strings) + chunk(ChunkType::kMetadata, pairs));
  ASSERT_TRUE(process);
  for (std::uint32_t size = 0; size < 20; ++size) {
    EXPECT_EQ(process->strings.at(size + 1), std::string(size, 'x'));
    EXPECT_EQ(process->metadata.at("key" + std::to_string(size)), std::string(size, 'y'));
  }
}

TEST_F(Reader, LetsLaterMetadataAndLossesReplaceEarlierOnes) {
  const auto lost = [](Loss loss, std::uint64_t count) {
    return chunk(ChunkType::kLosses, bytes_of(LossEntry{static_cast<std::uint32_t>(loss), 0, count}));
  };
  const auto process = read(file_header() + chunk(ChunkType::kMetadata, metadata("rank", "0")) +
                            lost(Loss::kStacksFull, 2) + lost(Loss::kCuptiDropped, 5) +
                            chunk(ChunkType::kMetadata, metadata("rank", "3")) + lost(Loss::kCuptiDropped, 7));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->metadata.at("rank"), "3");
  EXPECT_EQ(loss_of(*process, Loss::kCuptiDropped), 7u);
  EXPECT_EQ(loss_of(*process, Loss::kStacksFull), 0u) << "a later chunk replaces all of an earlier one";
}

TEST_F(Reader, KeepsLossesThatItHasNoNameFor) {
  const auto process = read(file_header() + chunk(ChunkType::kLosses, bytes_of(LossEntry{77, 0, 6})));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->losses.at(77), 6u);
}

TEST_F(Reader, SkipsAndCountsUnknownChunks) {
  const std::string copy = bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy));
  const auto process = read(file_header() + chunk(ChunkType{99}, "whatever") + chunk(ChunkType{100}, "") +
                            chunk(ChunkType::kRecords, copy));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kUnknownChunk), 2u);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), 0u);
  EXPECT_EQ(collector_.records.size(), 1u);
}

TEST_F(Reader, SkipsAndCountsUnknownRecords) {
  const std::string unknown = bytes_of(RecordHeader{RecordKind{77}, 16}) + std::string(12, 'u');
  const std::string copy = bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy));
  const auto process = read(file_header() + chunk(ChunkType::kRecords, unknown + copy + unknown));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kUnknownRecord), 2u);
  EXPECT_THAT(collector_.records, ElementsAre(copy));
}

TEST_F(Reader, TakesTheBeginningOfLongerRecords) {
  auto longer = record<KernelRecord>(RecordKind::kKernel, 0x33);
  longer.header.bytes = sizeof longer + 8;
  const auto process = read(file_header() + chunk(ChunkType::kRecords, bytes_of(longer) + "new data"));
  ASSERT_TRUE(process);
  EXPECT_THAT(collector_.records, ElementsAre(bytes_of(longer)));
  EXPECT_EQ(loss_of(*process, Loss::kUnknownRecord), 0u);
}

TEST_F(Reader, RefusesShorterRecordsAsUnknown) {
  auto shorter = record<KernelRecord>(RecordKind::kKernel);
  shorter.header.bytes = sizeof shorter - 8;
  const auto process =
      read(file_header() + chunk(ChunkType::kRecords, bytes_of(shorter).substr(0, shorter.header.bytes)));
  ASSERT_TRUE(process);
  EXPECT_THAT(collector_.records, IsEmpty());
  EXPECT_EQ(loss_of(*process, Loss::kUnknownRecord), 1u);
}

template <typename Record>
std::string span_record(RecordKind kind, std::int64_t start_ns, std::int64_t end_ns) {
  auto value = record<Record>(kind);
  value.start_ns = start_ns;
  value.end_ns = end_ns;
  return bytes_of(value);
}

template <typename Record>
std::string moment_record(RecordKind kind, std::int64_t time_ns) {
  auto value = record<Record>(kind);
  value.time_ns = time_ns;
  return bytes_of(value);
}

TEST_F(Reader, LeavesOutRecordsWhoseTimesCannotBe) {
  const std::string possible = span_record<CallRecord>(RecordKind::kCall, -kMaxTimeNs, kMaxTimeNs) +
                               span_record<MemcpyRecord>(RecordKind::kMemcpy, kUnknownTime, kUnknownTime) +
                               moment_record<SampleRecord>(RecordKind::kSample, kMaxTimeNs);
  const std::string impossible = span_record<CallRecord>(RecordKind::kCall, -kMaxTimeNs - 1, 0) +
                                 span_record<KernelRecord>(RecordKind::kKernel, 0, kMaxTimeNs + 1) +
                                 moment_record<MemoryRecord>(RecordKind::kMemory, kUnknownTime + 1);
  const auto process = read(file_header() + chunk(ChunkType::kRecords, impossible + possible));
  ASSERT_TRUE(process);
  EXPECT_EQ(collector_.records.size(), 3u);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), impossible.size());
}

TEST_F(Reader, LeavesOutClocksAndStartsThatCannotBe) {
  std::string header = file_header();
  const std::int64_t never = kMaxTimeNs + 1;
  std::memcpy(header.data() + offsetof(FileHeader, start_realtime_ns), &never, sizeof never);
  const std::string clocks = bytes_of(ClockSample{never, 2, 3, 4}) + bytes_of(ClockSample{1, -never, 3, 4}) +
                             bytes_of(ClockSample{1, 2, never, 4}) + bytes_of(ClockSample{1, 2, kUnknownTime, 4});
  const auto process = read(header + chunk(ChunkType::kClock, clocks));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->start_realtime_ns, kUnknownTime);
  EXPECT_EQ(process->clock_samples.size(), 1u);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), 3 * sizeof(ClockSample));
}

TEST_F(Reader, ReportsProgressUpToTheEnd) {
  const std::string big = chunk(ChunkType::kStrings, string_entry(1, std::string(20u << 20, 'x')));
  std::vector<std::uint64_t> done;
  std::uint64_t total = 0;
  const auto path = write(file_header() + big + big);
  ASSERT_TRUE(read_file(path, collector_, [&](std::uint64_t done_bytes, std::uint64_t total_bytes) {
    done.push_back(done_bytes);
    total = total_bytes;
  }));
  EXPECT_EQ(total, std::filesystem::file_size(path));
  ASSERT_GE(done.size(), 2u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), total);
}

TEST_F(Reader, ReadsChunksOfTheLargestSize) {
  const std::string text((kMaxChunkBytes) - sizeof(StringEntry), 'z');
  const auto process = read(file_header() + chunk(ChunkType::kStrings, string_entry(4, text)));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->string(4), text);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), 0u);
}

TEST_F(Reader, CountsFilesThatWereNotClosed) {
  const auto process = read(file_header());
  ASSERT_TRUE(process);
  EXPECT_FALSE(process->end);
  EXPECT_EQ(loss_of(*process, Loss::kNotClosed), 1u);
}

TEST_F(Reader, CountsRecordsThatTheRecorderCountedAndTheFileLacks) {
  EndEntry end{};
  end.call_count = 2;
  end.kernel_count = 1;
  const auto process = read(file_header() + chunk(ChunkType::kEnd, bytes_of(end)));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kCountMismatch), 3u);
}

TEST_F(Reader, CountsMismatchWhenOnlyTheBytesDiffer) {
  auto copy = record<MemcpyRecord>(RecordKind::kMemcpy);
  copy.bytes = 100;
  EndEntry end{};
  end.memcpy_count = 1;
  end.memcpy_bytes = 101;
  const auto process =
      read(file_header() + chunk(ChunkType::kRecords, bytes_of(copy)) + chunk(ChunkType::kEnd, bytes_of(end)));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kCountMismatch), 1u);
}

TEST_F(Reader, CountsUndefinedFramesAndStrings) {
  const auto process =
      read(file_header() + chunk(ChunkType::kStacks, stack_entry(1, {5, 6}) + stack_entry(2, {6})) +
           chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kNative, 40, 41, 0, 0, 64}) +
                                         bytes_of(FrameEntry{7, FrameKind::kNative, 0, 41, 0, 0, 64})));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 3u) << "frame 6, strings 40 and 41";
  EXPECT_EQ(process->frames.at(5).function, "");
}

TEST_F(Reader, CountsUndefinedFramesOfHighNumbers) {
  constexpr std::uint32_t kHigh = 3'000'000'000;
  const auto process =
      read(file_header() + chunk(ChunkType::kStacks, stack_entry(1, {5, kHigh}) + stack_entry(2, {kHigh + 1})) +
           chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kNative, 0, 0, 0, 0, 64}) +
                                         bytes_of(FrameEntry{kHigh, FrameKind::kNative, 0, 0, 0, 0, 64})));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 1u) << "the second stack's frame";
}

TEST_F(Reader, CountsNoUndefinedFrameOfAStackThatIsReplaced) {
  const auto process = read(file_header() + chunk(ChunkType::kStacks, stack_entry(1, {5, 6}) + stack_entry(1, {5})) +
                            chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kNative, 0, 0, 0, 0, 64})));
  ASSERT_TRUE(process);
  EXPECT_THAT(process->stacks.at(1).frames, ElementsAre(5));
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 0u);
}

std::string source_text_entry(std::uint32_t file, std::uint32_t first_line, const std::string& text,
                              char version = 'v') {
  SourceTextEntry entry{file, first_line, static_cast<std::uint32_t>(text.size()), 0, {}};
  std::memset(entry.sha256, version, sizeof entry.sha256);
  return bytes_of(entry) + text + std::string((8 - text.size() % 8) % 8, '\0');
}

TEST_F(Reader, KeepsTheSourceOfFilesThatAreNamedLater) {
  const auto process = read(
      file_header() +
      chunk(ChunkType::kSourceText, source_text_entry(3, 7, "x = x.cuda()\ny\n") + source_text_entry(4, 1, "m\n")) +
      chunk(ChunkType::kSourceText, source_text_entry(3, 30, "z\n")) +
      chunk(ChunkType::kStrings, string_entry(3, "/train.py") + string_entry(4, "/model.py")));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->source_text.line("/train.py", 7), "x = x.cuda()");
  EXPECT_EQ(process->source_text.line("/train.py", 8), "y");
  EXPECT_EQ(process->source_text.line("/train.py", 30), "z");
  EXPECT_EQ(process->source_text.line("/model.py", 1), "m");
  EXPECT_EQ(process->losses.size(), 1u) << "not closed";
}

TEST_F(Reader, CountsDamageInSourceText) {
  const std::string names = chunk(ChunkType::kStrings, string_entry(3, "/train.py"));
  const auto damaged_bytes = [&](const std::string& payload) {
    const auto process = read(file_header() + names + chunk(ChunkType::kSourceText, payload));
    EXPECT_TRUE(process);
    return loss_of(*process, Loss::kDamagedBytes);
  };
  EXPECT_EQ(damaged_bytes(source_text_entry(3, 1, "whole\n")), 0u);
  EXPECT_EQ(damaged_bytes(source_text_entry(3, 0, "line 0\n")), 56u);
  EXPECT_EQ(damaged_bytes(source_text_entry(3, 1, "")), 48u);
  EXPECT_EQ(damaged_bytes(bytes_of(SourceTextEntry{3, 1, 9, 0, {}}) + "12345678"), 56u) << "longer than the chunk";
  EXPECT_EQ(damaged_bytes(bytes_of(SourceTextEntry{3, 1, kUnknownId, 0, {}})), 48u);
  EXPECT_EQ(damaged_bytes(std::string(40, 'x')), 40u);
  const auto process = read(file_header() + names + chunk(ChunkType::kSourceText, source_text_entry(9, 1, "a\n")));
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 1u);
}

TEST_F(Reader, BoundsTheSourceOfAFile) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::string payload;
  for (std::uint32_t line = 1; line <= 16; ++line) payload += source_text_entry(3, line, std::string(kMiB, 'x'));
  const auto process = read(file_header() + chunk(ChunkType::kStrings, string_entry(3, "/train.py")) +
                            chunk(ChunkType::kSourceText, payload));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), kMiB + sizeof(SourceTextEntry)) << "the sixteenth, with its entry";
}

// Of torch.compile: stacks do not name the lines that a frame's code was compiled from.
TEST_F(Reader, PutsTheLinesOfCompiledCodeBehindItsFrame) {
  const std::string frames = bytes_of(FrameEntry{5, FrameKind::kPython, 1, 2, 7, 1, 0}) +
                             bytes_of(FrameEntry{9, FrameKind::kPython, 1, 3, 30, 1, 0});
  const std::string sources = bytes_of(SourceEntry{5, 1, 3, 12}) + bytes_of(SourceEntry{5, 0, 3, 20});
  const auto process =
      read(file_header() + chunk(ChunkType::kStacks, stack_entry(1, {5, 9}) + stack_entry(2, {9})) +
           chunk(ChunkType::kFrames, frames) + chunk(ChunkType::kSources, sources) +
           chunk(ChunkType::kStrings,
                 string_entry(1, "forward") + string_entry(2, "<eval_with_key>.3") + string_entry(3, "/model.py")));
  ASSERT_TRUE(process);
  const auto& stack = process->stacks.at(1).frames;
  ASSERT_EQ(stack.size(), 4u);
  EXPECT_EQ(stack[0], 5u);
  EXPECT_EQ(stack[3], 9u);
  const Frame& innermost = process->frames.at(stack[1]);
  EXPECT_EQ(innermost.kind, FrameKind::kPython);
  EXPECT_EQ(innermost.function, "forward");
  EXPECT_EQ(innermost.file, "/model.py");
  EXPECT_EQ(innermost.line, 12u);
  EXPECT_TRUE(innermost.is_compiled);
  EXPECT_EQ(process->frames.at(stack[2]).line, 20u);
  EXPECT_FALSE(process->frames.at(5).is_compiled);
  EXPECT_THAT(process->stacks.at(2).frames, ElementsAre(9));
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 0u);
}

// 1 MB of stacks that would become 130 MB.
TEST_F(Reader, BoundsWhatLinesOfCompiledCodeAddToTheStacks) {
  std::string sources;
  for (std::uint32_t line = 1; line <= 128; ++line) sources += bytes_of(SourceEntry{5, 0, 0, line});
  std::string stacks;
  constexpr std::uint32_t kStacks = 600;
  for (std::uint32_t id = 1; id <= kStacks; ++id) stacks += stack_entry(id, std::vector<std::uint32_t>(400, 5));
  const auto process = read(file_header() + chunk(ChunkType::kStacks, stacks) +
                            chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kPython, 0, 0, 7, 1, 0})) +
                            chunk(ChunkType::kSources, sources));
  ASSERT_TRUE(process);
  std::size_t frames = 0;
  for (const auto [id, stack] : process->stacks) frames += stack.frames.size();
  constexpr std::size_t kMost = std::size_t{16} << 20;
  EXPECT_EQ(frames, kStacks * 400 + kMost);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), (kStacks * 400 * 128 - kMost) * sizeof(std::uint32_t));
}

TEST_F(Reader, CountsLinesOfFramesThatAreNotDefinedOrHaveTooMany) {
  std::string sources = bytes_of(SourceEntry{8, 0, 0, 12});
  for (std::uint32_t line = 1; line <= 130; ++line) sources += bytes_of(SourceEntry{5, 0, 0, line});
  const auto process = read(file_header() + chunk(ChunkType::kStacks, stack_entry(1, {5})) +
                            chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kPython, 0, 0, 7, 1, 0})) +
                            chunk(ChunkType::kSources, sources));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->stacks.at(1).frames.size(), 129u);
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 1u);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), 2 * sizeof(SourceEntry));
}

TEST_F(Reader, LeavesOutNamesOfFramesThatAskForTooMuchMemory) {
  std::string frames;
  for (std::uint32_t id = 1; id <= 600; ++id) frames += bytes_of(FrameEntry{id, FrameKind::kPython, 1, 0, 0, 0, 0});
  const auto process = read(file_header() + chunk(ChunkType::kStrings, string_entry(1, std::string(1u << 20, 'x'))) +
                            chunk(ChunkType::kFrames, frames));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->frames.size(), 600u);
  EXPECT_EQ(process->frames.at(600).function, "");
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 1u);
}

TEST_F(Reader, KeepsFramesOfOperators) {
  const auto process = read(file_header() + chunk(ChunkType::kStrings, string_entry(1, "aten::to")) +
                            chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kOperator, 1, 0, 0, 0, 0})));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->frames.at(5).kind, FrameKind::kOperator);
  EXPECT_EQ(process->frames.at(5).function, "aten::to");
  EXPECT_EQ(loss_of(*process, Loss::kUnknownRecord), 0u);
}

TEST_F(Reader, RefusesMissingFile) {
  EXPECT_THAT(error_of(directory_ / "none.tpt"), HasSubstr("none.tpt: No such file"));
}

TEST_F(Reader, RefusesDirectory) {
  EXPECT_THAT(error_of(directory_.path()), HasSubstr("is a directory"));
}

TEST_F(Reader, RefusesEmptyFile) {
  EXPECT_THAT(error_of(write("")), HasSubstr("is empty"));
}

TEST_F(Reader, RefusesNamedPipeWithoutWaiting) {
  ASSERT_EQ(::mkfifo((directory_ / "pipe.tpt").c_str(), 0600), 0);
  EXPECT_THAT(error_of(directory_ / "pipe.tpt"), HasSubstr("is not a regular file"));
}

TEST_F(Reader, RefusesOtherFiles) {
  EXPECT_THAT(error_of(write("{\"traceEvents\": []}")), HasSubstr("is not a Turnpike trace"));
  EXPECT_THAT(error_of(write("T")), HasSubstr("cut off inside its header"));
  EXPECT_THAT(error_of(write("x")), HasSubstr("is not a Turnpike trace"));
}

TEST_F(Reader, RefusesNewerVersion) {
  EXPECT_THAT(error_of(write(file_header(kFormatVersion + 1))), HasSubstr("written by a newer Turnpike"));
}

TEST_F(Reader, RefusesVersionZero) {
  EXPECT_THAT(error_of(write(file_header(0))), HasSubstr("damaged header"));
}

TEST_F(Reader, AcceptsLongerHeaderOfLaterWriter) {
  std::string longer = file_header();
  const std::uint32_t header_bytes = 96;
  longer.replace(12, 4, bytes_of(header_bytes));
  const std::string copy = bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy));
  const auto process = read(longer + std::string(32, 'h') + chunk(ChunkType::kRecords, copy));
  ASSERT_TRUE(process);
  EXPECT_EQ(loss_of(*process, Loss::kDamagedBytes), 0u);
  EXPECT_THAT(collector_.records, ElementsAre(copy));
}

TEST_F(Reader, BelievesHeadersOfUpTo4096Bytes) {
  const auto damaged_bytes = [this](std::uint32_t header_bytes) {
    std::string header = file_header();
    header.replace(12, 4, bytes_of(header_bytes));
    if (header_bytes > header.size() && header_bytes < 5000) header.resize(header_bytes, 'h');
    const auto process = read(header + chunk(ChunkType::kRecords, bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy))));
    EXPECT_TRUE(process);
    EXPECT_EQ(collector_.records.size(), 1u) << header_bytes;
    return process ? loss_of(*process, Loss::kDamagedBytes) : 0;
  };
  EXPECT_EQ(damaged_bytes(64), 0u);
  EXPECT_EQ(damaged_bytes(72), 0u);
  EXPECT_EQ(damaged_bytes(4096), 0u);
  EXPECT_EQ(damaged_bytes(4104), 4u + 4104 - 64);
  EXPECT_EQ(damaged_bytes(0), 4u);
  EXPECT_EQ(damaged_bytes(56), 4u);
  EXPECT_EQ(damaged_bytes(68), 4u + 4);
  EXPECT_EQ(damaged_bytes(0xFFFFFFF8), 4u);
}

TEST_F(Reader, ReportsProgressEveryMiB) {
  constexpr std::size_t kStep = 1u << 20;
  const auto reports = [this](std::size_t chunk_bytes) {
    std::vector<std::uint64_t> done;
    const std::string filler =
        chunk(ChunkType{90}, std::string(chunk_bytes - sizeof(FileHeader) - sizeof(ChunkHeader), 'x'));
    const auto path = write(file_header() + filler + chunk(ChunkType{90}, ""));
    EXPECT_TRUE(read_file(path, collector_, [&](std::uint64_t bytes, std::uint64_t) { done.push_back(bytes); }));
    return done;
  };
  EXPECT_THAT(reports(kStep), ElementsAre(kStep, kStep + sizeof(ChunkHeader)));
  EXPECT_THAT(reports(kStep - 8), ElementsAre(kStep + 8, kStep + 8));
  EXPECT_THAT(reports(kStep - 24), ElementsAre(kStep - 8));
}

TEST_F(Reader, CountsEachKindOfRecordAgainstTheEnd) {
  const std::string all =
      bytes_of(record<CallRecord>(RecordKind::kCall)) + bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy)) +
      bytes_of(record<MemsetRecord>(RecordKind::kMemset)) + bytes_of(record<KernelRecord>(RecordKind::kKernel));
  const auto mismatch = [&](EndEntry end) {
    const auto process = read(file_header() + chunk(ChunkType::kRecords, all) + chunk(ChunkType::kEnd, bytes_of(end)));
    EXPECT_TRUE(process);
    return process ? loss_of(*process, Loss::kCountMismatch) : 0;
  };
  EXPECT_EQ(mismatch({9, 1, 1, 0, 1, 1, {}}), 0u);
  EXPECT_EQ(mismatch({9, 3, 1, 0, 1, 1, {}}), 2u);
  EXPECT_EQ(mismatch({9, 1, 4, 0, 1, 1, {}}), 3u);
  EXPECT_EQ(mismatch({9, 1, 1, 0, 5, 1, {}}), 4u);
  EXPECT_EQ(mismatch({9, 1, 1, 0, 1, 6, {}}), 5u);
  EXPECT_EQ(mismatch({9, 0, 0, 0, 0, 0, {}}), 4u);
  EXPECT_EQ(mismatch({9, 0, 2, 77, 1, 1, {}}), 2u) << "one too many and one too few do not cancel out";
}

TEST_F(Reader, NamesFramesUpToTheLimit) {
  std::string frames;
  for (std::uint32_t id = 1; id <= 513; ++id) frames += bytes_of(FrameEntry{id, FrameKind::kPython, 1, 0, 0, 0, 0});
  const auto process = read(file_header() + chunk(ChunkType::kStrings, string_entry(1, std::string(1u << 20, 'x'))) +
                            chunk(ChunkType::kFrames, frames));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->frames.at(512).function.size(), 1u << 20);
  EXPECT_EQ(process->frames.at(513).function, "");
  EXPECT_EQ(loss_of(*process, Loss::kUndefinedReference), 1u);
}

TEST_F(Reader, TellsEveryFieldOfFramesAndClocks) {
  const auto process =
      read(file_header() + chunk(ChunkType::kStrings, string_entry(2, "f") + string_entry(3, "m.so")) +
           chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kNative, 2, 3, 4, 6, 7}) +
                                         bytes_of(FrameEntry{6, FrameKind{4}, 2, 3, 4, 6, 7})) +
           chunk(ChunkType::kClock, bytes_of(ClockSample{1, 2, 3, 4}) + bytes_of(ClockSample{5, 6, 7, 8})) +
           chunk(ChunkType::kEnd, bytes_of(EndEntry{11, 12, 13, 14, 15, 16, {}})));
  ASSERT_TRUE(process);
  ASSERT_EQ(process->frames.size(), 1u);
  const Frame& frame = process->frames.at(5);
  EXPECT_EQ(frame.kind, FrameKind::kNative);
  EXPECT_EQ(frame.function, "f");
  EXPECT_EQ(frame.file, "m.so");
  EXPECT_EQ(frame.line, 4u);
  EXPECT_EQ(frame.first_line, 6u);
  EXPECT_EQ(frame.module_offset, 7u);
  EXPECT_EQ(loss_of(*process, Loss::kUnknownRecord), 1u);
  ASSERT_EQ(process->clock_samples.size(), 2u);
  EXPECT_EQ(process->clock_samples[1].realtime_ns, 5);
  EXPECT_EQ(process->clock_samples[1].tsc, 8u);
  ASSERT_TRUE(process->end);
  EXPECT_EQ(process->end->end_realtime_ns, 11);
  EXPECT_EQ(process->end->kernel_count, 16u);
}

TEST_F(Reader, FindsFilesOfRunByName) {
  write("", "rank10-5.tpt");
  write("", "rank2-7.tpt");
  write("", "notes.txt");
  std::filesystem::create_directory(directory_ / "folder.tpt");
  const auto files = run_files(directory_.path());
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre(directory_ / "rank2-7.tpt", directory_ / "rank10-5.tpt"));
}

TEST_F(Reader, ALinkWithoutItsFileIsAPartOfTheRun) {
  write("", "1.tpt");
  std::filesystem::create_symlink("gone", directory_ / "2.tpt");
  const auto files = run_files(directory_.path());
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre(directory_ / "1.tpt", directory_ / "2.tpt"));
}

TEST_F(Reader, TakesSingleFileForRun) {
  const auto path = write(small_file(), "any.name");
  const auto files = run_files(path);
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre(path));
}

TEST_F(Reader, RefusesRunWithoutFiles) {
  const auto files = run_files(directory_.path());
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message, HasSubstr("holds no trace files"));
  EXPECT_THAT(run_files(directory_ / "none.tpk").error().message, HasSubstr("No such file"));
}

}  // namespace
}  // namespace turnpike::trace
