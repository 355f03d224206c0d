// Which copies held the host, and which synchronisations belong to a copy.
#include "analyze/model/blocking.h"

#include <gtest/gtest.h>

#include <vector>

#include "analyze/process_builder.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

std::optional<bool> is_held(const CallSpec& call, const std::vector<CopySpec>& copies) {
  ProcessBuilder builder;
  builder.call(call);
  for (const CopySpec& copy : copies) builder.copy(copy);
  const LoadedProcess loaded = builder.take();
  std::vector<const Transfer*> transfers;
  for (const Transfer& transfer : loaded.timeline.transfers) transfers.push_back(&transfer);
  return is_held_by_copy(loaded.timeline.calls.front(), transfers);
}

TEST(Blocking, HoldsWhenTheCallReturnsAfterTheCopy) {
  EXPECT_EQ(is_held({.start_ns = 0, .end_ns = 100'000}, {{.start_ns = 10'000, .end_ns = 90'000}}), true);
}

TEST(Blocking, DoesNotHoldWhenTheCallReturnsBeforeTheCopy) {
  EXPECT_EQ(is_held({.start_ns = 0, .end_ns = 5'000}, {{.start_ns = 10'000, .end_ns = 90'000}}), false);
}

TEST(Blocking, AllowsForTheClockByTwoMicroseconds) {
  EXPECT_EQ(is_held({.end_ns = 98'000}, {{.start_ns = 10'000, .end_ns = 100'000}}), true);
  EXPECT_EQ(is_held({.end_ns = 97'999}, {{.start_ns = 10'000, .end_ns = 100'000}}), false);
}

TEST(Blocking, IsDecidedByTimeAndNotByName) {
  const CopySpec copy = {.start_ns = 10'000, .end_ns = 90'000};
  EXPECT_EQ(is_held({.end_ns = 5'000, .name = "cudaMemcpy"}, {copy}), false);
  EXPECT_EQ(is_held({.end_ns = 95'000, .name = "cudaMemcpyAsync"}, {copy}), true);
}

// What CUDA documents, with a call that returned long after the copy was over (or, where said, before).
const CallSpec kLateCall = {.end_ns = 100'000};
const CallSpec kEarlyCall = {.end_ns = 50'000};

CopySpec upload(MemoryKind from, bool is_async, std::uint64_t bytes) {
  return {.start_ns = 10'000, .end_ns = 90'000, .bytes = bytes, .src = from, .is_async = is_async};
}

CopySpec download(MemoryKind to, bool is_async) {
  return {.start_ns = 10'000,
          .end_ns = 90'000,
          .bytes = 4,
          .kind = CopyKind::kDeviceToHost,
          .src = MemoryKind::kDevice,
          .dst = to,
          .is_async = is_async};
}

TEST(Blocking, NeverHoldsForAnAsynchronousCopyOfPageLockedMemory) {
  EXPECT_EQ(is_held(kLateCall, {upload(MemoryKind::kPinned, true, 1 << 20)}), false);
  EXPECT_EQ(is_held(kLateCall, {download(MemoryKind::kPinned, true)}), false);
}

TEST(Blocking, OfASynchronousCopyOfPageLockedMemoryGoesByTheTimes) {
  EXPECT_EQ(is_held(kLateCall, {upload(MemoryKind::kPinned, false, 1 << 20)}), true);
  EXPECT_EQ(is_held(kEarlyCall, {upload(MemoryKind::kPinned, false, 1 << 20)}), false);
  EXPECT_EQ(is_held(kLateCall, {download(MemoryKind::kPinned, false)}), true);
}

TEST(Blocking, OfACopyToPageableMemoryGoesByTheTimes) {
  EXPECT_EQ(is_held(kLateCall, {download(MemoryKind::kPageable, true)}), true);
  EXPECT_EQ(is_held(kEarlyCall, {download(MemoryKind::kPageable, true)}), false);
}

TEST(Blocking, HoldsForStagingOfPageableMemoryAbove64KiB) {
  EXPECT_EQ(is_held(kEarlyCall, {upload(MemoryKind::kPageable, true, 65'537)}), true);
  EXPECT_EQ(is_held(kEarlyCall, {upload(MemoryKind::kPageable, true, 65'536)}), false);
}

TEST(Blocking, OfASmallPageableUploadIsOnlyOfASynchronousOne) {
  EXPECT_EQ(is_held(kLateCall, {upload(MemoryKind::kPageable, true, 65'536)}), false);
  EXPECT_EQ(is_held(kLateCall, {upload(MemoryKind::kPageable, false, 65'536)}), true);
  EXPECT_EQ(is_held(kEarlyCall, {upload(MemoryKind::kPageable, false, 65'536)}), false);
}

TEST(Blocking, OfManagedAndUnknownMemoryGoesByTheTimes) {
  for (const MemoryKind kind : {MemoryKind::kManaged, MemoryKind::kUnknown}) {
    EXPECT_EQ(is_held(kLateCall, {upload(kind, true, 4)}), true);
    EXPECT_EQ(is_held(kEarlyCall, {upload(kind, true, 4)}), false);
  }
}

TEST(Blocking, OfCopiesOnTheHostGoesByTheTimes) {
  const CopySpec copy = {.start_ns = 10'000,
                         .end_ns = 90'000,
                         .bytes = 1 << 20,
                         .kind = CopyKind::kHostToHost,
                         .src = MemoryKind::kPageable,
                         .dst = MemoryKind::kPageable};
  EXPECT_EQ(is_held(kLateCall, {copy}), true);
  EXPECT_EQ(is_held(kEarlyCall, {copy}), false);
}

TEST(Blocking, NeverHoldsForCopiesBetweenDevices) {
  CopySpec copy = {.start_ns = 10'000,
                   .end_ns = 90'000,
                   .kind = CopyKind::kDeviceToDevice,
                   .src = MemoryKind::kDevice,
                   .dst = MemoryKind::kDevice};
  EXPECT_EQ(is_held(kLateCall, {copy}), false);
  copy.src_device = 0;
  copy.dst_device = 1;
  EXPECT_EQ(is_held(kLateCall, {copy}), false);
}

std::optional<bool> is_held_by_memset(MemoryKind kind) {
  ProcessBuilder builder;
  builder.call({.kind = CallKind::kMemset, .end_ns = 100'000, .correlation = 1});
  builder.memset(10'000, 90'000, 1, 64, kind);
  const LoadedProcess loaded = builder.take();
  const Transfer* const transfers[] = {&loaded.timeline.transfers.front()};
  return is_held_by_copy(loaded.timeline.calls.front(), transfers);
}

TEST(Blocking, HoldsForMemsetsOfHostMemoryOnly) {
  EXPECT_EQ(is_held_by_memset(MemoryKind::kDevice), false);
  EXPECT_EQ(is_held_by_memset(MemoryKind::kUnknown), false);
  EXPECT_EQ(is_held_by_memset(MemoryKind::kPinned), true);
  EXPECT_EQ(is_held_by_memset(MemoryKind::kManaged), true);
}

TEST(Blocking, IsUnknownWithoutTimes) {
  const std::int64_t unknown = trace::kUnknownTime;
  EXPECT_EQ(is_held({.start_ns = unknown, .end_ns = unknown}, {{.start_ns = 1, .end_ns = 2}}), std::nullopt);
  EXPECT_EQ(is_held({.start_ns = 0, .end_ns = 9}, {{.start_ns = unknown, .end_ns = unknown}}), std::nullopt);
  CopySpec to_pageable = download(MemoryKind::kPageable, true);
  to_pageable.start_ns = to_pageable.end_ns = unknown;
  EXPECT_EQ(is_held(kLateCall, {to_pageable}), std::nullopt);
}

TEST(Blocking, OfStagingNeedsNoDeviceTimes) {
  const std::int64_t unknown = trace::kUnknownTime;
  EXPECT_EQ(is_held({.end_ns = 9},
                    {{.start_ns = unknown, .end_ns = unknown, .bytes = 1 << 20, .src = MemoryKind::kPageable}}),
            true);
}

TEST(Blocking, OfABatchLastsUntilTheLastCopy) {
  const CopySpec early = {.start_ns = 1'000, .end_ns = 2'000};
  const CopySpec late = {.start_ns = 2'000, .end_ns = 50'000};
  EXPECT_EQ(is_held({.end_ns = 10'000}, {early, late}), false);
  EXPECT_EQ(is_held({.end_ns = 60'000}, {early, late}), true);
  const CopySpec unknown = {.start_ns = trace::kUnknownTime, .end_ns = trace::kUnknownTime};
  EXPECT_EQ(is_held({.end_ns = 10'000}, {unknown, late}), false);
  EXPECT_EQ(is_held({.end_ns = 60'000}, {unknown, late}), std::nullopt);
}

TEST(Blocking, IsNeverBlamedOnAGraphLaunch) {
  EXPECT_EQ(is_held({.kind = CallKind::kGraphLaunch, .end_ns = 100'000}, {{.start_ns = 10, .end_ns = 20}}), false);
}

// A copy and a synchronisation behind it, by one operator of one line; the tests change one thing each.
struct Pair {
  ProcessBuilder builder;
  std::vector<std::uint32_t> line = {builder.python("main", "/home/user/train.py", 9)};
  std::uint32_t item = builder.op("item");
  CallSpec copy = {.start_ns = 0, .end_ns = 10, .stack = stack(item, line)};
  CallSpec sync = {.kind = CallKind::kSynchronize, .start_ns = 12, .end_ns = 50, .stack = stack(item, line)};

  std::uint32_t stack(std::uint32_t op, std::vector<std::uint32_t> frames) {
    frames.insert(frames.begin(), op);
    return builder.stack(std::move(frames));
  }
  bool is_paired() {
    builder.call(copy);
    builder.call(sync);
    const LoadedProcess loaded = builder.take();
    Stacks stacks(loaded.process, loaded.timeline);
    const auto paired = pair_synchronisations(loaded.timeline, stacks);
    for (std::uint32_t i = 0; i < paired.size(); ++i) {
      if (paired[i] != kNone) return loaded.timeline.calls[paired[i]].kind == CallKind::kSynchronize;
    }
    return false;
  }
};

TEST(Pairing, TakesTheNextCallOfTheSameOperatorAndLine) {
  EXPECT_TRUE(Pair().is_paired());
}

TEST(Pairing, ComparesTheOutermostOperator) {
  Pair pair;
  pair.copy.stack = pair.builder.stack({pair.builder.op("_local_scalar_dense"), pair.item, pair.line[0]});
  EXPECT_TRUE(pair.is_paired());
  Pair other;
  other.sync.stack = other.stack(other.builder.op("nonzero"), other.line);
  EXPECT_FALSE(other.is_paired());
}

TEST(Pairing, NeedsTheSameLine) {
  Pair pair;
  pair.sync.stack = pair.stack(pair.item, {pair.builder.python("main", "/home/user/train.py", 10)});
  EXPECT_FALSE(pair.is_paired());
}

TEST(Pairing, NeedsALineOnBothSides) {
  Pair pair;
  const auto nowhere = pair.stack(pair.item, {});
  const auto other = pair.stack(pair.item, {pair.builder.python("main", "/home/user/train.py", 10)});
  pair.builder.call({.start_ns = -90, .end_ns = -80, .stack = other});
  pair.builder.call({.kind = CallKind::kSynchronize, .start_ns = -70, .end_ns = -60, .stack = nowhere});
  pair.sync.stack = nowhere;
  EXPECT_FALSE(pair.is_paired());
}

TEST(Pairing, NeedsTheSameThread) {
  Pair pair;
  pair.sync.thread = kMainThread + 1;
  EXPECT_FALSE(pair.is_paired());
}

TEST(Pairing, NeedsAnOperator) {
  Pair pair;
  pair.copy.stack = pair.sync.stack = pair.builder.stack(pair.line);
  EXPECT_FALSE(pair.is_paired());
}

TEST(Pairing, NeedsToBeTheNextCall) {
  Pair pair;
  pair.builder.call({.kind = CallKind::kLaunch, .start_ns = 10, .end_ns = 11, .stack = pair.copy.stack});
  EXPECT_FALSE(pair.is_paired());
}

TEST(Pairing, PassesOverEventRecordsAndStreamWaits) {
  for (const CallKind kind : {CallKind::kEventRecord, CallKind::kStreamWait}) {
    Pair pair;
    pair.builder.call({.kind = kind, .start_ns = 10, .end_ns = 11});
    EXPECT_TRUE(pair.is_paired());
  }
}

TEST(Pairing, PassesOverCallsOfOtherThreads) {
  Pair pair;
  pair.builder.call({.kind = CallKind::kLaunch, .start_ns = 10, .end_ns = 11, .thread = kMainThread + 1});
  EXPECT_TRUE(pair.is_paired());
}

TEST(Pairing, DoesNotTakeASynchronisationInsideTheCopy) {
  Pair pair;
  pair.sync.start_ns = 5;
  EXPECT_FALSE(pair.is_paired());
}

TEST(Pairing, DoesNotTakeAnAllocation) {
  Pair pair;
  pair.sync.kind = CallKind::kHostAlloc;
  EXPECT_FALSE(pair.is_paired());
}

}  // namespace
}  // namespace turnpike::analyze
