// Loading records: order, joining, captured lines.
#include "analyze/model/timeline.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "analyze/process_builder.h"
#include "trace/make_record.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;

TEST(Timeline, SortsWhatComesInAnyOrder) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 30, .end_ns = 40, .correlation = 2});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 1});
  builder.kernel({.start_ns = 7, .end_ns = 9, .correlation = 1});
  builder.kernel({.start_ns = 3, .end_ns = 4, .correlation = 2});
  builder.range("b", 8, 9);
  builder.range("a", 2, 9);
  builder.call({.start_ns = 5, .end_ns = 6, .correlation = 2});
  builder.call({.start_ns = 1, .end_ns = 2, .correlation = 1});
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.calls.front().start_ns, 1);
  EXPECT_EQ(timeline.transfers.front().start_ns, 10);
  EXPECT_EQ(timeline.kernels.front().start_ns, 3);
  EXPECT_EQ(timeline.ranges.front().start_ns, 2);
}

TEST(Timeline, JoinsTransfersToTheirCalls) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 30, .end_ns = 40, .correlation = 9});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 4});
  builder.call({.start_ns = 5, .end_ns = 6, .correlation = 9});
  builder.call({.start_ns = 1, .end_ns = 2, .correlation = 4});
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.transfers[0].call, 0u);
  EXPECT_EQ(timeline.transfers[1].call, 1u);
  EXPECT_EQ(timeline.unmatched_count, 0u);
}

TEST(Timeline, JoinsEveryTransferOfAGraphToItsLaunch) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kGraphLaunch, .start_ns = 1, .end_ns = 2, .correlation = 4});
  for (int i = 0; i < 3; ++i) builder.copy({.start_ns = 10 + i, .end_ns = 20 + i, .correlation = 4, .graph_node = 5});
  for (const Transfer& transfer : builder.take().timeline.transfers) EXPECT_EQ(transfer.call, 0u);
}

TEST(Timeline, KnowsLaunchesOfWhichNothingWasRecorded) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kLaunch, .start_ns = 1, .end_ns = 2, .correlation = 1});
  builder.call({.kind = CallKind::kLaunch, .start_ns = 3, .end_ns = 4, .correlation = 2});
  builder.call({.kind = CallKind::kGraphLaunch, .start_ns = 5, .end_ns = 6, .correlation = 3});
  builder.call({.kind = CallKind::kLaunch, .start_ns = 7, .end_ns = 8, .correlation = 4, .is_captured = true});
  builder.call({.kind = CallKind::kLaunch, .start_ns = 9, .end_ns = 10, .correlation = 5, .result = 1});
  builder.call({.kind = CallKind::kGraphLaunch, .start_ns = 11, .end_ns = 12, .correlation = 6});
  builder.kernel({.start_ns = 20, .end_ns = 30, .correlation = 1});
  builder.memset(30, 40, 6, 8);  // a graph of a memset
  EXPECT_EQ(builder.take().timeline.lost_launches, (std::vector<std::uint32_t>{1, 2}));
}

TEST(Timeline, TakesLaunchesForThoseOfKernelsWithoutCalls) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kLaunch, .start_ns = 1, .end_ns = 2, .correlation = 1});
  builder.kernel({.start_ns = 20, .end_ns = 30, .correlation = 9});
  EXPECT_TRUE(builder.take().timeline.lost_launches.empty());
}

TEST(Timeline, CountsDeviceWorkWithoutItsCall) {
  ProcessBuilder builder;
  builder.call({.start_ns = 1, .end_ns = 2, .correlation = 1});
  builder.copy({.start_ns = 10, .end_ns = 20, .correlation = 2});
  builder.kernel({.start_ns = 10, .end_ns = 20, .correlation = 3});
  builder.kernel({.start_ns = 30, .end_ns = 40, .correlation = 1});
  builder.migration(trace::MigrationKind::kHostToDevice, 50, 60, 4096);  // has none by its nature
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.unmatched_count, 2u);
  EXPECT_EQ(timeline.transfers[0].call, kNone);
}

TEST(Timeline, CountsCopiesWithoutADirection) {
  ProcessBuilder builder;
  builder.copy({.correlation = 1, .kind = trace::CopyKind::kUnknown, .src = trace::MemoryKind::kManaged});
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.unclassified_count, 1u);
  EXPECT_TRUE(timeline.transfers.empty());
}

TEST(Timeline, LearnsTheDeviceOfACallFromItsContext) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kSynchronize, .start_ns = 1, .end_ns = 2, .context = 2});
  builder.call({.kind = CallKind::kSynchronize, .start_ns = 3, .end_ns = 4, .context = 9});
  builder.kernel({.start_ns = 10, .end_ns = 20, .device = 1});  // context 2
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.calls[0].device, 1u);
  EXPECT_EQ(timeline.calls[1].device, trace::kUnknownId);
}

// Sparse files may be of any size, whatever the memory of the machine.
TEST(Timeline, IsReadWhereThereIsNoRoomForWhatItsFileSeemsToHold) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends the program where memory is short";
#endif
  constexpr std::size_t kCalls = 100'000;
  TimelineLoader loader;
  for (std::size_t i = 0; i < kCalls; ++i) loader.on(trace::CallRecord{});
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  ASSERT_GT(pages, 0u);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kCalls * sizeof(Call);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_NO_THROW(loader.make_room(1e-9));
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(loader.take().calls.size(), kCalls);
}

TEST(Timeline, TakesUnknownAndBackwardTimesForUnknown) {
  ProcessBuilder builder;
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime});
  builder.copy({.start_ns = 9, .end_ns = 3});
  builder.copy({.start_ns = 9, .end_ns = 9});
  const Timeline timeline = builder.take().timeline;
  EXPECT_FALSE(timeline.transfers[0].has_times());
  EXPECT_FALSE(timeline.transfers[1].has_times());
  EXPECT_TRUE(timeline.transfers[2].has_times());
}

TEST(Timeline, LeavesOutMarks) {
  ProcessBuilder builder;
  builder.range("mark", 5, 5);
  EXPECT_TRUE(builder.take().timeline.ranges.empty());
}

TEST(Timeline, FollowsClonesToTheCapturedStack) {
  ProcessBuilder builder;
  builder.graph_node(3, trace::kNoId, 2);  // the clone of a clone, defined before what it was made from
  builder.graph_node(1, 42, 0);
  builder.graph_node(2, trace::kNoId, 1);
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.captured_stack(1), 42u);
  EXPECT_EQ(timeline.captured_stack(3), 42u);
  EXPECT_EQ(timeline.captured_stack(4), trace::kNoId);
}

TEST(Timeline, DoesNotFollowClonesInACircle) {
  ProcessBuilder builder;
  builder.graph_node(1, trace::kNoId, 2);
  builder.graph_node(2, trace::kNoId, 1);
  EXPECT_EQ(builder.take().timeline.captured_stack(1), trace::kNoId);
}

TEST(Timeline, OfNothingIsEmpty) {
  const Timeline timeline = TimelineLoader().take();
  EXPECT_TRUE(timeline.calls.empty());
  EXPECT_EQ(timeline.unmatched_count, 0u);
}

TEST(Timeline, KeepsAllOfACall) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kEventRecord,
                .start_ns = 10,
                .end_ns = 35,
                .correlation = 4,
                .stack = 5,
                .name = "cudaEventRecord",
                .thread = 6,
                .device = 1,
                .context = 8,
                .role = trace::AutogradRole::kBackward,
                .sequence = 9,
                .bytes = 11,
                .result = 12,
                .dst = 13,
                .src = 14,
                .object = 15,
                .stream = 16});
  const Call call = builder.take().timeline.calls.at(0);
  EXPECT_EQ(call.kind, CallKind::kEventRecord);
  EXPECT_EQ(call.duration_ns(), 25);
  EXPECT_EQ(call.correlation, 4u);
  EXPECT_EQ(call.stack, 5u);
  EXPECT_EQ(call.thread, 6u);
  EXPECT_EQ(call.device, 1u);
  EXPECT_EQ(call.context, 8u);
  EXPECT_EQ(call.autograd_role, trace::AutogradRole::kBackward);
  EXPECT_EQ(call.autograd_sequence, 9u);
  EXPECT_EQ(call.bytes, 11u);
  EXPECT_EQ(call.result, 12);
  EXPECT_EQ(call.dst, 13u);
  EXPECT_EQ(call.src, 14u);
  EXPECT_EQ(call.object, 15u);
  EXPECT_EQ(call.stream, 16u);
  EXPECT_FALSE(call.must_copy);
}

TEST(Timeline, KeepsAllOfACopy) {
  ProcessBuilder builder;
  builder.copy({.start_ns = 10,
                .end_ns = 35,
                .correlation = 4,
                .bytes = 64,
                .kind = trace::CopyKind::kDeviceToHost,
                .src = trace::MemoryKind::kDevice,
                .dst = trace::MemoryKind::kPageable,
                .device = 2,
                .stream = 3,
                .count = 5,
                .graph_node = 6,
                .is_async = true});
  builder.copy({.start_ns = 40, .end_ns = 50, .count = 0});
  const Timeline timeline = builder.take().timeline;
  const Transfer& copy = timeline.transfers[0];
  EXPECT_EQ(copy.duration_ns(), 25);
  EXPECT_EQ(copy.bytes, 64u);
  EXPECT_EQ(copy.direction, Direction::kDeviceToHost);
  EXPECT_EQ(copy.src_kind, trace::MemoryKind::kDevice);
  EXPECT_EQ(copy.dst_kind, trace::MemoryKind::kPageable);
  EXPECT_EQ(copy.device, 2u);
  EXPECT_EQ(copy.stream, 3u);
  EXPECT_EQ(copy.count, 5u);
  EXPECT_EQ(copy.graph_node, 6u);
  EXPECT_TRUE(copy.is_async);
  EXPECT_FALSE(copy.is_migration);
  EXPECT_EQ(timeline.transfers[1].count, 1u);  // one at least
  EXPECT_FALSE(timeline.transfers[1].is_async);
}

TEST(Timeline, KeepsMemsetsAndMigrations) {
  ProcessBuilder builder;
  builder.memset(10, 20, 4, 64, trace::MemoryKind::kPinned, 2);
  builder.migration(trace::MigrationKind::kDeviceToHost, 30, 45, 4096, 1);
  const Timeline timeline = builder.take().timeline;
  const Transfer& memset = timeline.transfers[0];
  EXPECT_EQ(memset.direction, Direction::kMemset);
  EXPECT_EQ(memset.src_kind, trace::MemoryKind::kUnknown);
  EXPECT_EQ(memset.dst_kind, trace::MemoryKind::kPinned);
  EXPECT_EQ(memset.device, 2u);
  EXPECT_EQ(memset.stream, kDefaultStream);
  EXPECT_EQ(memset.count, 1u);
  EXPECT_EQ(memset.bytes, 64u);
  EXPECT_FALSE(memset.is_async);
  const Transfer& migration = timeline.transfers[1];
  EXPECT_EQ(migration.direction, Direction::kDeviceToHost);
  EXPECT_EQ(migration.stream, trace::kUnknownId);
  EXPECT_EQ(migration.device, 1u);
  EXPECT_EQ(migration.count, 1u);
  EXPECT_EQ(migration.call, kNone);
  EXPECT_TRUE(migration.is_migration);
  EXPECT_EQ(timeline.unmatched_count, 1u);  // the memset's call
}

// A migration has no call, though a call has its number.
TEST(Timeline, JoinsNoMigrationToACall) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 1, .correlation = 0});
  builder.migration(trace::MigrationKind::kHostToDevice, 30, 45, 4096);
  EXPECT_EQ(builder.take().timeline.transfers.at(0).call, kNone);
}

TEST(Timeline, OrdersWhatStartsTogetherByEndAndNumber) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 5, .end_ns = 9, .correlation = 1});
  builder.kernel({.start_ns = 5, .end_ns = 7, .correlation = 3});
  builder.kernel({.start_ns = 5, .end_ns = 7, .correlation = 2});
  builder.range("late", 5, 9);
  builder.range("early", 5, 7);
  builder.sample(20, 1, 200);
  builder.sample(30, 2, 100);
  builder.sample(10, 3, 200);
  builder.resident(50, 1);
  builder.resident(40, 2);
  builder.content(9, trace::ContentSide::kSource, 1, 1);
  builder.content(8, trace::ContentSide::kSource, 2, 1);
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.kernels[0].correlation, 2u);
  EXPECT_EQ(timeline.kernels[1].correlation, 3u);
  EXPECT_EQ(timeline.kernels[2].correlation, 1u);
  EXPECT_EQ(timeline.ranges[0].end_ns, 7);
  EXPECT_EQ(timeline.samples[0].stack, 2u);
  EXPECT_EQ(timeline.samples[1].stack, 3u);
  EXPECT_EQ(timeline.samples[2].stack, 1u);
  EXPECT_EQ(timeline.memory[0].time_ns, 40);
  EXPECT_EQ(timeline.contents[0].correlation, 8u);
}

TEST(Timeline, KnowsWhichCallsMustCopy) {
  const auto must = [](CallSpec spec) {
    ProcessBuilder builder;
    builder.call(spec);
    return builder.take().timeline.calls.at(0).must_copy;
  };
  EXPECT_TRUE(must({.bytes = 1}));
  EXPECT_FALSE(must({.bytes = 0}));
  EXPECT_FALSE(must({.kind = CallKind::kMemset, .bytes = 1}));
  EXPECT_FALSE(must({.bytes = trace::kUnknownSize}));
  EXPECT_FALSE(must({.bytes = 1, .result = 2}));
  EXPECT_FALSE(must({.bytes = 1, .is_captured = true}));
}

TEST(Timeline, LearnsDevicesOfContextsFromCallsAndCopiesToo) {
  ProcessBuilder builder;
  builder.call({.start_ns = 0, .end_ns = 1, .context = 5});
  builder.call({.start_ns = 2, .end_ns = 3, .device = 4, .context = 5});
  builder.call({.start_ns = 4, .end_ns = 5, .context = 3});
  builder.copy({.start_ns = 4, .end_ns = 5, .device = 2});  // context 3
  builder.call({.start_ns = 6, .end_ns = 7, .context = 7});
  builder.default_stream(6, 9);  // context 7
  builder.call({.start_ns = 8, .end_ns = 9, .context = 9});
  builder.memset(8, 9, 0, 1, trace::MemoryKind::kDevice, 8);
  builder.call({.start_ns = 10, .end_ns = 11, .context = trace::kUnknownId});
  const Timeline timeline = builder.take().timeline;
  EXPECT_EQ(timeline.calls[0].device, 4u);
  EXPECT_EQ(timeline.calls[2].device, 2u);
  EXPECT_EQ(timeline.calls[3].device, 6u);
  EXPECT_EQ(timeline.calls[4].device, 8u);
  EXPECT_EQ(timeline.calls[5].device, trace::kUnknownId);
  EXPECT_TRUE(timeline.default_streams.contains({6, 9}));
  EXPECT_EQ(timeline.default_streams.size(), 1u);
}

TEST(Timeline, SpansWhatHasTimes) {
  EXPECT_FALSE(ProcessBuilder().take().timeline.span);
  ProcessBuilder builder;
  builder.call({.start_ns = 20, .end_ns = 30, .correlation = 1});
  builder.copy({.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime, .correlation = 1});
  EXPECT_EQ(builder.take().timeline.span, (Interval{20, 30}));
  builder.call({.start_ns = 20, .end_ns = 30, .correlation = 1});
  builder.kernel({.start_ns = 25, .end_ns = 40, .correlation = 1});
  builder.memset(10, 15, 0, 1, trace::MemoryKind::kDevice, 0);
  builder.migration(trace::MigrationKind::kHostToDevice, 50, 60, 4096);
  EXPECT_EQ(builder.take().timeline.span, (Interval{10, 60}));
}

TEST(Timeline, MakesRoomForTheRestOfASource) {
  const auto room_for_calls = [](double share_read) {
    TimelineLoader loader;
    for (int i = 0; i < 100; ++i) loader.on(trace::make_record<trace::CallRecord>(trace::RecordKind::kCall));
    loader.make_room(share_read);
    return loader.take().calls.capacity();
  };
  EXPECT_GE(room_for_calls(0.3), 333u);
  EXPECT_LT(room_for_calls(0.3), 400u);
  EXPECT_LT(room_for_calls(0.9), 256u) << "it will hardly grow again";
  EXPECT_LE(room_for_calls(1e-9), 400u) << "the size of a file is no promise";
}

TEST(Timeline, FollowsSixtyFourClones) {
  const auto captured = [](std::uint64_t clones) {
    ProcessBuilder builder;
    builder.graph_node(1, 42, 0);
    for (std::uint64_t node = 2; node <= clones + 1; ++node) builder.graph_node(node, trace::kNoId, node - 1);
    return builder.take().timeline.captured_stack(clones + 1);
  };
  EXPECT_EQ(captured(63), 42u);
  EXPECT_EQ(captured(64), trace::kNoId);
}

}  // namespace
}  // namespace turnpike::analyze
