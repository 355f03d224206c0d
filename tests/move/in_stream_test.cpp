// The ring of small downloads: which places they get, what waits for what, and when its memory goes.
#include "move/in_stream.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

using ::testing::IsEmpty;

constexpr std::size_t kCapacity = 4096;

class SmallDownloads : public ::testing::Test {
 protected:
  SmallDownloads()
      : simulation_(1, {.pace = simulated::Pace::kOnlyWhenAsked}),
        device_(std::move(*Device::open(simulation_.driver(), 0))) {
    simulation_.set_device(0);
    ring_ = std::make_unique<InStream>(*device_, kCapacity);
  }
  ~SmallDownloads() override {
    fetches_.clear();
    ring_.reset();
    device_.reset();
    simulation_.finish();
    EXPECT_THAT(simulation_.leaks(), IsEmpty());
    EXPECT_THAT(simulation_.violations_text(), IsEmpty());
  }

  using Fetch = InStream::Fetch;
  struct Host {
    std::vector<std::byte> bytes;
    bool has_arrived() const { return bytes.front() == std::byte{7} && bytes.back() == std::byte{7}; }
  };

  std::shared_ptr<Fetch> start(std::size_t size_bytes, CUstream_st* stream = nullptr,
                               std::shared_ptr<void> owner = nullptr) {
    hosts_.push_back(std::make_unique<Host>());
    hosts_.back()->bytes.resize(size_bytes);
    const DeviceAddress address = simulation_.device_memory(0, size_bytes);
    std::fill_n(simulation_.bytes(address), size_bytes, std::byte{7});
    const Piece piece{.host = hosts_.back()->bytes.data(), .device = address, .size_bytes = size_bytes};
    CUstream_st* const in = stream != nullptr ? stream : simulation_.make_stream(0);
    auto started = ring_->start(*device_, {&piece, 1}, in, std::move(owner), "");
    EXPECT_TRUE(started) << (started ? "" : started.error().message);
    fetches_.push_back(started ? *started : nullptr);
    return fetches_.back();
  }
  void bring(Fetch& fetch) {
    while (!ring_->is_done(fetch)) {
    }
  }

  simulated::Simulation simulation_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<InStream> ring_;
  std::vector<std::shared_ptr<Fetch>> fetches_;
  std::vector<std::unique_ptr<Host>> hosts_;
};

TEST_F(SmallDownloads, HavePlacesOneBehindTheOtherAndRound) {
  const auto first = start(1024);
  const auto second = start(1000);
  const auto third = start(2048);
  EXPECT_EQ(first->begin, 0U);
  EXPECT_EQ(first->end, 1024U);
  EXPECT_EQ(second->begin, 1024U);
  EXPECT_EQ(second->end, 2048U) << "whole cache lines";
  EXPECT_EQ(third->begin, 2048U);
  EXPECT_EQ(third->end, kCapacity) << "up to the last byte";
  bring(*first);
  bring(*second);
  const auto fourth = start(1024);
  const auto fifth = start(1024);
  EXPECT_EQ(fourth->begin, 0U);
  EXPECT_EQ(fifth->begin, 1024U) << "up to the oldest";
  EXPECT_FALSE(third->is_collected) << "there was room beside it";
  const auto sixth = start(64);  // there is no room, so it waits for the oldest
  EXPECT_TRUE(third->is_collected);
  EXPECT_EQ(sixth->begin, 2048U);
  EXPECT_FALSE(fourth->is_collected);
  for (const auto& fetch : {fourth, fifth, sixth}) EXPECT_TRUE(ring_->wait(*fetch));
  for (const auto& host : hosts_) EXPECT_TRUE(host->has_arrived());
}

TEST_F(SmallDownloads, BeginAtTheFrontWhereTheEndIsTooShort) {
  const auto first = start(1984);
  const auto second = start(1984);
  EXPECT_EQ(second->end, 3968U);
  bring(*first);
  const auto third = start(1984);
  EXPECT_EQ(third->begin, 0U) << "exactly what is free there";
  EXPECT_FALSE(second->is_collected);
  // The ring is full; only its last two cache lines are not.
  const auto fourth = start(128);
  EXPECT_TRUE(second->is_collected);
  EXPECT_EQ(fourth->begin, 1984U);
}

TEST_F(SmallDownloads, TakeNoMoreThanHalfOfTheRing) {
  EXPECT_NE(start(kCapacity / 2), nullptr);
  EXPECT_EQ(start(kCapacity / 2 + 1), nullptr);
  EXPECT_EQ(simulation_.calls("memcpy_dtoh_async"), 1U) << "nothing is issued";
}

TEST_F(SmallDownloads, PageLockTheRingOnceItIsNeededAndUntilItIsNot) {
  EXPECT_EQ(ring_->pinned_bytes(), 0U);
  EXPECT_EQ(ring_->release(), 0U);
  const auto first = start(64);
  EXPECT_EQ(ring_->pinned_bytes(), kCapacity);
  EXPECT_EQ(ring_->release(), 0U) << "it is in use";
  EXPECT_EQ(simulation_.pinned_bytes(), kCapacity);
  bring(*first);
  EXPECT_EQ(ring_->release(), kCapacity);
  EXPECT_EQ(ring_->pinned_bytes(), 0U);
  EXPECT_EQ(simulation_.pinned_bytes(), 0U);
  EXPECT_EQ(ring_->release(), 0U);
  EXPECT_EQ(start(64)->begin, 0U);
  EXPECT_EQ(ring_->pinned_bytes(), kCapacity);
}

TEST_F(SmallDownloads, AreWaitedForBeforeTheRingGetsAnotherSize) {
  const auto owner = std::make_shared<int>();
  start(64, nullptr, owner);
  start(64, nullptr, owner);
  ring_->configure(8192);
  EXPECT_TRUE(hosts_[0]->has_arrived() && hosts_[1]->has_arrived());
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(ring_->pinned_bytes(), 0U);
  EXPECT_EQ(simulation_.pinned_bytes(), 0U);
  EXPECT_NE(start(4096), nullptr);
  EXPECT_EQ(ring_->pinned_bytes(), 8192U);
}

TEST_F(SmallDownloads, AreWaitedForAtTheEnd) {
  const auto owner = std::make_shared<int>();
  start(64, nullptr, owner);
  start(64, nullptr, owner);
  ring_.reset();
  EXPECT_TRUE(hosts_[0]->has_arrived() && hosts_[1]->has_arrived());
  EXPECT_EQ(owner.use_count(), 1);
}

// Whoever looks lets the owners of all go that have been brought, with no lock held: an owner may ask for more.
TEST_F(SmallDownloads, LetTheirOwnersGoWhereTheyAreBrought) {
  const auto owner = std::make_shared<int>();
  const auto first = start(64, nullptr, owner);
  bring(*first);
  EXPECT_EQ(owner.use_count(), 1);
  const auto second = start(64, nullptr, owner);
  EXPECT_TRUE(ring_->wait(*second));
  EXPECT_EQ(owner.use_count(), 1);
  const auto third = start(64, nullptr, owner);
  EXPECT_EQ(owner.use_count(), 2);
  ring_->abandon(*third);
  EXPECT_EQ(owner.use_count(), 1);
  const auto fourth = start(64, nullptr, owner);
  simulation_.finish();
  ring_->collect();
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_TRUE(hosts_[0]->has_arrived() && hosts_[1]->has_arrived() && hosts_[3]->has_arrived());
  EXPECT_EQ(hosts_[2]->bytes.front(), std::byte{0}) << "nobody wanted these";
  EXPECT_TRUE(fourth->is_collected && third->is_collected);
}

// Of a device that failed, the bytes are whatever was in the ring.
TEST_F(SmallDownloads, ThatFailedAreNotBrought) {
  const auto first = start(64);
  simulation_.fail("event_query", 1, 719);
  EXPECT_TRUE(ring_->is_done(*first)) << "nothing will come any more";
  EXPECT_FALSE(ring_->wait(*first));
  EXPECT_FALSE(first->status);
  EXPECT_EQ(hosts_[0]->bytes.front(), std::byte{0});
}

TEST_F(SmallDownloads, ThatNoEventTellsOfLeaveNothingUnderWay) {
  for (const char* function : {"event_create", "event_record", "memcpy_dtoh_async"}) {
    std::vector<std::byte> bytes(64);
    const DeviceAddress address = simulation_.device_memory(0, 64);
    const Piece piece{.host = bytes.data(), .device = address, .size_bytes = 64};
    simulation_.fail(function, 1, 719);
    const auto started = ring_->start(*device_, {&piece, 1}, simulation_.make_stream(0), nullptr, "");
    ASSERT_FALSE(started) << function;
    simulation_.free_memory(address);  // the host has waited
    EXPECT_EQ(ring_->release(), kCapacity) << "no place is taken";
  }
}

}  // namespace
}  // namespace turnpike::move
