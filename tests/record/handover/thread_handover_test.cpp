// Rings of threads, buffers of CUPTI, and counters: what they hold at their limits.
#include "record/handover/thread_handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "record/collect/activity_pool.h"
#include "record/handover/loss_counters.h"
#include "record/handover/thread_buffer.h"

namespace turnpike::record {
namespace {

using testing::ElementsAre;
using trace::Loss;

std::uint64_t number_at(const std::byte* slot) {
  std::uint64_t number = 0;
  std::memcpy(&number, slot, sizeof number);
  return number;
}

TEST(ThreadBuffer, HoldsAsManyRecordsAsItHasSlots) {
  const auto buffer = std::make_unique<ThreadBuffer>();
  std::uint64_t next = 0;
  std::uint64_t expected = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 1; i <= ThreadBuffer::kSlots; ++i) {
      ASSERT_EQ(buffer->try_push(buffer->recording(), &next, sizeof next), ThreadBuffer::Pushed::kYes);
      ++next;
      ASSERT_EQ(buffer->has_become_half_full(), i == ThreadBuffer::kSlots / 2) << i;
    }
    EXPECT_EQ(buffer->try_push(buffer->recording(), &next, sizeof next), ThreadBuffer::Pushed::kIsFull);
    buffer->drain([&](const std::byte* slot) { ASSERT_EQ(number_at(slot), expected++); });
    EXPECT_EQ(expected, next);
    buffer->drain([](const std::byte*) { FAIL() << "it is empty"; });
    // From another place of the ring in the next round.
    ASSERT_EQ(buffer->try_push(buffer->recording(), &next, sizeof next), ThreadBuffer::Pushed::kYes);
    ++next;
    buffer->drain([&](const std::byte* slot) { ASSERT_EQ(number_at(slot), expected++); });
  }
}

TEST(ThreadBuffer, KeepsTheLastDownloadsInTheirOrder) {
  PendingDownloads pending;
  EXPECT_TRUE(pending.is_empty());
  for (std::uint32_t i = 1; i <= 18; ++i) pending.add({i, 2 * i, nullptr, 3 * i, 4 * i});
  std::vector<std::uint64_t> seen;
  EXPECT_TRUE(pending.drop_if([&](const PendingDownload& download) {
    seen.push_back(download.address);
    EXPECT_EQ(download.bytes, 2 * download.address);
    EXPECT_EQ(download.correlation, 3 * download.address);
    EXPECT_EQ(download.context, 4 * download.address);
    return download.address % 2 == 1;
  }));
  EXPECT_THAT(seen, ElementsAre(3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18));
  seen.clear();
  EXPECT_FALSE(pending.drop_if([&](const PendingDownload& download) {
    seen.push_back(download.address);
    return false;
  }));
  EXPECT_THAT(seen, ElementsAre(4, 6, 8, 10, 12, 14, 16, 18));
  EXPECT_FALSE(pending.is_empty());
  pending.clear();
  EXPECT_TRUE(pending.is_empty());
}

TEST(ThreadHandover, AnnouncesAThreadByItsName) {
  LossCounters losses;
  const auto handover = std::make_unique<ThreadHandover>(losses);
  std::uint32_t thread_id = 0;
  std::thread([&] {
    pthread_setname_np(pthread_self(), "fifteen letters");
    thread_id = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    ThreadBuffer* const buffer = handover->mine();
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(handover->mine(), buffer);
    EXPECT_EQ(buffer->thread, thread_id);
    trace::RecordHeader header{trace::RecordKind::kRange, 40};
    handover->push(*buffer, &header, sizeof header);
  }).join();
  std::vector<trace::RecordKind> kinds;
  handover->drain([&](const std::byte* slot) {
    ThreadName name;
    std::memcpy(&name, slot, sizeof name);
    kinds.push_back(name.header.kind);
    if (name.header.kind != kThreadNameKind) return;
    EXPECT_EQ(name.header.bytes, sizeof name);
    EXPECT_EQ(name.thread, thread_id);
    EXPECT_STREQ(name.text, "fifteen letters");
    EXPECT_NE(name.handle, 0u);
  });
  EXPECT_THAT(kinds, ElementsAre(kThreadNameKind, trace::RecordKind::kRange));
  EXPECT_EQ(losses.total(), 0u);
  // Its ring is free now, and the next thread takes it.
  std::vector<ThreadBuffer*> rings;
  for (int i = 0; i < 2; ++i) {
    std::thread([&] { rings.push_back(handover->mine()); }).join();
    handover->drain([](const std::byte*) {});
  }
  EXPECT_EQ(rings[0], rings[1]);
}

TEST(ThreadHandover, GivesEachRingToOneThreadAtATime) {
  LossCounters losses;
  const auto handover = std::make_unique<ThreadHandover>(losses);
  std::atomic<bool> is_over{false};
  std::thread collector([&] {
    while (!is_over) handover->drain([](const std::byte*) {});
  });
  std::mutex mutex;
  std::set<ThreadBuffer*> held;
  std::atomic<int> shared{0};
  const auto make_threads = [&] {
    for (int i = 0; i < 500; ++i) {
      std::thread([&] {
        ThreadBuffer* const ring = handover->mine();
        std::unique_lock lock(mutex);
        shared += !held.insert(ring).second;
        lock.unlock();
        std::this_thread::yield();
        lock.lock();
        held.erase(ring);
      }).join();
    }
  };
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) makers.emplace_back(make_threads);
  for (std::thread& maker : makers) maker.join();
  is_over = true;
  collector.join();
  EXPECT_EQ(shared, 0);
  EXPECT_EQ(losses.total(), 0u);
}

TEST(ThreadHandover, CountsARecordThatFindsNoRoom) {
  LossCounters losses;
  const auto handover = std::make_unique<ThreadHandover>(losses);
  std::thread([&] {
    ThreadBuffer* const buffer = handover->mine();
    const std::uint64_t record = 7;
    while (buffer->try_push(buffer->recording(), &record, sizeof record) == ThreadBuffer::Pushed::kYes) {
    }
    EXPECT_FALSE(handover->wait(0));
    // It waits once for a disk that hangs, not at each call.
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) handover->push(*buffer, &record, sizeof record);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  }).join();
  EXPECT_EQ(losses.get(static_cast<std::size_t>(Loss::kCallBuffersFull)), 100u);
  EXPECT_EQ(losses.total(), 100u);
  EXPECT_TRUE(handover->wait(0)) << "the collector was woken";
  EXPECT_FALSE(handover->wait(0)) << "once";
  std::size_t count = 0;
  handover->drain([&](const std::byte*) { ++count; });
  EXPECT_EQ(count, ThreadBuffer::kSlots);
}

TEST(ThreadHandover, WakesTheCollectorWhenARingIsHalfFull) {
  LossCounters losses;
  const auto handover = std::make_unique<ThreadHandover>(losses);
  std::thread([&] {
    ThreadBuffer* const buffer = handover->mine();  // its name is the first record
    const std::uint64_t record = 7;
    for (std::uint32_t i = 2; i < ThreadBuffer::kSlots / 2; ++i) handover->push(*buffer, &record, sizeof record);
    EXPECT_FALSE(handover->wait(0));
    handover->push(*buffer, &record, sizeof record);
    EXPECT_TRUE(handover->wait(0));
    handover->push(*buffer, &record, sizeof record);
    EXPECT_FALSE(handover->wait(0));
  }).join();
}

TEST(LossCounters, KeepEachLossForItself) {
  LossCounters losses;
  losses.add(Loss::kCuptiDropped);
  losses.add(Loss::kCuptiDropped, 4);
  losses.set(Loss::kStacksFull, 7);
  losses.set(Loss::kStacksFull, 6);
  EXPECT_EQ(losses.get(static_cast<std::size_t>(Loss::kCuptiDropped)), 5u);
  EXPECT_EQ(losses.get(static_cast<std::size_t>(Loss::kStacksFull)), 6u);
  EXPECT_EQ(losses.get(0), 0u);
  EXPECT_EQ(losses.total(), 11u);
  losses.reset();
  EXPECT_EQ(losses.total(), 0u);
}

TEST(ActivityPool, TellsWhetherWhatCuptiHoldsHasChanged) {
  const auto pool = std::make_unique<ActivityPool>();
  ASSERT_TRUE(pool->prepare());
  std::vector<std::uint64_t> digests{pool->digest_of_held()};
  const auto look = [&] {
    digests.push_back(pool->digest_of_held());
    EXPECT_EQ(pool->digest_of_held(), digests.back());
    return *(digests.end() - 2) != digests.back();
  };
  std::size_t size_bytes = 0;
  std::uint8_t* const buffer = pool->request(&size_bytes);
  EXPECT_TRUE(look()) << "held";
  EXPECT_FALSE(look());
  buffer[size_bytes - 1] = 1;
  EXPECT_TRUE(look()) << "written to";
  EXPECT_TRUE(pool->complete(buffer, 8));
  EXPECT_TRUE(look()) << "given back";
  buffer[0] = 1;
  EXPECT_FALSE(look()) << "nobody's any more";
  std::uint8_t* const other = pool->request(&size_bytes);
  pool->recycle({other, 0});
  EXPECT_FALSE(look());
}

TEST(ActivityPool, GivesEveryBufferOnceAndThenOverflow) {
  const auto pool = std::make_unique<ActivityPool>();
  ASSERT_TRUE(pool->prepare());
  ASSERT_TRUE(pool->prepare()) << "a second time changes nothing";
  EXPECT_FALSE(pool->is_pressed());
  std::vector<std::uint8_t*> buffers;
  for (std::size_t i = 0; i < kActivityBufferCount; ++i) {
    EXPECT_FALSE(pool->is_exhausted());
    EXPECT_EQ(pool->is_pressed(), i > kActivityBufferCount / 2) << i;
    std::size_t size_bytes = 0;
    buffers.push_back(pool->request(&size_bytes));
    EXPECT_EQ(size_bytes, kActivityBufferBytes);
    EXPECT_FALSE(pool->is_overflow(buffers.back()));
    EXPECT_FALSE(pool->is_overflow(buffers.back() + kActivityBufferBytes - 1));
    EXPECT_EQ(buffers.back(), buffers.front() + i * kActivityBufferBytes) << "in the order of memory";
  }
  EXPECT_TRUE(pool->is_exhausted());
  EXPECT_TRUE(pool->is_overflow(buffers.front() - 1));
  EXPECT_TRUE(pool->is_overflow(buffers.back() + kActivityBufferBytes));
  std::size_t size_bytes = 0;
  std::uint8_t* const overflow = pool->request(&size_bytes);
  ASSERT_NE(overflow, nullptr);
  EXPECT_EQ(size_bytes, 65'536u);
  EXPECT_TRUE(pool->is_overflow(overflow));
  EXPECT_TRUE(pool->complete(overflow, 3));
  EXPECT_TRUE(pool->complete(buffers[5], 100));
  std::vector<ActivityPool::Filled> filled;
  pool->take_filled(filled);
  ASSERT_EQ(filled.size(), 2u);
  EXPECT_EQ(filled[0].data, overflow);
  EXPECT_EQ(filled[0].valid_bytes, 3u);
  EXPECT_EQ(filled[1].data, buffers[5]);
  EXPECT_EQ(filled[1].valid_bytes, 100u);
  // What was read is given out again, zeroed as far as it was used.
  std::memset(buffers[5], 0xAB, 101);
  pool->recycle(filled[0]);
  EXPECT_TRUE(pool->is_exhausted());
  pool->recycle(filled[1]);
  EXPECT_FALSE(pool->is_exhausted());
  EXPECT_EQ(pool->request(&size_bytes), buffers[5]);
  EXPECT_EQ(size_bytes, kActivityBufferBytes);
  EXPECT_EQ(std::count(buffers[5], buffers[5] + 100, 0), 100);
  EXPECT_EQ(buffers[5][100], 0xAB);
  pool->take_filled(filled);
  EXPECT_TRUE(filled.empty());
}

TEST(ActivityPool, KeepsRoomForItsOwnBuffers) {
  const auto pool = std::make_unique<ActivityPool>();
  ASSERT_TRUE(pool->prepare());
  std::uint8_t outside[1];
  for (std::size_t i = 0; i < kActivityBufferCount; ++i) ASSERT_TRUE(pool->complete(outside, i)) << i;
  EXPECT_FALSE(pool->complete(outside, 1));
  std::size_t size_bytes = 0;
  std::uint8_t* const own = pool->request(&size_bytes);
  EXPECT_TRUE(pool->complete(own, 1));
  EXPECT_FALSE(pool->complete(outside, 1));
}

TEST(ActivityPool, WaitsOnceForAllUntilABufferIsFreed) {
  const auto pool = std::make_unique<ActivityPool>();
  ASSERT_TRUE(pool->prepare());
  std::size_t size_bytes = 0;
  std::vector<std::uint8_t*> taken;
  while (taken.size() < kActivityBufferCount) taken.push_back(pool->request(&size_bytes));
  const auto request_ns = [&] {
    const std::int64_t before_ns = monotonic_ns();
    ActivityPool::discard(pool->request(&size_bytes));
    return monotonic_ns() - before_ns;
  };
  EXPECT_GE(request_ns(), 200'000'000);
  EXPECT_LT(std::min({request_ns(), request_ns(), request_ns()}), 150'000'000) << "that would help nobody again";
  std::uint8_t* const overflow = pool->request(&size_bytes);
  EXPECT_EQ(std::count(overflow, overflow + size_bytes, 0), static_cast<std::ptrdiff_t>(size_bytes));
  pool->recycle({overflow, size_bytes});
  pool->recycle({taken[5], 0});
  EXPECT_EQ(pool->request(&size_bytes), taken[5]);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool->recycle({taken[6], 0});
  });
  EXPECT_EQ(pool->request(&size_bytes), taken[6]) << "since one was freed it is worth to wait";
  later.join();
}

}  // namespace
}  // namespace turnpike::record
