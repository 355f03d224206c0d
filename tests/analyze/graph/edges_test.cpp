// Which dependencies a graph has, and with which lags: every edge by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/graph/graph_text.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using trace::AutogradRole;
using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

constexpr std::uint32_t kAutograd = kMainThread + 1;

// Launches, copies and waits with times in microseconds; a call and its work share a number.
struct Program {
  ProcessBuilder builder;
  std::uint32_t correlation = 0;

  void call(std::int64_t start_us, std::int64_t end_us, std::uint32_t thread = kMainThread,
            AutogradRole role = AutogradRole::kUnknown) {
    builder.call({.kind = CallKind::kLaunch,
                  .start_ns = start_us * kUs,
                  .end_ns = end_us * kUs,
                  .correlation = ++correlation,
                  .thread = thread,
                  .device = 0,
                  .role = role});
  }
  // A launch of 5 us, and its kernel.
  void kernel(std::int64_t call_us, std::int64_t start_us, std::int64_t end_us, std::uint32_t stream = 0,
              std::uint32_t device = 0) {
    call(call_us, call_us + 5);
    builder.kernel({.start_ns = start_us * kUs,
                    .end_ns = end_us * kUs,
                    .correlation = correlation,
                    .device = device,
                    .stream = stream});
  }
  // A copy whose call lasts `call_length_us`.
  void copy(std::int64_t call_us, std::int64_t call_length_us, CopySpec spec) {
    spec.start_ns *= kUs;
    spec.end_ns *= kUs;
    spec.correlation = ++correlation;
    builder.call({.start_ns = call_us * kUs,
                  .end_ns = (call_us + call_length_us) * kUs,
                  .correlation = correlation,
                  .device = spec.device});
    builder.copy(spec);
  }
  void other(CallKind kind, std::int64_t start_us, std::int64_t end_us, const std::string& name,
             std::uint32_t stream = 0, std::uint64_t object = 0, std::uint32_t device = 0) {
    builder.call({.kind = kind,
                  .start_ns = start_us * kUs,
                  .end_ns = end_us * kUs,
                  .correlation = ++correlation,
                  .name = name,
                  .device = device,
                  .context = device == trace::kUnknownId ? device : 77,
                  .object = object,
                  .stream = stream});
  }
  void record(std::int64_t at_us, std::uint64_t event, std::uint32_t stream, std::uint32_t device = 0) {
    other(CallKind::kEventRecord, at_us, at_us + 1, "cudaEventRecord", stream, event, device);
  }
  void wait(std::int64_t at_us, std::uint64_t event, std::uint32_t stream, std::uint32_t device = 0) {
    other(CallKind::kStreamWait, at_us, at_us + 1, "cudaStreamWaitEvent", stream, event, device);
  }
  Graph graph(Lags lags = Lags::kMeasured) { return graph_of(builder, lags); }
};

TEST(HostEdges, AreWhatAThreadDidBetweenItsCalls) {
  Program program;
  program.call(100, 110);
  program.call(150, 170);
  program.call(155, 158, 7);  // another thread
  program.call(160, 165);     // inside of the second
  program.call(165, 166);     // right after it
  const Graph graph = program.graph();
  EXPECT_EQ(graph.window, (Interval{100'000, 170'001}));
  EXPECT_THAT(before_call(graph, 0), ElementsAre("origin -> call 0 start 0 origin"));
  EXPECT_THAT(before_call(graph, 1), ElementsAre("call 0 end -> call 1 start 40000 program"));
  EXPECT_THAT(before_call(graph, 2), ElementsAre("origin -> call 2 start 55000 origin"));
  EXPECT_THAT(before_call(graph, 3), ElementsAre("call 1 start -> call 3 start 10000 program"));
  EXPECT_THAT(before_call(graph, 4), ElementsAre("call 3 end -> call 4 start 0 program"));
  EXPECT_THAT(in_call(graph, 0), ElementsAre("call 0 start -> call 0 end 10000 call"));
  EXPECT_THAT(in_call(graph, 1), ElementsAre("call 1 start -> call 1 end 20000 call"));
  EXPECT_THAT(graph.previous_call, ElementsAre(kNone, 0u, kNone, 1u, 3u));
}

TEST(HostEdges, HandOverIntoABackwardPassAndOutOfIt) {
  Program program;
  program.call(0, 10, kMainThread, AutogradRole::kForward);
  program.call(30, 40, kAutograd, AutogradRole::kBackward);
  program.call(35, 37, 7);  // takes no turns
  program.call(50, 60, kAutograd, AutogradRole::kBackward);
  program.call(60, 70, kMainThread, AutogradRole::kForward);
  program.call(80, 90, kMainThread, AutogradRole::kForward);
  const Graph graph = program.graph();
  EXPECT_THAT(before_call(graph, 1), ElementsAre("call 0 end -> call 1 start 20000 handover"));
  EXPECT_THAT(before_call(graph, 2), ElementsAre("origin -> call 2 start 35000 origin"));
  EXPECT_THAT(before_call(graph, 3), ElementsAre("call 1 end -> call 3 start 10000 program"));
  EXPECT_THAT(before_call(graph, 4), ElementsAre("call 3 end -> call 4 start 0 handover"));
  EXPECT_THAT(before_call(graph, 5), ElementsAre("call 4 end -> call 5 start 10000 program"));
}

TEST(HostEdges, DoNotHandOverWhileTheOtherThreadIsStillInACall) {
  Program program;
  program.call(0, 10, kMainThread, AutogradRole::kForward);
  program.call(20, 40, kAutograd, AutogradRole::kBackward);
  program.call(39, 50, kMainThread, AutogradRole::kForward);
  EXPECT_THAT(before_call(program.graph(), 2), ElementsAre("call 0 end -> call 2 start 29000 program"));
}

TEST(HostEdges, OfAThreadWithAsManyForwardCallsAreNotAutograds) {
  Program program;
  program.call(0, 10, kMainThread, AutogradRole::kForward);
  program.call(20, 30, kAutograd, AutogradRole::kBackward);
  program.call(40, 50, kAutograd, AutogradRole::kForward);
  program.call(60, 70, kMainThread, AutogradRole::kForward);
  EXPECT_THAT(before_call(program.graph(), 3), ElementsAre("call 0 end -> call 3 start 50000 program"));
}

TEST(HostEdges, OfTwoThreadsThatBuildGraphsHandNothingOver) {
  Program program;
  program.call(0, 10, kAutograd, AutogradRole::kBackward);
  program.call(20, 30, 7, AutogradRole::kForward);
  program.call(40, 50, kMainThread, AutogradRole::kForward);
  const Graph graph = program.graph();
  EXPECT_THAT(before_call(graph, 1), ElementsAre("call 0 end -> call 1 start 10000 handover"));
  EXPECT_THAT(before_call(graph, 2), ElementsAre("origin -> call 2 start 40000 origin"));
}

TEST(DeviceEdges, OfAStreamKeepTheLagOfWhatDecided) {
  Program program;
  program.kernel(0, 7, 107);
  program.kernel(10, 109, 159);   // behind the first, 2 us later
  program.kernel(170, 179, 190);  // the stream was idle
  const Graph graph = program.graph();
  EXPECT_EQ(graph.typical.stream, 2000);
  EXPECT_EQ(graph.typical.kernel_launch, 9000);
  EXPECT_THAT(before_work(graph, 0), ElementsAre("call 0 start -> work 0 start 7000 launch"));
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 1 start -> work 1 start 9000 launch", "work 0 end -> work 1 start 2000 stream"));
  EXPECT_THAT(before_work(graph, 2),
              ElementsAre("call 2 start -> work 2 start 9000 launch", "work 1 end -> work 2 start 2000 stream"));
  EXPECT_EQ(graph.operations[1].before, 0u);
  EXPECT_EQ(graph.operations[1].after, 2u);
  EXPECT_EQ(graph.operations[0].before, kNone);
  EXPECT_EQ(graph.operations[2].after, kNone);
}

TEST(DeviceEdges, AreNotBetweenStreamsOrDevices) {
  Program program;
  program.kernel(0, 7, 107, 1, 0);
  program.kernel(10, 18, 159, 1, 1);
  program.kernel(20, 28, 60, 2, 1);
  program.kernel(30, 160, 200, 1, 1);
  const Graph graph = program.graph();
  EXPECT_THAT(before_work(graph, 1), ElementsAre("call 1 start -> work 1 start 8000 launch"));
  EXPECT_THAT(before_work(graph, 2), ElementsAre("call 2 start -> work 2 start 8000 launch"));
  EXPECT_THAT(before_work(graph, 3),
              ElementsAre("call 3 start -> work 3 start 6000 launch", "work 1 end -> work 3 start 1000 stream"));
}

// The first is of no use: nothing was before it on its stream.
TEST(DeviceEdges, LearnTheLagOfALaunchFromIdleStreams) {
  Program program;
  program.kernel(0, 50, 60);
  program.kernel(100, 107, 110);
  program.kernel(200, 209, 210);
  program.kernel(300, 320, 330);
  program.kernel(330, 430, 440);  // the one before ended in the moment of the launch: not idle before it
  const auto learned = [](Program& one, Lags lags) { return one.graph(lags).typical.kernel_launch; };
  Program again = program;
  EXPECT_EQ(learned(program, Lags::kMeasured), 9000);  // the median of 7, 9 and 20
  EXPECT_EQ(learned(again, Lags::kTypical), 12'000);   // their mean
}

TEST(DeviceEdges, LearnTheLagOfAStreamFromABacklogOfMoreThanTwentyMicroseconds) {
  const auto learned = [](std::int64_t first_ends_us) {
    Program program;
    program.kernel(0, 7, first_ends_us);
    program.kernel(10, first_ends_us + 3, 200);
    return program.graph().typical.stream;
  };
  EXPECT_EQ(learned(36), 3000);
  EXPECT_EQ(learned(35), 1000);  // as usual
}

TEST(DeviceEdges, LearnTheLagOfCopiesByKind) {
  const auto launch_lags = [](CopySpec spec) {
    Program program;
    program.kernel(0, 7, 10);
    program.kernel(100, 106, 110);
    spec.start_ns = 213;
    spec.end_ns = 300;
    program.copy(200, 5, spec);
    const TypicalLags typical = program.graph().typical;
    return std::vector{typical.kernel_launch, typical.copy_launch, typical.staged_launch};
  };
  const CopySpec pinned{.bytes = 65'537, .stream = 0};
  const CopySpec staged{.bytes = 65'537, .src = MemoryKind::kPageable, .stream = 0};
  const CopySpec small{.bytes = 65'536, .src = MemoryKind::kPageable, .stream = 0};
  const CopySpec down{.bytes = 65'537,
                      .kind = CopyKind::kDeviceToHost,
                      .src = MemoryKind::kDevice,
                      .dst = MemoryKind::kPageable,
                      .stream = 0};
  EXPECT_THAT(launch_lags(pinned), ElementsAre(6000, 13'000, 13'000));
  EXPECT_THAT(launch_lags(staged), ElementsAre(6000, 6000, 13'000));
  EXPECT_THAT(launch_lags(small), ElementsAre(6000, 13'000, 13'000));
  EXPECT_THAT(launch_lags(down), ElementsAre(6000, 13'000, 13'000));
}

TEST(DeviceEdges, TakeAMemsetForAKernel) {
  Program program;
  program.copy(0, 5, {.start_ns = 8, .end_ns = 10});
  program.call(100, 105);
  program.builder.memset(111 * kUs, 112 * kUs, program.correlation, 64);
  EXPECT_EQ(program.graph().typical.kernel_launch, 11'000);
}

TEST(DeviceEdges, OfAnEventJoinStreams) {
  Program program;
  program.kernel(0, 7, 107, 1);
  program.record(10, 0xE, 1);
  program.wait(12, 0xE, 2);
  program.kernel(14, 111, 120, 2);  // 4 us behind the event
  program.kernel(20, 121, 130, 2);  // waits for the stream alone
  const Graph graph = program.graph();
  EXPECT_EQ(graph.typical.event, 4000);
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 3 start -> work 1 start 6000 launch", "work 0 end -> work 1 start 4000 event"));
  EXPECT_THAT(before_work(graph, 2), Not(Contains(HasSubstr("event"))));
}

TEST(DeviceEdges, OfAnEventAreHandedOnByAStreamWithoutWorkOfItsOwn) {
  Program program;
  program.kernel(0, 7, 107, 1);
  program.record(10, 0xE, 1);
  program.wait(12, 0xE, 2);
  program.record(14, 0xF, 2);  // nothing ran on stream 2
  program.wait(16, 0xF, 3);
  program.kernel(18, 111, 120, 3);
  EXPECT_THAT(before_work(program.graph(), 1), Contains("work 0 end -> work 1 start 4000 event"));
}

// As torch.profiler has them: neither the event nor a stream.
TEST(DeviceEdges, OfAnEventWithoutANameJoinWhatItsThreadLaunchedBeforeAndBehind) {
  const auto edges = [](bool has_other_call) {
    Program program;
    program.kernel(0, 7, 107, 1);
    program.record(10, 0, trace::kUnknownId);
    if (has_other_call) program.call(11, 12);
    program.wait(12, 0, trace::kUnknownId);
    program.kernel(14, 108, 110, 1);  // on the same stream: not what waits
    program.kernel(20, 111, 120, 2);
    return before_work(program.graph(), 2);
  };
  EXPECT_THAT(edges(false), Contains("work 0 end -> work 2 start 4000 event"));
  EXPECT_THAT(edges(true), Not(Contains(HasSubstr("event"))));
}

TEST(DeviceEdges, OfAnEventThatIsRecordedAgainAreOfTheLastRecord) {
  Program program;
  program.kernel(0, 7, 20, 1);
  program.record(10, 0xE, 1);
  program.kernel(12, 21, 107, 1);
  program.record(20, 0xE, 1);
  program.wait(22, 0xE, 2);
  program.kernel(24, 109, 120, 2);
  EXPECT_THAT(before_work(program.graph(), 2), Contains("work 1 end -> work 2 start 2000 event"));
}

TEST(DeviceEdges, OfAnEventOnAnEmptyStreamOrAnUnknownEventAreNone) {
  Program program;
  program.record(0, 0xE, 9);
  program.wait(2, 0xE, 2);
  program.wait(4, 0xF, 2);
  program.kernel(6, 20, 30, 2);
  EXPECT_THAT(before_work(program.graph(), 0), ElementsAre("call 3 start -> work 0 start 14000 launch"));
}

TEST(DeviceEdges, OfAnEventAreOfTheStreamsDevice) {
  Program program;
  program.kernel(0, 7, 107, 1, 0);
  program.kernel(6, 13, 207, 1, 1);
  program.record(12, 0xE, 1, 1);  // on the second device
  program.wait(14, 0xE, 2, 0);
  program.kernel(16, 23, 30, 2, 1);  // not of the device that waits
  program.kernel(22, 210, 230, 2, 0);
  const Graph graph = program.graph();
  EXPECT_THAT(before_work(graph, 2), Not(Contains(HasSubstr("event"))));
  EXPECT_THAT(before_work(graph, 3), Contains("work 1 end -> work 3 start 3000 event"));
}

// 20 us behind the return of the launch is decided by it, a lag of 20 us is not an event's.
TEST(DeviceEdges, LearnTheLagOfAnEventWhereItDecided) {
  const auto learned = [](std::int64_t awaited_ends_us, std::int64_t lag_us) {
    Program program;
    program.kernel(0, 7, awaited_ends_us, 1);
    program.record(6, 0xE, 1);
    program.wait(8, 0xE, 2);
    program.kernel(10, awaited_ends_us + lag_us, 200, 2);
    return program.graph().typical.event;
  };
  EXPECT_EQ(learned(36, 5), 5000);
  EXPECT_EQ(learned(35, 5), 2000);  // as usual
  EXPECT_EQ(learned(36, 19), 19'000);
  EXPECT_EQ(learned(36, 20), 2000);
  EXPECT_EQ(learned(36, 0), 0);
}

TEST(DeviceEdges, OfCopiesInOneDirectionShareTheEngineOfTheirDevice) {
  Program program;
  const auto up = [&](std::int64_t call_us, std::int64_t start_us, std::int64_t end_us, std::uint32_t stream,
                      std::uint32_t device, CopyKind kind = CopyKind::kHostToDevice) {
    const bool is_up = kind == CopyKind::kHostToDevice;
    program.copy(call_us, 2,
                 {.start_ns = start_us,
                  .end_ns = end_us,
                  .kind = kind,
                  .src = is_up ? MemoryKind::kPinned : MemoryKind::kDevice,
                  .dst = is_up ? MemoryKind::kDevice : MemoryKind::kPinned,
                  .device = device,
                  .stream = stream,
                  .is_async = true});
  };
  up(0, 10, 100, 1, 0);
  up(5, 12, 60, 1, 1);                            // another device
  up(10, 18, 50, 2, 0, CopyKind::kDeviceToHost);  // another direction
  up(15, 101, 150, 3, 0);                         // waits for the first
  up(20, 149, 170, 4, 0);                         // began before the one before was done
  const Graph graph = program.graph();
  EXPECT_THAT(before_work(graph, 1), ElementsAre("call 1 start -> work 1 start 7000 launch"));
  EXPECT_THAT(before_work(graph, 2), ElementsAre("call 2 start -> work 2 start 8000 launch"));
  EXPECT_THAT(before_work(graph, 3),
              ElementsAre("call 3 start -> work 3 start 6000 launch", "work 0 end -> work 3 start 1000 engine"));
  EXPECT_THAT(before_work(graph, 4), ElementsAre("call 4 start -> work 4 start 129000 launch"));
}

TEST(DeviceEdges, OfCopiesWithinADeviceNeedNoEngine) {
  Program program;
  program.copy(
      0, 2, {.start_ns = 8, .end_ns = 20, .kind = CopyKind::kDeviceToDevice, .src = MemoryKind::kDevice, .stream = 1});
  program.copy(
      5, 2, {.start_ns = 21, .end_ns = 30, .kind = CopyKind::kDeviceToDevice, .src = MemoryKind::kDevice, .stream = 2});
  EXPECT_THAT(before_work(program.graph(), 1), Not(Contains(HasSubstr("engine"))));
}

// A start that the launch explains but for more than 8 us, right behind a kernel of another stream.
TEST(DeviceEdges, MakeRoomForAKernelThatStartsLate) {
  const auto late = [](std::int64_t start_us, std::int64_t room_ends_us, std::uint32_t device_of_room = 0) {
    Program program;
    program.kernel(0, 7, room_ends_us, 1, device_of_room);
    program.kernel(10, start_us, 200, 2);
    return before_work(program.graph(), 1);
  };
  EXPECT_THAT(late(25, 23),
              ElementsAre("work 0 end -> work 1 start 2000 resource", "call 1 start -> work 1 start 6000 launch"));
  EXPECT_THAT(late(25, 21), Contains("work 0 end -> work 1 start 4000 resource"));
  EXPECT_THAT(late(25, 20), ElementsAre("call 1 start -> work 1 start 15000 launch"));
  EXPECT_THAT(late(24, 23), ElementsAre("call 1 start -> work 1 start 14000 launch"));  // 8 us are explained
  EXPECT_THAT(late(25, 25), Contains("work 0 end -> work 1 start 0 resource"));
  EXPECT_THAT(late(25, 26), ElementsAre("call 1 start -> work 1 start 15000 launch"));
  EXPECT_THAT(late(25, 23, 1), ElementsAre("call 1 start -> work 1 start 15000 launch"));
}

// Of torch.profiler's events some cannot be told: then a kernel starts late, right behind the copy that it waited for.
TEST(DeviceEdges, OfALateKernelAreToTheCopyThatEndedJustBefore) {
  Program program;
  program.copy(0, 5, {.start_ns = 7, .end_ns = 500, .bytes = 1000, .stream = 1});
  program.kernel(10, 502, 600, 2);
  EXPECT_THAT(before_work(program.graph(), 1), Contains("work 0 end -> work 1 start 2000 resource"));
}

TEST(DeviceEdges, LeaveAwayWhatTheTimesRuleOut) {
  const auto early = [](std::int64_t call_us) {
    Program program;
    program.kernel(0, 7, 30, 1);
    program.record(6, 0xE, 1);
    program.wait(8, 0xE, 2);
    program.kernel(call_us, 27, 40, 2);
    const Graph graph = program.graph();
    return std::pair(before_work(graph, 1), graph.contradicted_count);
  };
  // 3 us before its cause are the clocks'.
  EXPECT_THAT(early(20).first,
              ElementsAre("call 3 start -> work 1 start 6000 launch", "work 0 end -> work 1 start -3000 event"));
  EXPECT_EQ(early(20).second, 0u);
  Program program;
  program.kernel(0, 7, 31, 1);
  program.record(6, 0xE, 1);
  program.wait(8, 0xE, 2);
  program.kernel(20, 27, 40, 2);
  const Graph graph = program.graph();
  EXPECT_THAT(before_work(graph, 1), ElementsAre("call 3 start -> work 1 start 7000 launch"));
  EXPECT_EQ(graph.contradicted_count, 1u);
}

TEST(DeviceEdges, OfWorkThatNothingExplainsStartAtTheOrigin) {
  Program program;
  program.call(0, 5);
  program.builder.kernel({.start_ns = 20 * kUs, .end_ns = 30 * kUs, .correlation = 99});
  const Graph graph = program.graph();
  EXPECT_THAT(before_work(graph, 0), ElementsAre("origin -> work 0 start 20000 origin"));
}

TEST(DeviceEdges, OfBranchesOfAGraphStartBesideEachOther) {
  Program program;
  program.kernel(0, 7, 50, 1);
  program.kernel(1, 46, 60, 1);  // began 4 us before the one before it was done
  program.kernel(2, 57, 70, 1);  // 3 us: the clocks
  const Graph graph = program.graph();
  EXPECT_THAT(before_work(graph, 1), Contains(HasSubstr("work 0 start -> work 1 start 39000 stream")));
  EXPECT_THAT(before_work(graph, 2), Contains(HasSubstr("work 1 end -> work 2 start -3000 stream")));
}

TEST(DeviceEdges, AreTypicalOnesWhereTheDependenciesAloneAreAsked) {
  Program program;
  program.kernel(0, 7, 107);
  program.kernel(10, 109, 159);
  program.kernel(20, 163, 200);
  const Graph graph = program.graph(Lags::kTypical);
  EXPECT_EQ(graph.typical.stream, 3000);  // the mean of 2 and 4
  EXPECT_THAT(before_work(graph, 1),
              ElementsAre("call 1 start -> work 1 start 6000 launch", "work 0 end -> work 1 start 3000 stream"));
}

// A wait of the host, behind a kernel of 100 us on stream 1 of GPU 0, and one of 150 us on stream 2.
std::vector<std::string> waiting(const std::string& api, std::uint32_t stream, std::uint64_t event, std::int64_t end_us,
                                 std::uint32_t device = 0) {
  Program program;
  program.kernel(0, 7, 107, 1);
  program.record(6, 0xE, 1);
  program.kernel(10, 17, 167, 2);
  program.kernel(16, 23, 190, 1, 1);
  program.other(CallKind::kSynchronize, 30, end_us, api, stream, event, device);
  return in_call(program.graph(), 4);
}

TEST(WaitEdges, OfAStreamAreForItsLastWork) {
  EXPECT_THAT(waiting("cudaStreamSynchronize", 1, 0, 115),
              ElementsAre("call 4 start -> call 4 end 5000 call", "work 0 end -> call 4 end 8000 wait"));
  EXPECT_THAT(waiting("cudaStreamSynchronize", 2, 0, 170), Contains("work 1 end -> call 4 end 3000 wait"));
  EXPECT_THAT(waiting("cudaStreamSynchronize", 9, 0, 170), ElementsAre("call 4 start -> call 4 end 140000 call"));
  EXPECT_THAT(waiting("cudaStreamSynchronize", 1, 0, 199, 1), Contains("work 2 end -> call 4 end 9000 wait"));
}

TEST(WaitEdges, OfAnEventAreForTheWorkBeforeIt) {
  EXPECT_THAT(waiting("cudaEventSynchronize", trace::kUnknownId, 0xE, 110),
              Contains("work 0 end -> call 4 end 3000 wait"));
  // Which event it was is not known: of what ended before the return, the last.
  EXPECT_THAT(waiting("cudaEventSynchronize", trace::kUnknownId, 0, 112),
              Contains("work 0 end -> call 4 end 5000 wait"));
  EXPECT_THAT(waiting("cudaEventSynchronize", trace::kUnknownId, 0xF, 164),
              Contains("work 1 end -> call 4 end -3000 wait"));
  EXPECT_THAT(waiting("cudaEventSynchronize", trace::kUnknownId, 0xF, 163),
              Contains("work 0 end -> call 4 end 56000 wait"));
}

TEST(WaitEdges, OfAStreamAreAlsoForWhatItWaitsFor) {
  Program program;
  program.kernel(0, 7, 107, 1);
  program.record(10, 0xE, 1);
  program.wait(12, 0xE, 2);
  program.other(CallKind::kSynchronize, 14, 110, "cudaStreamSynchronize", 2);
  EXPECT_THAT(in_call(program.graph(), 3), Contains("work 0 end -> call 3 end 3000 wait"));
}

TEST(WaitEdges, OfADeviceAreForAllItsStreamsAndNoOtherDevices) {
  EXPECT_THAT(waiting("cudaDeviceSynchronize", trace::kUnknownId, 0, 172),
              ElementsAre("call 4 start -> call 4 end 5000 call", "work 1 end -> call 4 end 5000 wait"));
  EXPECT_THAT(waiting("cudaDeviceSynchronize", trace::kUnknownId, 0, 196, 1),
              Contains("work 2 end -> call 4 end 6000 wait"));
  EXPECT_THAT(waiting("cudaDeviceSynchronize", trace::kUnknownId, 0, 196, trace::kUnknownId),
              Contains("work 2 end -> call 4 end 6000 wait"));
}

TEST(WaitEdges, ThatTheTimesRuleOutAreLeftAway) {
  Program program;
  program.kernel(0, 7, 107, 1);
  program.other(CallKind::kSynchronize, 30, 103, "cudaDeviceSynchronize");
  const Graph graph = program.graph();
  EXPECT_THAT(in_call(graph, 1), ElementsAre("call 1 start -> call 1 end 5000 call"));
  EXPECT_EQ(graph.contradicted_count, 1u);
}

TEST(WaitEdges, ThatFoundNothingToWaitForKeepTheirDuration) {
  Program program;
  program.kernel(0, 7, 30, 1);
  program.other(CallKind::kSynchronize, 30, 33, "cudaDeviceSynchronize");
  const Graph graph = program.graph();
  EXPECT_THAT(in_call(graph, 1),
              ElementsAre("call 1 start -> call 1 end 3000 call", "work 0 end -> call 1 end 3000 wait"));
  EXPECT_EQ(graph.typical.sync_call, 3000);
  EXPECT_EQ(graph.typical.wait, 8000);  // as usual: nothing was waited for
}

TEST(WaitEdges, OfACopyThatHeldItsCallAreItsOwn) {
  Program program;
  program.kernel(0, 7, 10);
  program.copy(20, 80, {.start_ns = 28, .end_ns = 95, .bytes = 1 << 20});
  program.copy(200, 4, {.start_ns = 208, .end_ns = 290, .bytes = 1 << 20, .is_async = true});
  const Graph graph = program.graph();
  EXPECT_EQ(graph.typical.copy_call, 4000);
  EXPECT_EQ(graph.typical.launch_call, 5000);
  EXPECT_EQ(graph.typical.copy_return, 5000);
  EXPECT_EQ(graph.typical.wait, 8000);
  EXPECT_THAT(in_call(graph, 1),
              ElementsAre("call 1 start -> call 1 end 4000 call", "work 1 end -> call 1 end 5000 wait"));
  EXPECT_THAT(in_call(graph, 2), ElementsAre("call 2 start -> call 2 end 4000 call"));
}

// The last part of a staged copy crosses when its call has returned.
TEST(WaitEdges, OfAStagedCopyMayBeNegative) {
  Program program;
  program.copy(0, 80, {.start_ns = 8, .end_ns = 95, .bytes = 1 << 20, .src = MemoryKind::kPageable});
  const Graph graph = program.graph();
  EXPECT_THAT(in_call(graph, 0),
              ElementsAre("call 0 start -> call 0 end 4000 call", "work 0 end -> call 0 end -15000 wait"));
  EXPECT_EQ(graph.typical.copy_return, -15'000);
  EXPECT_EQ(graph.contradicted_count, 0u);
}

// An allocation of more than 30 us that returns within 25 us behind some work may have waited for it.
std::vector<std::string> allocating(std::int64_t length_us, std::int64_t work_ends_us,
                                    CallKind kind = CallKind::kDeviceFree) {
  Program program;
  program.kernel(0, 7, work_ends_us, 1);
  program.other(kind, 10, 10 + length_us, "cudaFree");
  return in_call(program.graph(), 1);
}

TEST(WaitEdges, OfALongFreeAreForTheWorkThatEndedJustBefore) {
  EXPECT_THAT(allocating(31, 40),
              ElementsAre("call 1 start -> call 1 end 5000 call", "work 0 end -> call 1 end 1000 wait"));
  EXPECT_THAT(allocating(30, 39), ElementsAre("call 1 start -> call 1 end 30000 call"));
  EXPECT_THAT(allocating(60, 45), Contains("work 0 end -> call 1 end 25000 wait"));
  EXPECT_THAT(allocating(60, 44), ElementsAre("call 1 start -> call 1 end 60000 call"));
  EXPECT_THAT(allocating(60, 73), Contains("work 0 end -> call 1 end -3000 wait"));
  EXPECT_THAT(allocating(60, 74), ElementsAre("call 1 start -> call 1 end 60000 call"));
  EXPECT_THAT(allocating(31, 10), ElementsAre("call 1 start -> call 1 end 31000 call"));  // was over before
}

// A call that waited for the device returned when all that was under way there was done.
TEST(WaitEdges, OfALongFreeAreNoneIfOtherWorkRanOn) {
  const auto freeing = [](std::int64_t second_ends_us, std::uint32_t second_device = 0) {
    Program program;
    program.kernel(0, 7, 35, 1);
    program.kernel(5, 12, second_ends_us, 2, second_device);
    program.other(CallKind::kDeviceFree, 10, 50, "cudaFree");
    return in_call(program.graph(), 2);
  };
  EXPECT_THAT(freeing(20), Contains("work 0 end -> call 2 end 15000 wait"));
  EXPECT_THAT(freeing(53), Contains("work 1 end -> call 2 end -3000 wait"));
  EXPECT_THAT(freeing(54), ElementsAre("call 2 start -> call 2 end 40000 call"));
  EXPECT_THAT(freeing(90), ElementsAre("call 2 start -> call 2 end 40000 call"));
  EXPECT_THAT(freeing(90, 1), Contains("work 0 end -> call 2 end 15000 wait"));
}

TEST(WaitEdges, OfMemoryCallsAreThoseThatMayWaitForTheDevice) {
  for (const CallKind kind : {CallKind::kDeviceAlloc, CallKind::kDeviceFree, CallKind::kHostAlloc, CallKind::kHostFree,
                              CallKind::kHostRegister, CallKind::kHostUnregister, CallKind::kManagedAlloc}) {
    EXPECT_THAT(allocating(60, 60, kind), Contains("work 0 end -> call 1 end 10000 wait"));
  }
  EXPECT_THAT(allocating(60, 60, CallKind::kOther), ElementsAre("call 1 start -> call 1 end 60000 call"));
}

// `count` kernels under way, and a launch that takes long.
std::vector<std::string> launching_into_a_queue(int count) {
  Program program;
  for (int i = 0; i < count; ++i) program.kernel(6 * i, 6 * count + 10 * i, 6 * count + 10 * i + 9);
  const std::int64_t at_us = 6 * count;
  program.call(at_us, at_us + 52);  // returns 3 us behind the fifth kernel
  return in_call(program.graph(), static_cast<std::uint32_t>(count));
}

TEST(WaitEdges, OfALaunchAreForRoomInTheQueue) {
  EXPECT_THAT(launching_into_a_queue(256),
              ElementsAre("call 256 start -> call 256 end 5000 call", "work 4 end -> call 256 end 3000 queue"));
  EXPECT_THAT(launching_into_a_queue(255), ElementsAre("call 255 start -> call 255 end 52000 call"));
}

// The call of launch 1055 and the kernels of which the first has begun 1024 launches before.
std::vector<std::string> launching_ahead(std::int64_t kernel_us) {
  Program program;
  for (int i = 0; i < 1056; ++i) program.kernel(10 * i, 10 * i + 7 + kernel_us * i, 10 * i + 8 + kernel_us * (i + 1));
  return in_call(program.graph(), 1055);
}

TEST(WaitEdges, OfALaunchAreForTheStartOfTheOneThatFillsTheQueue) {
  EXPECT_THAT(launching_ahead(0), Contains("work 31 start -> call 1055 end 8000 queue"));
  // Kernel 31 began after launch 1055: this queue is longer.
  EXPECT_THAT(launching_ahead(400), Not(Contains(HasSubstr("queue"))));
}

TEST(DefaultStream, IsPerDevice) {
  // On both GPUs a kernel on stream 7 and a copy on stream 20; on GPU 1 the copy waits for the kernel.
  Program program;
  program.kernel(0, 7, 107, 7, 0);
  program.copy(10, 2, {.start_ns = 18, .end_ns = 60, .device = 0, .stream = 20, .is_async = true});
  program.kernel(20, 27, 127, 7, 1);
  program.copy(30, 2, {.start_ns = 129, .end_ns = 160, .device = 1, .stream = 20, .is_async = true});
  const Graph graph = program.graph();
  EXPECT_THAT(before_work(graph, 1), Not(Contains(HasSubstr("default"))));
  EXPECT_THAT(before_work(graph, 3), Contains("work 2 end -> work 3 start 2000 default stream"));
}

// An operation was held if it could have run 20 us before the other ended, and began within 20 us of that end.
TEST(DefaultStream, HoldsWhatCouldHaveRunLongBefore) {
  const auto is_held = [](std::int64_t call_us, std::int64_t start_us) {
    Program program;
    program.kernel(0, 7, 107, 7);
    program.copy(call_us, 2, {.start_ns = start_us, .end_ns = 200, .stream = 20, .is_async = true});
    for (const std::string& line : before_work(program.graph(), 1)) {
      if (line.find("default stream") != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_held(86, 110));
  EXPECT_FALSE(is_held(87, 110));
  EXPECT_TRUE(is_held(20, 126));
  EXPECT_FALSE(is_held(20, 127));
  EXPECT_TRUE(is_held(20, 104));  // 3 us before: the clocks
  EXPECT_FALSE(is_held(20, 103));
}

TEST(Stretch, OfStepsBeginsWithTheFirstWholeOne) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kLaunch, .start_ns = 50, .end_ns = 60, .correlation = 1});
  const Timeline timeline = builder.take().timeline;
  const FoundSteps steps{
      .steps = {}, .starts_ns = {0, 100, 200, 300}, .window = {100, 280}, .whole_count = 2, .has_warm_up = true};
  const Stretch stretch = choose_stretch(timeline, steps);
  EXPECT_EQ(stretch.window, (Interval{100, 280}));
  EXPECT_THAT(stretch.step_starts_ns, ElementsAre(100, 200, 280));
}

TEST(Stretch, OfNothingIsEmpty) {
  EXPECT_EQ(choose_stretch(Timeline(), std::nullopt).window, (Interval{0, 0}));
}

// A call in the last moment of the stretch is of it; its work too, whenever it ran.
TEST(Stretch, HoldsTheCallsThatBeganInItAndTheirWork) {
  ProcessBuilder builder;
  const auto kernel = [&](std::int64_t call_ns, std::int64_t start_ns, std::uint32_t correlation) {
    builder.call({.kind = CallKind::kLaunch, .start_ns = call_ns, .end_ns = call_ns + 1, .correlation = correlation});
    builder.kernel({.start_ns = start_ns, .end_ns = start_ns + 5, .correlation = correlation});
  };
  kernel(99, 99, 1);   // before
  kernel(98, 100, 2);  // ran in it
  kernel(100, 101, 3);
  kernel(199, 250, 4);
  kernel(200, 260, 5);  // behind
  builder.copy({.start_ns = 150, .end_ns = 160, .correlation = 9, .kind = CopyKind::kHostToHost});
  builder.migration(trace::MigrationKind::kHostToDevice, 150, 160, 64);
  const LoadedProcess loaded = builder.take();
  const Graph graph =
      build_graph(loaded.process, loaded.timeline, {.window = {100, 200}, .step_starts_ns = {100, 200}});
  ASSERT_EQ(graph.calls.size(), 2u);
  ASSERT_EQ(graph.operations.size(), 3u);
  EXPECT_EQ(graph.operations[0].start_ns, 100);
  EXPECT_EQ(graph.operations[0].call, kNone);
  EXPECT_EQ(graph.operations[1].call, 0u);
  EXPECT_EQ(graph.operations[2].start_ns, 250);
  EXPECT_EQ(graph.operations[2].call, 1u);
  EXPECT_THAT(graph.step_starts_ns, ElementsAre(0, 100));
  EXPECT_EQ(graph.step_at(-1), kNone);
  EXPECT_EQ(graph.step_at(0), 0u);
  EXPECT_EQ(graph.step_at(99), 0u);
  EXPECT_EQ(graph.step_at(100), kNone);
}

}  // namespace
}  // namespace turnpike::analyze
