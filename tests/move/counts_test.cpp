// How many copies a transfer takes, of how many bytes, and what the engine says of them: in exact numbers.
#include <gmock/gmock.h>

#include <string>
#include <tuple>
#include <utility>

#include "engine_run.h"
#include "move/cores.h"
#include "move/device.h"
#include "move/tally.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kChunk = 4096;
constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Expected {
  std::uint64_t transfers = 0, bytes = 0, staged = 0, packed = 0;
};

void expect_traffic(const Traffic& traffic, const Expected& expected) {
  EXPECT_EQ(traffic.transfers, expected.transfers);
  EXPECT_EQ(traffic.bytes, expected.bytes);
  EXPECT_EQ(traffic.staged_bytes, expected.staged);
  EXPECT_EQ(traffic.packed_pieces, expected.packed);
}

// An engine whose driver does everything at once, with 16 slots of a page.
class Counts : public ::testing::Test {
 protected:
  explicit Counts(const simulated::Options& options = {.pace = simulated::Pace::kAtOnce})
      : run_(1, options, {.threads = 2, .chunk_bytes = kChunk, .pinned_bytes = 18 * kChunk}) {}
  ~Counts() override { run_.end(); }

  Piece piece(std::size_t size_bytes, bool is_pinned = false) {
    blocks_.push_back(std::make_unique<HostBlock>(run_.simulation, size_bytes, is_pinned));
    return {.host = blocks_.back()->data(),
            .device = run_.simulation.device_memory(0, size_bytes),
            .size_bytes = size_bytes,
            .is_pinned = is_pinned};
  }
  std::size_t calls(const char* function) const { return run_.simulation.calls(function); }

  EngineRun run_;
  Engine& engine_ = *run_.engine;
  Stream stream_ = run_.simulation.make_stream(0);
  std::vector<std::unique_ptr<HostBlock>> blocks_;
};

TEST_F(Counts, AnUploadIsACopyForEachChunkAndEachPageLockedPiece) {
  const std::vector<Piece> pieces{piece(3 * kChunk), piece(5000, true), piece(0), piece(kChunk + 1), piece(10, true)};
  ASSERT_TRUE(engine_.upload(0, pieces, stream_));
  EXPECT_EQ(calls("memcpy_htod_async"), 3U + 1 + 2 + 1);
  expect_traffic(engine_.stats().h2d, {1, 3 * kChunk + 5000 + kChunk + 1 + 10, 4 * kChunk + 1, 0});
  expect_traffic(engine_.stats().d2h, {});
  expect_traffic(engine_.stats().p2p, {});
}

TEST_F(Counts, ADownloadIsACopyForEachChunkAndEachPageLockedPiece) {
  const std::vector<Piece> pieces{piece(2 * kChunk), piece(5000, true), piece(kChunk - 1)};
  for (const Piece& one : pieces) std::fill_n(run_.simulation.bytes(one.device), one.size_bytes, std::byte{7});
  ASSERT_TRUE(engine_.download(0, pieces, stream_));
  EXPECT_EQ(calls("memcpy_dtoh_async"), 2U + 1 + 1);
  expect_traffic(engine_.stats().d2h, {1, 3 * kChunk + 5000 - 1, 3 * kChunk - 1, 0});
  expect_traffic(engine_.stats().h2d, {});
}

TEST_F(Counts, PiecesThatFollowEachOtherShareACopy) {
  const Piece whole = piece(3000);
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < 3; ++i) {
    pieces.push_back(whole);
    pieces.back().host = static_cast<std::byte*>(whole.host) + i * 1000;
    pieces.back().device += i * 1000;
    pieces.back().size_bytes = 1000;
    pieces.back().joins_previous = i > 0;
  }
  ASSERT_TRUE(engine_.upload(0, pieces, stream_));
  EXPECT_EQ(calls("memcpy_htod_async"), 1U);
  expect_traffic(engine_.stats().h2d, {1, 3000, 3000, 3});
}

TEST_F(Counts, OnlyLargeTransfersAreTimed) {
  const Piece large = piece(16 * kMiB);
  Piece small = large;
  small.size_bytes -= 1;
  ASSERT_TRUE(engine_.upload(0, {&small, 1}, stream_));
  ASSERT_TRUE(engine_.download(0, {&small, 1}, stream_));
  EXPECT_EQ(engine_.stats().h2d.timed_bytes + engine_.stats().h2d.timed_ns, 0U);
  EXPECT_EQ(engine_.stats().d2h.timed_bytes + engine_.stats().d2h.timed_ns, 0U);
  ASSERT_TRUE(engine_.upload(0, {&large, 1}, stream_));
  EXPECT_EQ(engine_.stats().h2d.timed_bytes, 16 * kMiB);
  EXPECT_GT(engine_.stats().h2d.timed_ns, 0U);
  EXPECT_EQ(engine_.stats().d2h.timed_bytes, 0U);
  ASSERT_TRUE(engine_.download(0, {&large, 1}, stream_));
  EXPECT_EQ(engine_.stats().d2h.timed_bytes, 16 * kMiB);
  EXPECT_GT(engine_.stats().d2h.timed_ns, 0U);
  EXPECT_LT(engine_.stats().d2h.timed_ns, std::uint64_t{600} * 1'000'000'000);
  EXPECT_EQ(engine_.stats().h2d.transfers, 2U);
}

TEST_F(Counts, SmallDownloadsRunInTheStreamUpToSixtyFourKibibytes) {
  run_.settings.pinned_bytes = 8 * kMiB;
  ASSERT_TRUE(engine_.configure({.threads = 2, .chunk_bytes = kChunk, .pinned_bytes = 8 * kMiB}));
  // In the stream all is staged; beside it page-locked memory is not, and the copy waits for the stream.
  const Piece small = piece(64 * kKiB, true);
  auto transfer = engine_.download_behind(0, {&small, 1}, stream_, nullptr);
  ASSERT_TRUE(transfer);
  EXPECT_TRUE((*transfer)->is_staged());
  expect_traffic(engine_.stats().d2h, {1, 64 * kKiB, 64 * kKiB, 0});
  EXPECT_EQ(calls("stream_wait_event"), 0U);
  EXPECT_EQ(calls("memcpy_dtoh_async"), 1U);
  const Piece large = piece(64 * kKiB + 1, true);
  auto other = engine_.download_behind(0, {&large, 1}, stream_, nullptr);
  ASSERT_TRUE(other);
  expect_traffic(engine_.stats().d2h, {2, 128 * kKiB + 1, 64 * kKiB, 0});
  EXPECT_EQ(calls("stream_wait_event"), 1U);
  EXPECT_EQ(calls("memcpy_dtoh_async"), 2U);
  EXPECT_EQ(engine_.stats().pending, 2U);
  ASSERT_TRUE((*transfer)->wait());
  ASSERT_TRUE((*other)->wait());
  transfer->reset();
  EXPECT_EQ(engine_.stats().pending, 1U);
  other->reset();
  EXPECT_EQ(engine_.stats().pending, 0U);
}

TEST_F(Counts, SmallDownloadsThatAreTooManyForTheirRingGoThroughTheOther) {
  // 18 pages are page-locked at most: two are the ring of small downloads, of which one takes no more than a half.
  std::vector<Piece> pieces;
  for (int i = 0; i < 64; ++i) pieces.push_back(piece(64));
  auto transfer = engine_.download_behind(0, pieces, stream_, nullptr);
  ASSERT_TRUE(transfer && (*transfer)->wait());
  EXPECT_EQ(engine_.stats().pinned_bytes, 2 * kChunk);
  EXPECT_EQ(calls("memcpy_dtoh_async"), 64U);
  pieces.push_back(piece(1));
  auto other = engine_.download_behind(0, pieces, stream_, nullptr);
  ASSERT_TRUE(other && (*other)->wait());
  EXPECT_GT(engine_.stats().pinned_bytes, 2 * kChunk);
  EXPECT_EQ(calls("memcpy_dtoh_async"), 64U + 65);
  expect_traffic(engine_.stats().d2h, {2, 2 * 64 * 64 + 1, 2 * 64 * 64 + 1, 0});
}

TEST_F(Counts, PlacesOfSmallDownloadsAreMultiplesOfACacheLine) {
  // 64 downloads of a byte fill a page: the ring has room for 128, and waits for none of them.
  std::vector<std::unique_ptr<Transfer>> transfers;
  const auto held = run_.simulation.hold(0, stream_);
  const Piece one = piece(1);
  for (int i = 0; i < 128; ++i) {
    auto transfer = engine_.download_behind(0, {&one, 1}, stream_, nullptr);
    ASSERT_TRUE(transfer);
    transfers.push_back(std::move(*transfer));
  }
  EXPECT_EQ(calls("event_synchronize"), 0U);
  run_.simulation.let_go(held);
  auto next = engine_.download_behind(0, {&one, 1}, stream_, nullptr);
  ASSERT_TRUE(next);
  for (const auto& transfer : transfers) EXPECT_TRUE(transfer->wait());
  EXPECT_TRUE((*next)->wait());
}

TEST_F(Counts, ACopyBetweenDevicesIsTriedThreeTimesOnce) {
  run_.more_pinned_bytes = kMiB + 4093;  // what a pair is tried with
  const DeviceAddress from = run_.simulation.device_memory(0, 10000);
  const DeviceAddress to = run_.simulation.device_memory(1, 10000);
  std::fill_n(run_.simulation.bytes(from), 10000, std::byte{7});
  const Stream there = run_.simulation.make_stream(1);
  for (std::size_t i = 1; i <= 2; ++i) {
    auto transfer = engine_.copy_peer(1, to, there, 0, from, stream_, 10000, nullptr);
    ASSERT_TRUE(transfer && (*transfer)->wait());
    EXPECT_TRUE((*transfer)->is_staged());
    EXPECT_TRUE((*transfer)->is_done());
    EXPECT_EQ(calls("memcpy_peer_async"), 3 + i);
    expect_traffic(engine_.stats().p2p, {i, i * 10000, 0, 0});
  }
  EXPECT_EQ(*engine_.peer_route(0, 1), Engine::PeerRoute::kDirect);
  EXPECT_EQ(calls("memcpy_peer_async"), 5U);
  EXPECT_EQ(*engine_.peer_route(1, 0), Engine::PeerRoute::kDirect);  // the other way is another pair
  EXPECT_EQ(calls("memcpy_peer_async"), 8U);
  EXPECT_EQ(*engine_.peer_route(1, 1), Engine::PeerRoute::kDirect);
  EXPECT_EQ(calls("memcpy_peer_async"), 8U);
}

TEST_F(Counts, NothingBetweenDevicesIsNoCopy) {
  const DeviceAddress from = run_.simulation.device_memory(0, 1);
  auto transfer = engine_.copy_peer(0, from, stream_, 0, from, stream_, 0, nullptr);
  ASSERT_TRUE(transfer && (*transfer)->wait());
  EXPECT_EQ(calls("memcpy_peer_async"), 0U);
  expect_traffic(engine_.stats().p2p, {1, 0, 0, 0});
}

class CountsWithoutPeerAccess : public Counts {
 protected:
  CountsWithoutPeerAccess() : Counts({.pace = simulated::Pace::kAtOnce, .has_peer_access = false}) {}
};

TEST_F(CountsWithoutPeerAccess, EachChunkGoesDownAndUp) {
  const DeviceAddress from = run_.simulation.device_memory(0, 10000);
  const DeviceAddress to = run_.simulation.device_memory(1, 10000);
  std::fill_n(run_.simulation.bytes(from), 10000, std::byte{7});
  auto transfer = engine_.copy_peer(1, to, run_.simulation.make_stream(1), 0, from, stream_, 10000, nullptr);
  ASSERT_TRUE(transfer && (*transfer)->wait());
  EXPECT_EQ(calls("memcpy_peer_async"), 0U);
  EXPECT_EQ(calls("memcpy_dtoh_async"), 3U);
  EXPECT_EQ(calls("memcpy_htod_async"), 3U);
  EXPECT_EQ(run_.simulation.bytes(to)[9999], std::byte{7});
  expect_traffic(engine_.stats().p2p, {1, 10000, 10000, 0});
  EXPECT_EQ(*engine_.peer_route(0, 1), Engine::PeerRoute::kStaged);
  EXPECT_EQ(calls("ctx_enable_peer_access"), 0U) << "the driver has said that it is of no use";
}

TEST_F(Counts, APairOfWhichTheDriverTellsNothingIsStaged) {
  run_.simulation.fail("device_can_access_peer", 1, 1);
  EXPECT_EQ(*engine_.peer_route(0, 1), Engine::PeerRoute::kStaged);
  EXPECT_EQ(calls("ctx_enable_peer_access"), 0U);
  EXPECT_EQ(calls("memcpy_peer_async"), 0U);
}

TEST(Pairs, AreDirectOnlyIfBothReachTheOtherAndACopyArrives) {
  for (const std::size_t nth : {1, 2}) {
    EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, Settings{.threads = 1});
    run.simulation.fail("ctx_enable_peer_access", nth, 1);
    EXPECT_EQ(*run.engine->peer_route(0, 1), Engine::PeerRoute::kStaged);
    EXPECT_EQ(run.simulation.calls("memcpy_peer_async"), 0U);
    run.end();
  }
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, Settings{.threads = 1});
  run.more_pinned_bytes = 2 * kMiB;
  run.simulation.fail("ctx_enable_peer_access", 1, cuda::kPeerAccessAlreadyEnabled);
  run.simulation.fail("memcpy_peer_async", 1, 719);
  EXPECT_EQ(*run.engine->peer_route(0, 1), Engine::PeerRoute::kStaged) << "a copy that fails is no way";
  EXPECT_EQ(run.simulation.calls("memcpy_peer_async"), 1U);
  EXPECT_EQ(run.simulation.pinned_bytes(), 0U);
  run.end();
}

// The memory of both sides may go as soon as the call has failed.
TEST(CopyPeers, ThatFailLeaveNothingUnderWay) {
  for (const bool has_peer_access : {true, false}) {
    for (const char* function : {"event_record", "stream_wait_event", "memcpy_dtoh_async", "memcpy_htod_async",
                                 "memcpy_peer_async", "event_create", "mem_host_alloc"}) {
      for (std::size_t nth = 1; nth <= 12; ++nth) {
        SCOPED_TRACE(std::string(function) + " fails at call " + std::to_string(nth));
        EngineRun run(1, {.pace = simulated::Pace::kOnlyWhenAsked, .has_peer_access = has_peer_access},
                      {.threads = 1, .chunk_bytes = kChunk, .pinned_bytes = 8 * kChunk});
        const int target = has_peer_access ? 0 : 1;  // within a device it is direct, and nothing is tried before
        const DeviceAddress from = run.simulation.device_memory(0, 2 * kChunk);
        const DeviceAddress to = run.simulation.device_memory(target, 2 * kChunk);
        const Stream here = run.simulation.make_stream(0);
        const Stream there = run.simulation.make_stream(target);
        const std::size_t waits = run.simulation.calls("stream_synchronize");
        run.simulation.fail(function, nth, 719);
        auto transfer = run.engine->copy_peer(target, to, there, 0, from, here, 2 * kChunk, nullptr);
        if (transfer) {
          EXPECT_EQ(run.simulation.calls("stream_synchronize"), waits) << "the host waits for nothing";
          run.simulation.forget_failures();
          EXPECT_TRUE((*transfer)->wait());
          transfer->reset();
        } else {
          EXPECT_THAT(transfer.error().message, HasSubstr("failed"));
        }
        run.simulation.free_memory(from);
        run.simulation.free_memory(to);
        run.simulation.forget_failures();
        run.end();
      }
    }
  }
}

// What stands in the way of the trial passes; what was found out stays.
TEST(Pairs, AreTriedAgainWhereTheTrialCouldNotBeMade) {
  for (const char* function : {"mem_host_alloc", "mem_alloc", "memcpy_htod_async", "memcpy_dtoh_async"}) {
    for (const std::size_t nth : {1, 2}) {
      if (nth == 2 && std::string(function) == "mem_host_alloc") continue;  // there is only one
      SCOPED_TRACE(std::string(function) + " fails at call " + std::to_string(nth));
      EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, Settings{.threads = 1});
      run.more_pinned_bytes = 2 * kMiB;
      run.simulation.fail(function, nth, 719);
      EXPECT_FALSE(run.engine->peer_route(0, 1));
      EXPECT_EQ(run.simulation.pinned_bytes(), 0U);
      const auto route = run.engine->peer_route(0, 1);
      ASSERT_TRUE(route);
      EXPECT_EQ(*route, Engine::PeerRoute::kDirect);
      run.end();
    }
  }
}

TEST(Tallies, CountTheTimeOfLargeTransfersThatTookAny) {
  TrafficTally tally;
  tally.add_time(16 * kMiB, 0);
  tally.add_time(16 * kMiB, -1);
  tally.add_time(16 * kMiB - 1, 100);
  EXPECT_EQ(tally.read().timed_bytes, 0U);
  EXPECT_EQ(tally.read().timed_ns, 0U);
  tally.add_time(16 * kMiB, 1);
  tally.add_time(17 * kMiB, 1000);
  EXPECT_EQ(tally.read().timed_bytes, 33 * kMiB);
  EXPECT_EQ(tally.read().timed_ns, 1001U);
  EXPECT_EQ(tally.read().transfers, 0U);
  tally.add(10, 7, 3);
  tally.add(1, 1, 1);
  expect_traffic(tally.read(), {2, 11, 8, 4});
}

// A download of page-locked memory alone, whose end nothing tells: the host has waited for the stream.
TEST(Downloads, ThatNoEventTellsOfFailWithNothingUnderWay) {
  EngineRun run(1, {.pace = simulated::Pace::kOnlyWhenAsked}, Settings{.threads = 1});
  auto block = std::make_unique<HostBlock>(run.simulation, 5000, true);
  const Piece piece{
      .host = block->data(), .device = run.simulation.device_memory(0, 5000), .size_bytes = 5000, .is_pinned = true};
  const Stream stream = run.simulation.make_stream(0);
  run.simulation.launch(0, stream, {.writes = {simulated::range_of(piece.device, 5000)}});
  run.simulation.fail("event_record", 1, 719);
  const Status status = run.engine->download(0, {&piece, 1}, stream);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("recording an event"));
  block.reset();
  run.end();
}

TEST_F(Counts, AddressesAreThoseOfTheirAllocation) {
  const DeviceAddress device = run_.simulation.device_memory(0, 5000);
  for (const std::size_t at : {0, 1, 4999}) {
    const auto range = engine_.allocation_at(0, device + at);
    ASSERT_TRUE(range);
    EXPECT_EQ(range->begin, device);
    EXPECT_EQ(range->end, device + 5000);
  }
  EXPECT_FALSE(engine_.allocation_at(0, 12));
  EXPECT_FALSE(engine_.allocation_at(7, device));
}

TEST_F(Counts, PageLockedMemoryIsFoundInDensePieces) {
  const Layout layout{.sizes = {10}, .strides_bytes = {2}, .item_bytes = 1};
  std::vector<Piece> pieces{piece(100), piece(100, true), piece(100, true), {}};
  pieces[0].is_pinned = true;
  pieces[1].is_pinned = false;
  pieces[2].is_pinned = false;
  pieces[2].layout = &layout;
  ASSERT_TRUE(engine_.find_pinned(0, pieces));
  EXPECT_FALSE(pieces[0].is_pinned);
  EXPECT_TRUE(pieces[1].is_pinned);
  EXPECT_FALSE(pieces[2].is_pinned);
  EXPECT_FALSE(pieces[3].is_pinned);
  EXPECT_FALSE(engine_.find_pinned(5, pieces));
}

TEST_F(Counts, AStreamIsIdleWhenNothingIsLeftInIt) {
  EXPECT_TRUE(*engine_.is_idle(0, stream_));
  const auto held = run_.simulation.hold(0, stream_);
  EXPECT_FALSE(*engine_.is_idle(0, stream_));
  run_.simulation.let_go(held);
  run_.simulation.finish();
  EXPECT_TRUE(*engine_.is_idle(0, stream_));
  EXPECT_FALSE(engine_.is_idle(9, stream_));
  run_.simulation.fail("stream_query", 1, 719);
  const auto idle = engine_.is_idle(0, stream_);
  ASSERT_FALSE(idle);
  EXPECT_THAT(idle.error().message, HasSubstr("looking at a stream on device 0 failed"));
}

TEST_F(Counts, AStreamIsBeingCapturedFromBeginToEnd) {
  const Stream other = run_.simulation.make_stream(0);
  EXPECT_FALSE(*engine_.is_capturing(0, stream_));
  run_.simulation.begin_capture(stream_);
  EXPECT_TRUE(*engine_.is_capturing(0, stream_));
  EXPECT_FALSE(*engine_.is_capturing(0, other));
  run_.simulation.end_capture();
  EXPECT_FALSE(*engine_.is_capturing(0, stream_));
  EXPECT_FALSE(engine_.is_capturing(9, stream_));
  run_.simulation.fail("stream_is_capturing", 1, 719);
  const auto answer = engine_.is_capturing(0, stream_);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("asking whether the stream is being captured on device 0 failed"));
}

TEST_F(Counts, EventsAreMadeOnceAndUsedAgain) {
  const Piece one = piece(10 * kChunk);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine_.download(0, {&one, 1}, stream_));
    engine_.reap();
  }
  const std::size_t made = calls("event_create");
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(engine_.download(0, {&one, 1}, stream_));
  EXPECT_LE(calls("event_create"), made + 12);  // a chunk each at most at a time, not one for each of a hundred copies
}

TEST(Devices, HaveFourStreamsForEachWayInTurn) {
  simulated::Simulation simulation(1, {.pace = simulated::Pace::kAtOnce});
  {
    const auto device = Device::open(simulation.driver(), 1);
    ASSERT_TRUE(device);
    EXPECT_EQ((*device)->ordinal(), 1);
    EXPECT_EQ(simulation.calls("stream_create"), 12U);
    std::vector<CUstream_st*> seen;
    for (const Device::Lane lane : {Device::Lane::kUp, Device::Lane::kDown, Device::Lane::kPeer}) {
      std::vector<CUstream_st*> own;
      for (int i = 0; i < 4; ++i) own.push_back((*device)->next_stream(lane));
      for (int i = 0; i < 8; ++i) EXPECT_EQ((*device)->next_stream(lane), own[static_cast<std::size_t>(i) % 4]);
      seen.insert(seen.end(), own.begin(), own.end());
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_NE(seen.front(), nullptr);
  }
  EXPECT_THAT(simulation.leaks(), ::testing::IsEmpty());
  EXPECT_FALSE(Device::open(simulation.driver(), 2));
}

// What was not changed is not put back.
TEST(Contexts, AreLeftAsTheyWereWhereTheDriverRefuses) {
  simulated::Simulation simulation(1, {.pace = simulated::Pace::kAtOnce});
  simulation.set_device(1);
  const auto device = Device::open(simulation.driver(), 0);
  ASSERT_TRUE(device);
  const auto inside = [&] {
    const InContext in_context(**device);
    return std::pair(simulation.current_device(), simulation.capture_mode());
  };
  EXPECT_EQ(inside(), std::pair(0, cuda::kCaptureModeRelaxed));
  for (const char* function : {"ctx_push_current", "thread_exchange_stream_capture_mode"}) {
    EXPECT_EQ(simulation.current_device(), 1);
    EXPECT_EQ(simulation.capture_mode(), cuda::kCaptureModeGlobal);
    simulation.fail(function, 1, 1);
    inside();
  }
  EXPECT_EQ(simulation.current_device(), 1);
  EXPECT_EQ(simulation.capture_mode(), cuda::kCaptureModeGlobal);
}

TEST(Devices, ThatCannotBeOpenedKeepNothing) {
  simulated::Simulation simulation(1, {.pace = simulated::Pace::kAtOnce});
  for (const auto& [function, nth, what] :
       {std::tuple{"device_get", 1, "finding the GPU on device 0 failed"},
        std::tuple{"device_primary_ctx_retain", 1, "opening the GPU on device 0 failed"},
        std::tuple{"stream_create", 1, "making a stream on device 0 failed"},
        std::tuple{"stream_create", 12, "making a stream on device 0 failed"}}) {
    simulation.fail(function, static_cast<std::size_t>(nth), 1);
    const auto device = Device::open(simulation.driver(), 0);
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr(what));
    EXPECT_THAT(simulation.leaks(), ::testing::IsEmpty());
  }
}

TEST(Devices, KeepTheEventsThatAreGivenBack) {
  simulated::Simulation simulation(1, {.pace = simulated::Pace::kAtOnce});
  {
    const auto device = Device::open(simulation.driver(), 0);
    ASSERT_TRUE(device);
    const InContext in_context(**device);
    const auto one = (*device)->take_event();
    const auto other = (*device)->take_event();
    ASSERT_TRUE(one && other);
    EXPECT_NE(*one, *other);
    (*device)->give_back(*one);
    (*device)->give_back(nullptr);
    EXPECT_EQ(*(*device)->take_event(), *one);
    EXPECT_EQ(simulation.calls("event_create"), 2U);
    (*device)->give_back(*one);
    (*device)->give_back(*other);
    simulation.fail("event_create", 1, 2);
    EXPECT_TRUE((*device)->take_event());  // there is one
  }
  simulation.forget_failures();
}

TEST(EngineSettings, ThreeQuartersOfTheCoresButTwoToTwelve) {
  const unsigned int cores = usable_cores();
  const unsigned int threads = default_settings().threads;
  EXPECT_GE(threads, 2U);
  EXPECT_LE(threads, 12U);
  if (cores >= 3 && cores <= 16) {
    EXPECT_EQ(threads, cores * 3 / 4);
  }
  EXPECT_EQ(default_settings().chunk_bytes, Settings{}.chunk_bytes);
  EXPECT_EQ(default_settings().pinned_bytes, Settings{}.pinned_bytes);
}

TEST(EngineSettings, ADriverThatDoesNotStartSaysSo) {
  simulated::Simulation simulation(1);
  simulation.fail("init", 1, 719);
  auto engine = Engine::open(simulation.driver(), Settings{});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("the CUDA driver does not start: "));
  simulation.fail("device_get_count", 1, 719);
  engine = Engine::open(simulation.driver(), Settings{});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("the CUDA driver does not count its devices: "));
  EXPECT_TRUE(Engine::open(simulation.driver(), Settings{}));
}

}  // namespace
}  // namespace turnpike::move
