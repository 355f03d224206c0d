// What the recorder writes of each sort of call, and how calls and device work find each other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

// One victim for all these claims: every kind of call once, each with its own number of bytes.
class EveryKind : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    run_ = new VictimRun({"every_kind"});
    trace_ = new Trace(run_->trace());
  }
  static void TearDownTestSuite() {
    delete trace_;
    delete run_;
  }

  static trace::MemcpyRecord only_copy(std::uint64_t bytes) {
    const auto found = trace_->copies_of(bytes);
    EXPECT_EQ(found.size(), 1u) << bytes;
    return found.empty() ? trace::MemcpyRecord{} : found[0];
  }
  static const trace::CallRecord& call_of(std::uint32_t correlation) {
    static const trace::CallRecord kNone{};
    const trace::CallRecord* found = trace_->call_of(correlation);
    EXPECT_NE(found, nullptr) << correlation;
    return found == nullptr ? kNone : *found;
  }
  static std::string name_of(const trace::CallRecord& call) { return trace_->process.string(call.name); }
  static std::vector<trace::CallRecord> calls_of(CallKind kind) {
    std::vector<trace::CallRecord> found;
    for (const auto& call : trace_->calls) {
      if (call.kind == kind) found.push_back(call);
    }
    return found;
  }
  static void expect_copy(std::uint64_t bytes, CopyKind kind, MemoryKind src, MemoryKind dst, const char* name) {
    const auto copy = only_copy(bytes);
    EXPECT_EQ(copy.copy_kind, kind) << bytes;
    EXPECT_EQ(copy.src_kind, src) << bytes;
    EXPECT_EQ(copy.dst_kind, dst) << bytes;
    EXPECT_EQ(copy.copy_count, bytes == 1015 ? 2u : 1u) << bytes;
    const auto& call = call_of(copy.correlation);
    EXPECT_EQ(name_of(call), name) << bytes;
    EXPECT_EQ(call.kind, CallKind::kCopy) << bytes;
    if (bytes != 1015) {
      EXPECT_EQ(call.bytes, bytes);
    }
    EXPECT_LT(copy.start_ns, copy.end_ns) << bytes;
    EXPECT_LE(call.start_ns, copy.start_ns) << bytes;
  }

  static VictimRun* run_;
  static Trace* trace_;
};
VictimRun* EveryKind::run_ = nullptr;
Trace* EveryKind::trace_ = nullptr;

TEST_F(EveryKind, LosesNothingAndClosesTheFile) {
  EXPECT_EQ(run_->outcome().exit_code, 0) << run_->outcome().err;
  EXPECT_EQ(trace_->losses(), "");
  ASSERT_TRUE(trace_->process.end.has_value());
  EXPECT_EQ(trace_->process.end->memcpy_count, trace_->copies.size());
  EXPECT_EQ(trace_->process.end->call_count, trace_->calls.size());
}

TEST_F(EveryKind, HasEachDirectionAndMemoryKindWithItsCall) {
  using enum MemoryKind;
  expect_copy(1001, CopyKind::kHostToDevice, kPageable, kDevice, "cudaMemcpyAsync");
  expect_copy(1002, CopyKind::kHostToDevice, kPinned, kDevice, "cudaMemcpyAsync");
  expect_copy(1003, CopyKind::kDeviceToHost, kDevice, kPinned, "cudaMemcpyAsync");
  expect_copy(1004, CopyKind::kDeviceToHost, kDevice, kPageable, "cudaMemcpyAsync");
  expect_copy(1005, CopyKind::kDeviceToDevice, kDevice, kDevice, "cudaMemcpyAsync");
  expect_copy(1006, CopyKind::kHostToDevice, kPinned, kDevice, "cudaMemcpy");
  expect_copy(1007, CopyKind::kDeviceToHost, kDevice, kPageable, "cudaMemcpy");
  expect_copy(1008, CopyKind::kPeerToPeer, kDevice, kDevice, "cudaMemcpyPeerAsync");
  expect_copy(1011, CopyKind::kHostToDevice, kPinned, kDevice, "cudaMemcpyAsync");
  expect_copy(1012, CopyKind::kHostToDevice, kPinned, kDevice, "cuMemcpyHtoDAsync_v2");
  expect_copy(1013, CopyKind::kDeviceToHost, kDevice, kPinned, "cuMemcpyDtoH_v2");
  expect_copy(1014, CopyKind::kHostToHost, kPageable, kPinned, "cudaMemcpyAsync");
  expect_copy(1015, CopyKind::kHostToDevice, kPinned, kDevice, "cudaMemcpyBatchAsync");
}

TEST_F(EveryKind, HasNoCopyThatTheProgramDidNotMake) {
  EXPECT_EQ(trace_->copies.size(), 13u);
}

TEST_F(EveryKind, PeerCopyNamesBothDevices) {
  const auto copy = only_copy(1008);
  EXPECT_EQ(copy.src_device, 0u);
  EXPECT_EQ(copy.dst_device, 1u);
  EXPECT_EQ(only_copy(1005).src_device, trace::kUnknownId);
}

TEST_F(EveryKind, PeerCopyIsCalledWithBothAddresses) {
  const auto& call = call_of(only_copy(1008).correlation);
  const auto& within = call_of(only_copy(1005).correlation);
  EXPECT_NE(call.dst, 0u);
  EXPECT_EQ(call.dst, within.dst) << "the same buffers, not the numbers of the devices";
  EXPECT_EQ(call.src, within.src);
}

TEST_F(EveryKind, TellsWhatWasRecordedAndOnWhat) {
  EXPECT_EQ(trace_->metadata("program"), victim_path() + "\x1f" + "every_kind");
  EXPECT_EQ(trace_->metadata("executable"), std::filesystem::canonical(victim_path()).string());
  EXPECT_EQ(trace_->metadata("cwd"), std::filesystem::current_path().string());
  EXPECT_EQ(trace_->metadata("cuda_driver_version"), "13.0");
  EXPECT_EQ(trace_->metadata("cuda_runtime_version"), "12.8");
  EXPECT_EQ(trace_->metadata("cupti_version"), "130001");
  EXPECT_EQ(trace_->metadata("detail"), "full");
  EXPECT_EQ(trace_->metadata("stacks"), "1");
  EXPECT_EQ(trace_->metadata("unusable"), "");
  EXPECT_NE(trace_->process.pid, 0u);
  EXPECT_EQ(trace_->process.parent_pid, static_cast<std::uint32_t>(::getpid()));
  ASSERT_GE(trace_->process.clock_samples.size(), 2u) << "at the start and at the end";
  EXPECT_LT(trace_->process.clock_samples.front().realtime_ns - trace_->process.start_realtime_ns, 5'000'000'000);
  for (const trace::ClockSample& sample : trace_->process.clock_samples) {
    EXPECT_GT(sample.monotonic_ns, 0);
    EXPECT_GE(sample.realtime_ns, trace_->process.start_realtime_ns);
    EXPECT_LE(sample.realtime_ns, trace_->process.end->end_realtime_ns);
  }
}

TEST_F(EveryKind, EndCountsWhatWasWritten) {
  ASSERT_TRUE(trace_->process.end.has_value());
  const trace::EndEntry& end = *trace_->process.end;
  std::uint64_t copied_bytes = 0;
  for (const auto& copy : trace_->copies) copied_bytes += copy.bytes;
  EXPECT_EQ(end.memcpy_bytes, copied_bytes);
  EXPECT_EQ(end.memset_count, 2u);
  EXPECT_EQ(end.kernel_count, 2u);
  for (const auto& call : trace_->calls) EXPECT_LE(call.end_ns, end.end_realtime_ns);
}

TEST_F(EveryKind, MemsetsHaveBytesValueAndCall) {
  ASSERT_EQ(trace_->memsets.size(), 2u);
  for (const auto& memset : trace_->memsets) {
    EXPECT_EQ(memset.value, memset.bytes == 1009 ? 3u : 4u);
    EXPECT_EQ(memset.memory_kind, MemoryKind::kDevice);
    const auto& call = call_of(memset.correlation);
    EXPECT_EQ(call.kind, CallKind::kMemset);
    EXPECT_EQ(call.bytes, memset.bytes);
    EXPECT_NE(call.dst, 0u);
  }
}

TEST_F(EveryKind, KernelsHaveTheirNameAndLaunch) {
  ASSERT_EQ(trace_->kernels.size(), 2u);
  for (const auto& kernel : trace_->kernels) {
    EXPECT_EQ(trace_->process.string(kernel.name), "_Z6kernelPf");
    EXPECT_EQ(call_of(kernel.correlation).kind, CallKind::kLaunch);
  }
}

TEST_F(EveryKind, NestedDriverCallLeavesNoRecordOfItsOwn) {
  std::set<std::uint32_t> correlations;
  for (const auto& call : trace_->calls) {
    EXPECT_TRUE(correlations.insert(call.correlation).second) << name_of(call);
    EXPECT_LE(call.start_ns, call.end_ns) << name_of(call);
    EXPECT_EQ(call.result, 0) << name_of(call);
  }
}

TEST_F(EveryKind, SynchronisationsAreKnownByKind) {
  // Three of streams (one after the registered copy, one after the prefetch, one at the end), one event, one device.
  EXPECT_EQ(calls_of(CallKind::kSynchronize).size(), 5u);
  const auto events = trace_->calls_named("cudaEventSynchronize");
  ASSERT_EQ(events.size(), 1u);
  const auto recorded = calls_of(CallKind::kEventRecord);
  const auto waited = calls_of(CallKind::kStreamWait);
  ASSERT_EQ(recorded.size(), 1u);
  ASSERT_EQ(waited.size(), 1u);
  EXPECT_NE(events[0].object, 0u);
  EXPECT_EQ(recorded[0].object, events[0].object);
  EXPECT_EQ(waited[0].object, events[0].object);
}

TEST_F(EveryKind, OrderingCallsCarryTheIdOfTheirStream) {
  const auto copy = only_copy(1001);
  const auto recorded = calls_of(CallKind::kEventRecord);
  ASSERT_EQ(recorded.size(), 1u);
  EXPECT_EQ(recorded[0].stream, copy.stream);
  EXPECT_EQ(only_copy(1006).stream, 7u) << "the default stream";
}

TEST_F(EveryKind, AllocationsHaveAddressAndBytes) {
  const auto allocations = calls_of(CallKind::kDeviceAlloc);
  ASSERT_EQ(allocations.size(), 2u);
  for (const auto& call : allocations) {
    EXPECT_EQ(call.bytes, 65536u);
    EXPECT_NE(call.dst, 0u);
  }
  const auto freed = calls_of(CallKind::kDeviceFree);
  ASSERT_EQ(freed.size(), 2u);
  EXPECT_TRUE(
      std::any_of(freed.begin(), freed.end(), [&](const auto& call) { return call.dst == allocations[1].dst; }));
  ASSERT_EQ(calls_of(CallKind::kHostAlloc).size(), 1u);
  EXPECT_EQ(calls_of(CallKind::kHostAlloc)[0].bytes, 65536u);
  EXPECT_EQ(calls_of(CallKind::kHostFree).size(), 1u);
}

TEST_F(EveryKind, RegistrationAndManagedMemoryAreKnown) {
  const auto registered = calls_of(CallKind::kHostRegister);
  ASSERT_EQ(registered.size(), 1u);
  EXPECT_EQ(registered[0].bytes, 2048u);
  EXPECT_EQ(calls_of(CallKind::kHostUnregister).size(), 1u);
  ASSERT_EQ(calls_of(CallKind::kManagedAlloc).size(), 1u);
  EXPECT_EQ(calls_of(CallKind::kManagedAlloc)[0].bytes, 4096u);
  ASSERT_EQ(calls_of(CallKind::kPrefetch).size(), 1u);
  EXPECT_EQ(calls_of(CallKind::kPrefetch)[0].bytes, 1016u);
  ASSERT_EQ(trace_->migrations.size(), 1u);
  EXPECT_EQ(trace_->migrations[0].bytes, 1016u);
  EXPECT_EQ(trace_->migrations[0].kind, trace::MigrationKind::kHostToDevice);
  EXPECT_EQ(trace_->migrations[0].device, 0u);
}

TEST_F(EveryKind, CallsThatMoveNothingAreNotRecorded) {
  for (const char* name : {"cudaEventQuery", "cudaGetLastError", "cudaEventCreate", "cuEventQuery"}) {
    EXPECT_TRUE(trace_->calls_named(name).empty()) << name;
  }
}

TEST_F(EveryKind, DevicesThreadsAndProcessAreNamed) {
  ASSERT_EQ(trace_->devices.size(), 2u);
  EXPECT_EQ(trace_->process.string(trace_->devices[0].name), "Fake GPU 0");
  EXPECT_EQ(trace_->devices[0].multiprocessors, 132u);
  EXPECT_EQ(trace_->devices[0].memory_bytes, std::uint64_t{80} << 30);
  EXPECT_EQ(trace_->devices[1].pci_bus, 0x42);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(trace_->devices[i].device, i);
    EXPECT_EQ(trace_->process.string(trace_->devices[i].name), "Fake GPU " + std::to_string(i));
    EXPECT_EQ(trace_->devices[i].pci_domain, 0x21 + i);
    EXPECT_EQ(trace_->devices[i].pci_bus, 0x41 + i);
    EXPECT_EQ(trace_->devices[i].pci_device, 0x11 + i);
    EXPECT_EQ(trace_->devices[i].numa_node, 0xFFFF);
    // No machine has these on its bus.
    const std::string link = trace_->metadata("link." + std::to_string(i));
    EXPECT_EQ(link.find("unknown: no PCIe link at /sys/bus/pci/devices/00"), 0u) << link;
  }
  ASSERT_FALSE(trace_->streams.empty());
  for (const auto& stream : trace_->streams) {
    EXPECT_EQ(stream.is_default, 1);
    EXPECT_EQ(stream.stream, 7u);
  }
  ASSERT_EQ(trace_->threads.size(), 1u);
  EXPECT_EQ(trace_->process.string(trace_->threads[0].name), "record_victim");
  EXPECT_EQ(trace_->calls[0].thread, trace_->threads[0].thread);
}

TEST_F(EveryKind, StatusPageAgreesWithTheFile) {
  const TurnpikeStatus status = run_->status();
  EXPECT_EQ(status.process_count, 1u);
  EXPECT_EQ(status.unusable_count, 0u);
  EXPECT_EQ(status.kernel_count, 2u);
  std::uint64_t transfers = 0;
  for (int i = 0; i < 5; ++i) transfers += status.transfer_count[i];
  // The batch is one record of two copies.
  EXPECT_GE(transfers, 13u);
  EXPECT_LE(transfers, 14u);
  EXPECT_EQ(status.transfer_count[5], 2u);
  EXPECT_EQ(status.transfer_bytes[3], 1008u);
  EXPECT_EQ(status.sync_count, 5u);
  EXPECT_GT(status.written_bytes, 0u);
  EXPECT_EQ(status.loss_count, 0u);
}

TEST(Calls, EveryUploadIsThereOnceWithItsBytes) {
  const VictimRun run({"uploads", "5000"});
  const Trace trace = run.trace();
  EXPECT_EQ(trace.losses(), "");
  std::multiset<std::uint64_t> sizes;
  for (const auto& copy : trace.copies) {
    if (copy.copy_kind == CopyKind::kHostToDevice) sizes.insert(copy.bytes);
  }
  ASSERT_EQ(sizes.size(), 5000u);
  std::uint64_t expected = 1;
  for (const std::uint64_t size : sizes) EXPECT_EQ(size, expected++);
  EXPECT_EQ(run.truth().at("produced"), trace.copies.size());
}

TEST(Calls, DetailTransfersLeavesOutKernelsAndLaunches) {
  const Trace trace = VictimRun({"every_kind"}, {.variables = {{"TURNPIKE_DETAIL", "transfers"}}}).trace();
  EXPECT_TRUE(trace.kernels.empty());
  EXPECT_EQ(trace.copies.size(), 13u);
  EXPECT_EQ(trace.memsets.size(), 2u);
  for (const auto& call : trace.calls) EXPECT_NE(call.kind, CallKind::kLaunch);
  EXPECT_EQ(trace.losses(), "");
}

TEST(Calls, StacksLeadToTheFunctionThatCopied) {
  const Trace trace = VictimRun({"uploads", "3"}).trace();
  ASSERT_FALSE(trace.calls_named("cudaMemcpyAsync").empty());
  for (const auto& call : trace.calls_named("cudaMemcpyAsync")) {
    const auto stack = trace.process.stacks.find(call.stack);
    ASSERT_TRUE(stack);
    const bool is_in_victim = std::any_of(stack->frames.begin(), stack->frames.end(), [&](std::uint32_t frame) {
      return trace.process.frames.at(frame).file.find("record_victim") != std::string::npos;
    });
    EXPECT_TRUE(is_in_victim);
  }
}

TEST(Calls, WithoutStacksNoCallHasOne) {
  const Trace trace = VictimRun({"uploads", "100"}, {.variables = {{"TURNPIKE_STACKS", "0"}}}).trace();
  EXPECT_FALSE(trace.calls.empty());
  for (const auto& call : trace.calls) EXPECT_EQ(call.stack, trace::kNoId);
  EXPECT_TRUE(trace.process.stacks.empty());
  EXPECT_EQ(trace.losses(), "");
}

TEST(Calls, GraphCopiesBelongToTheirLaunchAndLeadToTheCapture) {
  const VictimRun run({"graph", "4"});
  const Trace trace = run.trace();
  EXPECT_EQ(trace.losses(), "");
  for (const std::uint64_t bytes : {2001, 2002}) {
    const auto copies = trace.copies_of(bytes);
    ASSERT_EQ(copies.size(), 4u);
    for (const auto& copy : copies) {
      const trace::CallRecord* call = trace.call_of(copy.correlation);
      ASSERT_NE(call, nullptr);
      EXPECT_EQ(call->kind, CallKind::kGraphLaunch);
      EXPECT_NE(copy.graph, 0u);
      const auto clone = std::find_if(trace.graph_nodes.begin(), trace.graph_nodes.end(),
                                      [&](const auto& node) { return node.node == copy.graph_node; });
      ASSERT_NE(clone, trace.graph_nodes.end());
      const auto made = std::find_if(trace.graph_nodes.begin(), trace.graph_nodes.end(),
                                     [&](const auto& node) { return node.node == clone->cloned_from; });
      ASSERT_NE(made, trace.graph_nodes.end());
      EXPECT_NE(made->stack, trace::kNoId);
      EXPECT_EQ(made->cloned_from, 0u);
    }
  }
  EXPECT_EQ(trace.kernels.size(), 4u);
}

}  // namespace
}  // namespace turnpike::record_tests
