// How the page-locked slots are shared out: how many there are, who gets them, and when they come free.
#include "move/ring.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kSlotBytes = 8192;
constexpr cuda::DriverCode kOutOfMemory = 2;
constexpr cuda::DriverCode kCaptureIsUnderWay = 900;  // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED

// A device of the simulation, two streams, and what was taken.
class RingOfSlots : public ::testing::Test {
 protected:
  RingOfSlots()
      : simulation_(1, {.pace = simulated::Pace::kOnlyWhenAsked}),
        device_(std::move(*Device::open(simulation_.driver(), 0))),
        first_{device_.get(), simulation_.make_stream(0)},
        second_{device_.get(), simulation_.make_stream(0)} {}
  ~RingOfSlots() override {
    device_.reset();
    EXPECT_THAT(simulation_.leaks(), IsEmpty());
    EXPECT_THAT(simulation_.violations_text(), IsEmpty());
  }

  // How many slots this taker gets until there is none for it.
  std::size_t take_all(Ring& ring, const Taker& taker) {
    std::size_t taken = 0;
    for (Slot* slot = ring.take(taker); slot != nullptr; slot = ring.take(taker)) slots_.push_back(slot), ++taken;
    return taken;
  }
  void drop_all(Ring& ring) {
    for (Slot* slot : slots_) ring.give_back(slot, nullptr);
    slots_.clear();
  }
  static Taker ahead(Taker taker) {
    taker.is_ahead = true;
    return taker;
  }
  std::shared_ptr<Mark> mark(const Taker& taker) {
    const InContext in_context(*device_);
    return *Mark::after(*device_, const_cast<CUstream_st*>(taker.stream));
  }

  simulated::Simulation simulation_;
  std::unique_ptr<Device> device_;
  Taker first_;
  Taker second_;
  std::vector<Slot*> slots_;
};

TEST_F(RingOfSlots, AStreamGetsItsShareAndOthersGetWhatIsKept) {
  struct Case {
    std::size_t capacity, usual, first, second;
  };
  // Of less than two nothing is kept for others; else one, and of eight and more two.
  for (const Case& one : {Case{1, 1, 1, 0}, Case{2, 2, 1, 1}, Case{4, 4, 3, 1}, Case{7, 7, 6, 1}, Case{8, 8, 6, 1},
                          Case{12, 12, 10, 1}, Case{16, 8, 8, 6}, Case{16, 16, 14, 1}, Case{40, 40, 38, 1}}) {
    SCOPED_TRACE(std::to_string(one.capacity) + " slots, usually " + std::to_string(one.usual));
    Ring ring(*device_, kSlotBytes, one.capacity, one.usual);
    EXPECT_EQ(take_all(ring, first_), one.first);
    EXPECT_EQ(take_all(ring, second_), one.second);
    EXPECT_EQ(ring.taken(), one.first + one.second);
    EXPECT_EQ(ring.pinned_bytes(), (one.first + one.second) * kSlotBytes);
    EXPECT_EQ(simulation_.pinned_bytes(), ring.pinned_bytes());
    drop_all(ring);
    EXPECT_EQ(ring.taken(), 0U);
  }
}

TEST_F(RingOfSlots, TransfersThatNobodyWaitsForLeaveAQuarterAndTheShareDoesNotBindThem) {
  struct Case {
    std::size_t capacity, ahead;
  };
  for (const Case& one : {Case{1, 1}, Case{2, 1}, Case{3, 2}, Case{4, 3}, Case{8, 6}, Case{9, 7}, Case{16, 12}}) {
    SCOPED_TRACE(std::to_string(one.capacity) + " slots");
    Ring ring(*device_, kSlotBytes, one.capacity, 1);
    EXPECT_EQ(take_all(ring, ahead(first_)), one.ahead);
    EXPECT_EQ(take_all(ring, ahead(second_)), 0U);
    drop_all(ring);
    EXPECT_EQ(take_all(ring, ahead(second_)), one.ahead);
    drop_all(ring);
  }
}

TEST_F(RingOfSlots, WhatIsFreeAgainIsTakenFirst) {
  Ring ring(*device_, kSlotBytes, 4, 4);
  Slot* one = ring.take(first_);
  Slot* other = ring.take(first_);
  ring.give_back(one, nullptr);
  ring.give_back(other, nullptr);
  EXPECT_TRUE(ring.has_free());
  EXPECT_EQ(ring.take(second_), other);
  EXPECT_EQ(ring.take(second_), one);
  EXPECT_FALSE(ring.has_free());
  EXPECT_EQ(ring.pinned_bytes(), 2 * kSlotBytes);
  EXPECT_EQ(one->size_bytes, kSlotBytes);
  EXPECT_TRUE(one->taker.is_same_stream(second_));
  ring.give_back(one, nullptr);
  EXPECT_EQ(one->taker.device, nullptr);
  ring.give_back(other, nullptr);
}

TEST_F(RingOfSlots, SlotsAreMadeBeforehandUpToTheUsual) {
  Ring ring(*device_, kSlotBytes, 8, 3);
  ring.prepare(2);
  EXPECT_EQ(ring.pinned_bytes(), 2 * kSlotBytes);
  ring.prepare(1);
  EXPECT_EQ(ring.pinned_bytes(), 2 * kSlotBytes);
  ring.prepare(100);
  EXPECT_EQ(ring.pinned_bytes(), 3 * kSlotBytes);
  EXPECT_EQ(ring.slot_bytes(), kSlotBytes);
  EXPECT_EQ(ring.taken(), 0U);
}

TEST_F(RingOfSlots, ASlotComesFreeWhenItsCopyIsDone) {
  Ring ring(*device_, kSlotBytes, 4, 4);
  const auto held = simulation_.hold(0, const_cast<CUstream_st*>(first_.stream));
  Slot* one = ring.take(first_);
  Slot* other = ring.take(second_);
  ring.give_back(one, mark(first_));
  ring.give_back(other, mark(second_));
  EXPECT_EQ(ring.taken(), 0U);
  EXPECT_FALSE(ring.has_free());
  while (!ring.has_free()) ring.collect();  // the second stream's, and not the first's
  EXPECT_EQ(ring.take(second_), other);
  ring.collect();
  EXPECT_FALSE(ring.has_free());
  simulation_.let_go(held);
  while (!ring.has_free()) ring.collect();
  EXPECT_EQ(ring.take(second_), one);
  ring.give_back(one, nullptr);
  ring.give_back(other, nullptr);
}

TEST_F(RingOfSlots, BehindACopyThatIsNotDoneItsStreamIsNotAsked) {
  Ring ring(*device_, kSlotBytes, 8, 8);
  const auto held = simulation_.hold(0, const_cast<CUstream_st*>(first_.stream));
  std::vector<Slot*> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(ring.take(first_));
  for (Slot* slot : taken) ring.give_back(slot, mark(first_));
  const std::size_t before = simulation_.calls("event_query");
  ring.collect();
  EXPECT_EQ(simulation_.calls("event_query"), before + 1);
  simulation_.let_go(held);
  simulation_.finish();
  ring.collect();
  EXPECT_EQ(simulation_.calls("event_query"), before + 5);
  EXPECT_EQ(take_all(ring, first_), 6U);
  drop_all(ring);
}

TEST_F(RingOfSlots, AStreamThatStandsStillGetsMore) {
  struct Case {
    std::size_t capacity, usual, more;
  };
  for (const Case& one : {Case{16, 4, 12}, Case{4, 2, 3}, Case{16, 14, 14}}) {
    Ring ring(*device_, kSlotBytes, one.capacity, one.usual);
    const auto held = simulation_.hold(0, const_cast<CUstream_st*>(first_.stream));
    const auto quick = std::chrono::steady_clock::now();
    EXPECT_EQ(take_all(ring, first_), one.usual);
    ring.give_back(slots_.front(), mark(first_));
    slots_.erase(slots_.begin());
    Slot* at_once = ring.take(first_);
    if (std::chrono::steady_clock::now() - quick < std::chrono::milliseconds(2)) {
      EXPECT_EQ(at_once, nullptr);
    }
    if (at_once != nullptr) slots_.push_back(at_once);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    take_all(ring, first_);
    EXPECT_EQ(slots_.size() + 1, one.more);
    drop_all(ring);
    simulation_.let_go(held);
  }
}

TEST_F(RingOfSlots, WithoutASingleSlotItSaysWhy) {
  Ring ring(*device_, kSlotBytes, 4, 4);
  simulation_.fail("mem_host_alloc", 1, kOutOfMemory);
  EXPECT_EQ(ring.take(first_), nullptr);
  ASSERT_TRUE(ring.failure());
  EXPECT_THAT(ring.failure()->message, HasSubstr("page-locking host memory for staging on device 0 failed"));
  ring.forget_failure();
  EXPECT_FALSE(ring.failure());
  simulation_.fail("mem_host_alloc", 1, kOutOfMemory);
  EXPECT_EQ(ring.take(first_), nullptr);
  EXPECT_EQ(take_all(ring, first_), 3U);  // it has not given up
  EXPECT_FALSE(ring.failure());
  drop_all(ring);
}

TEST_F(RingOfSlots, WithSomeSlotsItGoesOnWithThose) {
  Ring ring(*device_, kSlotBytes, 8, 8);
  ring.prepare(3);
  Slot* slots[] = {ring.take(first_), ring.take(first_), ring.take(second_)};
  simulation_.fail("mem_host_alloc", 1, kOutOfMemory);
  EXPECT_EQ(ring.take(first_), nullptr);
  EXPECT_FALSE(ring.failure());
  EXPECT_EQ(ring.take(first_), nullptr);  // three are what there is from now on
  EXPECT_EQ(ring.pinned_bytes(), 3 * kSlotBytes);
  for (Slot* slot : slots) ring.give_back(slot, nullptr);
}

TEST_F(RingOfSlots, ARefusalForTheSakeOfACapturePasses) {
  Ring ring(*device_, kSlotBytes, 4, 4);
  Slot* one = ring.take(first_);
  simulation_.fail("mem_host_alloc", 1, kCaptureIsUnderWay);
  EXPECT_EQ(ring.take(first_), nullptr);
  Slot* other = ring.take(first_);
  EXPECT_NE(other, nullptr);
  ring.give_back(one, nullptr);
  ring.give_back(other, nullptr);
}

TEST_F(RingOfSlots, WhatIsNotInUseIsGivenBack) {
  Ring ring(*device_, kSlotBytes, 8, 8);
  ring.prepare(4);
  Slot* taken = ring.take(first_);
  const auto held = simulation_.hold(0, const_cast<CUstream_st*>(first_.stream));
  ring.give_back(ring.take(first_), mark(first_));
  EXPECT_EQ(ring.release(), 2 * kSlotBytes);
  EXPECT_EQ(ring.pinned_bytes(), 2 * kSlotBytes);
  EXPECT_EQ(simulation_.pinned_bytes(), 2 * kSlotBytes);
  EXPECT_EQ(ring.release(), 0U);
  simulation_.let_go(held);
  simulation_.finish();
  EXPECT_EQ(ring.release(), kSlotBytes);  // it asks whether copies are done
  ring.give_back(taken, nullptr);
  EXPECT_EQ(ring.release(), kSlotBytes);
  EXPECT_EQ(simulation_.pinned_bytes(), 0U);
}

TEST_F(RingOfSlots, ItsEndWaitsForItsCopies) {
  const auto held = simulation_.hold(0, const_cast<CUstream_st*>(first_.stream));
  std::thread later;
  {
    Ring ring(*device_, kSlotBytes, 4, 4);
    ring.give_back(ring.take(first_), mark(first_));
    later = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(simulation_.pinned_bytes(), kSlotBytes);
      simulation_.let_go(held);
    });
  }
  later.join();
  EXPECT_EQ(simulation_.pinned_bytes(), 0U);
}

}  // namespace
}  // namespace turnpike::move
