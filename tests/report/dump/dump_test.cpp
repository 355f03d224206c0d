// The text of a small file, line by line: tests elsewhere and people's scripts rely on it.
#include "report/dump/dump.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "trace/trace_file.h"

namespace turnpike::trace {
namespace {

using report::dump_file;
using report::dump_kinds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class Dump : public TraceFileTest {
 protected:
  // The lines of the dump of `bytes`.
  std::vector<std::string> dump(const std::string& bytes, const std::set<std::string, std::less<>>& kinds = {}) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* const out = ::open_memstream(&text, &size);
    const Status status = dump_file(write(bytes), kinds, out);
    std::fclose(out);
    EXPECT_TRUE(status.is_ok());
    std::istringstream stream(std::string(text, size));
    std::free(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

  std::string line_of(const std::string& record_bytes) {
    const auto lines = dump(file_header() + chunk(ChunkType::kStrings, string_entry(1, "a name")) +
                            chunk(ChunkType::kRecords, record_bytes));
    return lines.empty() ? "" : lines.back();
  }
};

TEST_F(Dump, PrintsEverythingOfSmallFileInOrder) {
  EXPECT_THAT(
      dump(small_file()),
      ElementsAre(
          "process path=\"" + (directory_ / "a.tpt").string() + "\" pid=4242 parent=4241 start=1700000000000000000",
          R"(metadata key="program" value="python\x1ftrain.py")", R"(metadata key="rank" value="0")",
          R"(string id=1 text="cudaMemcpyAsync")", R"(string id=2 text="step")",
          R"(string id=3 text="/home/me/train.py")",
          R"(frame id=5 kind=python function="step" file="/home/me/train.py" line=12 first_line=10 module_offset=0x0)",
          "stack id=9 truncated=0 frames=5", "clock realtime=1 monotonic=2 cupti=unknown tsc=4",
          StartsWith("loss name=clock_stepped number=12 count=1 sentence=\""),
          "end time=0 calls=1 memcpys=2 memcpy_bytes=401408 memsets=1 kernels=1",
          "call thread=0 start=0 end=0 correlation=3 name=\"cudaMemcpyAsync\" kind=other api=unknown result=0 device=0 "
          "context=0 stream=0 bytes=0 dst=0x0 src=0x0 object=0x0 captured=0 autograd=unknown autograd_sequence=unknown "
          "stack=9 "
          "at=\"/home/me/train.py:12\" in=\"step\"",
          StartsWith("memcpy device=0 context=0 stream=0 correlation=3 start=0 end=0 bytes=200704 kind=unknown"),
          StartsWith("memcpy "), StartsWith("memset "), StartsWith("kernel ")));
}

TEST_F(Dump, PrintsSource) {
  SourceTextEntry entry{3, 7, 8, 0, {}};
  entry.sha256[0] = 0xAB;
  const std::string bytes = file_header() + chunk(ChunkType::kStrings, string_entry(3, "/train.py")) +
                            chunk(ChunkType::kSourceText, bytes_of(entry) + "x = \"\x1b\"\n");
  EXPECT_THAT(dump(bytes, {"source"}), ElementsAre("source file=\"/train.py\" first_line=7 sha256=ab" +
                                                   std::string(62, '0') + R"( text="x = \"\x1b\"\x0a")"));
}

TEST_F(Dump, PrintsMemcpy) {
  auto copy = record<MemcpyRecord>(RecordKind::kMemcpy);
  copy.context = 1;
  copy.stream = 7;
  copy.correlation = 3;
  copy.start_ns = 1000;
  copy.end_ns = 2000;
  copy.bytes = 200704;
  copy.copy_kind = CopyKind::kHostToDevice;
  copy.src_kind = MemoryKind::kPageable;
  copy.dst_kind = MemoryKind::kDevice;
  copy.is_async = 1;
  copy.src_device = copy.dst_device = kUnknownId;
  copy.copy_count = 1;
  EXPECT_EQ(line_of(bytes_of(copy)),
            "memcpy device=0 context=1 stream=7 correlation=3 start=1000 end=2000 bytes=200704 kind=h2d src=pageable "
            "dst=device async=1 src_device=unknown dst_device=unknown copies=1 graph=0 graph_node=0");
}

TEST_F(Dump, PrintsCallOfBackwardPass) {
  auto call = record<CallRecord>(RecordKind::kCall);
  call.thread = 55;
  call.name = 1;
  call.kind = CallKind::kSynchronize;
  call.api = Api::kDriver;
  call.result = -1;
  call.device = call.stream = call.context = kUnknownId;
  call.bytes = kUnknownSize;
  call.object = 0xABC;
  call.autograd_role = AutogradRole::kBackward;
  call.autograd_sequence = 12;
  EXPECT_EQ(line_of(bytes_of(call)),
            "call thread=55 start=0 end=0 correlation=0 name=\"a name\" kind=synchronize api=driver result=-1 "
            "device=unknown context=unknown stream=unknown bytes=unknown dst=0x0 src=0x0 object=0xabc "
            "captured=0 autograd=backward autograd_sequence=12 stack=0 at=unknown in=unknown");
}

TEST_F(Dump, PrintsMemset) {
  auto set = record<MemsetRecord>(RecordKind::kMemset);
  set.start_ns = set.end_ns = kUnknownTime;
  set.bytes = 64;
  set.value = 255;
  set.memory_kind = MemoryKind::kManaged;
  set.graph_node = 8;
  EXPECT_EQ(line_of(bytes_of(set)),
            "memset device=0 context=0 stream=0 correlation=0 start=unknown end=unknown bytes=64 value=255 "
            "memory=managed graph_node=8");
}

TEST_F(Dump, PrintsKernel) {
  auto kernel = record<KernelRecord>(RecordKind::kKernel);
  kernel.name = 1;
  kernel.graph = 4;
  EXPECT_EQ(line_of(bytes_of(kernel)),
            "kernel device=0 context=0 stream=0 correlation=0 start=0 end=0 name=\"a name\" graph=4 graph_node=0");
}

TEST_F(Dump, PrintsRange) {
  auto range = record<RangeRecord>(RecordKind::kRange);
  range.thread = 5;
  range.end_thread = 6;
  range.name = 1;
  range.color = 0xFF00FF00;
  EXPECT_EQ(line_of(bytes_of(range)),
            "range thread=5 end_thread=6 start=0 end=0 name=\"a name\" domain=\"\" color=0xff00ff00");
}

TEST_F(Dump, PrintsDevice) {
  auto device = record<DeviceRecord>(RecordKind::kDevice);
  device.name = 1;
  device.multiprocessors = 132;
  device.memory_bytes = 80;
  device.pci_bus = 0x1B;
  device.numa_node = 0xFFFF;
  EXPECT_EQ(line_of(bytes_of(device)),
            "device device=0 name=\"a name\" multiprocessors=132 memory_bytes=80 pci=0000:1b:00 numa_node=unknown");
}

TEST_F(Dump, PrintsThreadAndStream) {
  auto thread = record<ThreadRecord>(RecordKind::kThread);
  thread.thread = 9;
  thread.name = 1;
  EXPECT_EQ(line_of(bytes_of(thread)), "thread thread=9 name=\"a name\"");
  auto stream = record<StreamRecord>(RecordKind::kStream);
  stream.stream = 7;
  stream.is_default = 1;
  EXPECT_EQ(line_of(bytes_of(stream)), "stream device=0 context=0 stream=7 name=\"\" default=1");
}

TEST_F(Dump, PrintsMigration) {
  auto migration = record<MigrationRecord>(RecordKind::kMigration);
  migration.address = 0x7F00;
  migration.bytes = 4096;
  migration.kind = MigrationKind::kFault;
  EXPECT_EQ(line_of(bytes_of(migration)), "migration device=0 start=0 end=0 bytes=4096 address=0x7f00 kind=fault");
}

TEST_F(Dump, PrintsGraphNode) {
  auto node = record<GraphNodeRecord>(RecordKind::kGraphNode);
  node.node = 12;
  node.cloned_from = 11;
  EXPECT_EQ(line_of(bytes_of(node)), "graph_node node=12 cloned_from=11 stack=0 at=unknown in=unknown");
}

TEST_F(Dump, PrintsContent) {
  auto content = record<ContentRecord>(RecordKind::kContent);
  content.correlation = 3;
  content.hash = 0xBEEF;
  content.bytes = 200704;
  content.hashed_bytes = 3072;
  content.address = 0x7F00;
  content.side = ContentSide::kDestination;
  EXPECT_EQ(line_of(bytes_of(content)),
            "content correlation=3 side=destination address=0x7f00 bytes=200704 hashed=3072 hash=000000000000beef");
}

TEST_F(Dump, PrintsMemory) {
  auto memory = record<MemoryRecord>(RecordKind::kMemory);
  memory.time_ns = 7;
  memory.resident_bytes = 4096;
  EXPECT_EQ(line_of(bytes_of(memory)), "memory time=7 resident=4096");
}

TEST_F(Dump, PrintsSample) {
  auto sample = record<SampleRecord>(RecordKind::kSample);
  sample.thread = 9;
  sample.time_ns = 7;
  sample.stack = 4;
  EXPECT_EQ(line_of(bytes_of(sample)), "sample thread=9 time=7 stack=4 at=unknown in=unknown");
}

TEST_F(Dump, PrintsLinkTraffic) {
  auto traffic = record<LinkTrafficRecord>(RecordKind::kLinkTraffic);
  traffic.device = 1;
  traffic.start_ns = 7;
  traffic.end_ns = 9;
  traffic.pcie_in_bytes = 100;
  traffic.pcie_out_bytes = 20;
  traffic.nvlink_in_bytes = 3;
  traffic.nvlink_out_bytes = kUnknownSize;
  EXPECT_EQ(line_of(bytes_of(traffic)),
            "link_traffic device=1 start=7 end=9 pcie_in=100 pcie_out=20 nvlink_in=3 nvlink_out=unknown");
}

// Each field has a value of its own, so none can be printed in the place of another.
TEST_F(Dump, PrintsEveryFieldOfCallsAndWork) {
  CallRecord call{.header = {RecordKind::kCall, sizeof(CallRecord)},
                  .thread = 1,
                  .start_ns = 2,
                  .end_ns = 3,
                  .correlation = 4,
                  .stack = 5,
                  .name = 1,
                  .kind = CallKind::kPrefetch,
                  .api = Api::kRuntime,
                  .autograd_role = AutogradRole::kForward,
                  .is_captured = 6,
                  .result = 7,
                  .context = 8,
                  .stream = 9,
                  .device = 10,
                  .bytes = 11,
                  .dst = 12,
                  .src = 13,
                  .object = 14,
                  .autograd_sequence = 15};
  EXPECT_EQ(line_of(bytes_of(call)),
            "call thread=1 start=2 end=3 correlation=4 name=\"a name\" kind=prefetch api=runtime result=7 device=10 "
            "context=8 stream=9 bytes=11 dst=0xc src=0xd object=0xe captured=6 autograd=forward autograd_sequence=15 "
            "stack=5 at=unknown in=unknown");
  MemcpyRecord copy{.header = {RecordKind::kMemcpy, sizeof(MemcpyRecord)},
                    .device = 1,
                    .start_ns = 2,
                    .end_ns = 3,
                    .bytes = 4,
                    .correlation = 5,
                    .context = 6,
                    .stream = 7,
                    .copy_kind = CopyKind::kPeerToPeer,
                    .src_kind = MemoryKind::kManagedStatic,
                    .dst_kind = MemoryKind::kArray,
                    .is_async = 8,
                    .src_device = 9,
                    .dst_device = 10,
                    .graph = 11,
                    .copy_count = 12,
                    .graph_node = 13};
  EXPECT_EQ(line_of(bytes_of(copy)),
            "memcpy device=1 context=6 stream=7 correlation=5 start=2 end=3 bytes=4 kind=p2p src=managed_static "
            "dst=array async=8 src_device=9 dst_device=10 copies=12 graph=11 graph_node=13");
  MemsetRecord set{.header = {RecordKind::kMemset, sizeof(MemsetRecord)},
                   .device = 1,
                   .start_ns = 2,
                   .end_ns = 3,
                   .bytes = 4,
                   .correlation = 5,
                   .context = 6,
                   .stream = 7,
                   .value = 8,
                   .graph_node = 9,
                   .memory_kind = MemoryKind::kDeviceStatic,
                   .reserved = {}};
  EXPECT_EQ(line_of(bytes_of(set)),
            "memset device=1 context=6 stream=7 correlation=5 start=2 end=3 bytes=4 value=8 memory=device_static "
            "graph_node=9");
  KernelRecord kernel{.header = {RecordKind::kKernel, sizeof(KernelRecord)},
                      .device = 1,
                      .start_ns = 2,
                      .end_ns = 3,
                      .correlation = 4,
                      .context = 5,
                      .stream = 6,
                      .name = 1,
                      .graph_node = 7,
                      .graph = 8,
                      .reserved = 0};
  EXPECT_EQ(line_of(bytes_of(kernel)),
            "kernel device=1 context=5 stream=6 correlation=4 start=2 end=3 name=\"a name\" graph=8 graph_node=7");
}

TEST_F(Dump, PrintsEveryFieldOfTheRest) {
  const RangeRecord range{.header = {RecordKind::kRange, sizeof(RangeRecord)},
                          .thread = 1,
                          .end_thread = 2,
                          .name = 3,
                          .start_ns = 4,
                          .end_ns = 5,
                          .domain = 1,
                          .color = 6};
  EXPECT_EQ(line_of(bytes_of(range)),
            "range thread=1 end_thread=2 start=4 end=5 name=\"\" domain=\"a name\" color=0x6");
  const DeviceRecord device{.header = {RecordKind::kDevice, sizeof(DeviceRecord)},
                            .device = 1,
                            .name = 1,
                            .multiprocessors = 2,
                            .memory_bytes = 3,
                            .pci_domain = 0x10004,
                            .pci_bus = 5,
                            .pci_device = 6,
                            .numa_node = 7};
  EXPECT_EQ(line_of(bytes_of(device)),
            "device device=1 name=\"a name\" multiprocessors=2 memory_bytes=3 pci=10004:05:06 numa_node=7");
  const StreamRecord stream{.header = {RecordKind::kStream, sizeof(StreamRecord)},
                            .device = 1,
                            .context = 2,
                            .stream = 3,
                            .name = 1,
                            .is_default = 4,
                            .reserved = {}};
  EXPECT_EQ(line_of(bytes_of(stream)), "stream device=1 context=2 stream=3 name=\"a name\" default=4");
  const MigrationRecord migration{.header = {RecordKind::kMigration, sizeof(MigrationRecord)},
                                  .device = 1,
                                  .start_ns = 2,
                                  .end_ns = 3,
                                  .bytes = 4,
                                  .address = 5,
                                  .kind = MigrationKind::kDeviceToHost,
                                  .reserved = {}};
  EXPECT_EQ(line_of(bytes_of(migration)), "migration device=1 start=2 end=3 bytes=4 address=0x5 kind=d2h");
  const ContentRecord content{.header = {RecordKind::kContent, sizeof(ContentRecord)},
                              .correlation = 1,
                              .hash = 2,
                              .bytes = 3,
                              .hashed_bytes = 4,
                              .address = 5,
                              .side = ContentSide::kSource,
                              .reserved = {}};
  EXPECT_EQ(line_of(bytes_of(content)),
            "content correlation=1 side=source address=0x5 bytes=3 hashed=4 hash=0000000000000002");
  const auto unknown = [this](auto record, const char* expected) { EXPECT_EQ(line_of(bytes_of(record)), expected); };
  auto lost = migration;
  lost.device = kUnknownId;
  lost.start_ns = lost.end_ns = kUnknownTime;
  lost.bytes = kUnknownSize;
  unknown(lost, "migration device=unknown start=unknown end=unknown bytes=unknown address=0x5 kind=d2h");
}

TEST_F(Dump, HasAWordForEveryKind) {
  const auto words = [this](auto record, auto& kind, int count, const std::string& field) {
    std::string found;
    for (int i = 0; i <= count; ++i) {
      kind = static_cast<std::remove_reference_t<decltype(kind)>>(i);
      const std::string line = line_of(bytes_of(*record)) + ' ';
      const auto start = line.find(' ' + field + '=') + field.size() + 2;
      found += line.substr(start, line.find(' ', start) - start) + ' ';
    }
    return found;
  };
  auto call = record<CallRecord>(RecordKind::kCall);
  EXPECT_EQ(words(&call, call.kind, 16, "kind"),
            "other copy memset synchronize launch graph_launch event_record stream_wait device_alloc device_free "
            "host_alloc host_free host_register host_unregister managed_alloc prefetch 16 ");
  EXPECT_EQ(words(&call, call.api, 3, "api"), "unknown runtime driver 3 ");
  EXPECT_EQ(words(&call, call.autograd_role, 3, "autograd"), "unknown forward backward 3 ");
  auto copy = record<MemcpyRecord>(RecordKind::kMemcpy);
  EXPECT_EQ(words(&copy, copy.copy_kind, 11, "kind"), "unknown h2d d2h h2a a2h a2a a2d d2a d2d h2h p2p 11 ");
  EXPECT_EQ(words(&copy, copy.src_kind, 8, "src"),
            "unknown pageable pinned device array managed device_static managed_static 8 ");
  auto migration = record<MigrationRecord>(RecordKind::kMigration);
  EXPECT_EQ(words(&migration, migration.kind, 5, "kind"), "unknown h2d d2h d2d fault 5 ");
  auto content = record<ContentRecord>(RecordKind::kContent);
  EXPECT_EQ(words(&content, content.side, 3, "side"), "unknown source destination 3 ");
}

// The place of a stack is its innermost line of Python, whatever stands inside of it.
TEST_F(Dump, PrintsTheInnermostLineOfPython) {
  auto sample = record<SampleRecord>(RecordKind::kSample);
  sample.stack = 4;
  const std::string definitions =
      chunk(ChunkType::kStrings, string_entry(1, "inner.py") + string_entry(2, "f") + string_entry(3, "outer.py")) +
      chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kNative, 2, 3, 0, 0, 0x64}) +
                                    bytes_of(FrameEntry{6, FrameKind::kPython, 2, 1, 7, 8, 0}) +
                                    bytes_of(FrameEntry{9, FrameKind::kPython, 2, 3, 10, 11, 0})) +
      chunk(ChunkType::kStacks, stack_entry(4, {77, 5, 6, 9}, kStackIsTruncated));
  EXPECT_THAT(
      dump(file_header() + definitions + chunk(ChunkType::kRecords, bytes_of(sample)), {"sample", "stack", "frame"}),
      ElementsAre("frame id=5 kind=native function=\"f\" file=\"outer.py\" line=0 first_line=0 "
                  "module_offset=0x64",
                  "frame id=6 kind=python function=\"f\" file=\"inner.py\" line=7 first_line=8 "
                  "module_offset=0x0",
                  "frame id=9 kind=python function=\"f\" file=\"outer.py\" line=10 first_line=11 "
                  "module_offset=0x0",
                  "stack id=4 truncated=1 frames=77,5,6,9",
                  "sample thread=0 time=0 stack=4 at=\"inner.py:7\" in=\"f\""));
}

TEST_F(Dump, PrintsEachKindAlone) {
  const std::string records =
      bytes_of(record<CallRecord>(RecordKind::kCall)) + bytes_of(record<MemcpyRecord>(RecordKind::kMemcpy)) +
      bytes_of(record<MemsetRecord>(RecordKind::kMemset)) + bytes_of(record<KernelRecord>(RecordKind::kKernel)) +
      bytes_of(record<RangeRecord>(RecordKind::kRange)) + bytes_of(record<DeviceRecord>(RecordKind::kDevice)) +
      bytes_of(record<ThreadRecord>(RecordKind::kThread)) + bytes_of(record<StreamRecord>(RecordKind::kStream)) +
      bytes_of(record<MigrationRecord>(RecordKind::kMigration)) +
      bytes_of(record<GraphNodeRecord>(RecordKind::kGraphNode)) +
      bytes_of(record<ContentRecord>(RecordKind::kContent)) + bytes_of(record<MemoryRecord>(RecordKind::kMemory)) +
      bytes_of(record<SampleRecord>(RecordKind::kSample)) +
      bytes_of(record<LinkTrafficRecord>(RecordKind::kLinkTraffic));
  const std::string file =
      file_header() + chunk(ChunkType::kMetadata, metadata("a", "b")) +
      chunk(ChunkType::kStrings, string_entry(1, "a")) +
      chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kNative, 0, 0, 0, 0, 0})) +
      chunk(ChunkType::kStacks, stack_entry(4, {5})) + chunk(ChunkType::kClock, bytes_of(ClockSample{1, 2, 3, 4})) +
      chunk(ChunkType::kLosses, bytes_of(LossEntry{1, 0, 1})) + chunk(ChunkType::kRecords, records) +
      chunk(ChunkType::kSourceText, bytes_of(SourceTextEntry{1, 1, 8, 0, {}}) + "x = 1 +\n") +
      chunk(ChunkType::kEnd, bytes_of(EndEntry{9, 1, 1, 0, 1, 1, {}}));
  ASSERT_EQ(dump_kinds().size(), 23u);
  EXPECT_THAT(dump(file), SizeIs(23));
  for (const std::string_view kind : dump_kinds()) {
    EXPECT_THAT(dump(file, {std::string(kind)}), ElementsAre(StartsWith(std::string(kind) + ' '))) << kind;
  }
  EXPECT_THAT(dump(file, {"clock"}), ElementsAre("clock realtime=1 monotonic=2 cupti=3 tsc=4"));
  EXPECT_THAT(dump(file, {"end"}), ElementsAre("end time=9 calls=1 memcpys=1 memcpy_bytes=0 memsets=1 kernels=1"));
}

TEST_F(Dump, PrintsOperatorFrames) {
  EXPECT_THAT(dump(file_header() + chunk(ChunkType::kStrings, string_entry(1, "aten::to")) +
                       chunk(ChunkType::kFrames, bytes_of(FrameEntry{5, FrameKind::kOperator, 1, 0, 0, 0, 0})),
                   {"frame"}),
              ElementsAre("frame id=5 kind=operator function=\"aten::to\" file=\"\" line=0 first_line=0 "
                          "module_offset=0x0"));
}

TEST_F(Dump, PrintsNumbersThatItHasNoWordFor) {
  auto copy = record<MemcpyRecord>(RecordKind::kMemcpy);
  copy.copy_kind = CopyKind{200};
  EXPECT_THAT(line_of(bytes_of(copy)), HasSubstr(" kind=200 "));
}

TEST_F(Dump, PrintsOnlyWantedKinds) {
  EXPECT_THAT(dump(small_file(), {"memcpy", "stack"}),
              ElementsAre(StartsWith("stack "), StartsWith("memcpy "), StartsWith("memcpy ")));
}

TEST_F(Dump, KnowsTheKindOfEveryLine) {
  for (const std::string& line : dump(small_file())) {
    EXPECT_THAT(dump_kinds(), Contains(line.substr(0, line.find(' '))));
  }
}

TEST_F(Dump, KeepsNamesOnTheirLine) {
  EXPECT_THAT(dump(file_header() + chunk(ChunkType::kMetadata, metadata("a\nb", "\x1b[2J")), {"metadata"}),
              ElementsAre(R"(metadata key="a\x0ab" value="\x1b[2J")"));
}

TEST_F(Dump, PrintsLossesOfDamagedFile) {
  EXPECT_THAT(dump(file_header() + "garbage!", {"loss"}),
              ElementsAre(StartsWith("loss name=not_closed number=100 count=1"),
                          StartsWith("loss name=damaged_bytes number=101 count=8")));
}

TEST_F(Dump, FailsWhenTheOutputIsFull) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  const Status status = dump_file(write(small_file()), {}, full);
  std::fclose(full);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("No space left"));
}

TEST_F(Dump, FailsOnWhatIsNoTrace) {
  const Status status = dump_file(write("no trace"), {}, stdout);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("is not a Turnpike trace"));
}

}  // namespace
}  // namespace turnpike::trace
