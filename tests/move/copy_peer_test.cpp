// Copies between devices: directly, through the host, and between devices that only seem to reach each other.
#include <gmock/gmock.h>

#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

using PeerRoute = Engine::PeerRoute;

// The trial of a pair page-locks so much for a moment.
constexpr std::size_t kTrialBytes = std::size_t{2} << 20;

struct Sides {
  explicit Sides(EngineRun& its_run, int its_from, int its_to)
      : run(its_run),
        from(its_from),
        to(its_to),
        from_stream(run.simulation.make_stream(from)),
        to_stream(run.random.one_in(8) ? nullptr : run.simulation.make_stream(to)) {}

  // Writes the source in its stream, copies, and returns the transfer.
  std::unique_ptr<Transfer> copy(std::size_t size_bytes) {
    source = std::make_shared<Cargo>();
    target = std::make_shared<Cargo>();
    std::vector<std::byte> bytes(size_bytes);
    fill(run.random, bytes.data(), size_bytes);
    source->stretches.push_back({run.allocator.allocate(from, from_stream, size_bytes + 1), bytes});
    target->stretches.push_back({run.allocator.allocate(to, to_stream, size_bytes + 1), bytes});
    run.put_on_device(from, from_stream, source);
    auto transfer = run.engine->copy_peer(to, target->stretches[0].device, to_stream, from, source->stretches[0].device,
                                          from_stream, size_bytes, run.watched(target));
    EXPECT_TRUE(transfer) << (transfer ? "" : transfer.error().message);
    return transfer ? std::move(*transfer) : nullptr;
  }
  void free() const {
    run.allocator.free(source->stretches[0].device);
    run.allocator.free(target->stretches[0].device);
  }

  EngineRun& run;
  int from;
  int to;
  Stream from_stream;
  Stream to_stream;
  std::shared_ptr<Cargo> source;
  std::shared_ptr<Cargo> target;
};

std::size_t some_size(EngineRun& run) {
  const std::size_t chunk = run.settings.chunk_bytes;
  const std::size_t sizes[] = {0, 1, 333, chunk, chunk + 1, 3 * chunk + 7, 9 * chunk};
  return run.random.of(sizes);
}

// Both sides go on after wait_on(): one reads what came, the other overwrites what went.
void copy_some(EngineRun& run, int from, int to) {
  Sides sides(run, from, to);
  for (std::size_t times = run.random.between(1, 3); times > 0; --times) {
    auto transfer = sides.copy(some_size(run));
    ASSERT_NE(transfer, nullptr);
    run.expect_on_device(from, sides.from_stream, sides.source);
    ASSERT_TRUE(transfer->wait_on(to, sides.to_stream));
    run.expect_on_device(to, sides.to_stream, sides.target);
    ASSERT_TRUE(transfer->wait_on(from, sides.from_stream));
    run.overwrite_on_device(from, sides.from_stream, sides.source);
    if (run.random.one_in(2)) transfer.reset();
    sides.free();
    if (transfer && run.random.one_in(2)) {
      ASSERT_TRUE(transfer->wait());
      EXPECT_TRUE(transfer->is_done());
    }
  }
}

TEST(CopyPeer, GoesThroughTheHostWithoutPeerAccess) {
  for_each_seed(
      [](EngineRun& run) {
        const int from = static_cast<int>(run.random.below(2));
        copy_some(run, from, 1 - from);
        EXPECT_EQ(*run.engine->peer_route(from, 1 - from), PeerRoute::kStaged);
      },
      {.has_peer_access = false});
}

TEST(CopyPeer, StaysWithinADevice) {
  for_each_seed([](EngineRun& run) { copy_some(run, 1, 1); });
}

// One engine for many seeds' worth of copies: trying a pair takes longer than they do.
TEST(CopyPeer, GoesDirectlyBetweenDevicesThatReachEachOther) {
  constexpr std::uint64_t kCopies = 100;
  for (std::uint64_t seed = 0; seed < seeds() / kCopies && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EngineRun run(seed);
    run.more_pinned_bytes = kTrialBytes;
    EXPECT_EQ(*run.engine->peer_route(0, 1), PeerRoute::kDirect);
    for (std::uint64_t i = 0; i < kCopies; ++i) copy_some(run, 0, 1);
    EXPECT_EQ(run.engine->stats().p2p.staged_bytes, 0U);
    run.end();
  }
}

TEST(CopyPeer, FindsAPairWhoseBytesArriveWrong) {
  constexpr std::uint64_t kCopies = 100;
  for (std::uint64_t seed = 0; seed < seeds() / kCopies && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EngineRun run(seed, {.breaks_peer_copies = true});
    run.more_pinned_bytes = kTrialBytes;
    for (std::uint64_t i = 0; i < kCopies; ++i) copy_some(run, 0, 1);
    EXPECT_EQ(*run.engine->peer_route(0, 1), PeerRoute::kStaged);
    EXPECT_EQ(run.engine->stats().p2p.staged_bytes, run.engine->stats().p2p.bytes);
    run.end();
  }
}

TEST(CopyPeer, MakesNoStreamWaitTwice) {
  for (const bool is_from_told : {false, true}) {
    for (const bool is_to_told : {false, true}) {
      EngineRun run(3, {.has_peer_access = false});
      Sides sides(run, 0, 1);
      sides.to_stream = run.simulation.make_stream(1);
      const auto hold = run.simulation.hold(0, sides.from_stream);
      auto transfer = sides.copy(100);
      ASSERT_NE(transfer, nullptr);
      ASSERT_TRUE(!is_from_told || transfer->wait_on(0, sides.from_stream));
      ASSERT_TRUE(!is_to_told || transfer->wait_on(1, sides.to_stream));
      const std::size_t before = run.simulation.calls("stream_wait_event");
      transfer.reset();
      EXPECT_EQ(run.simulation.calls("stream_wait_event") - before, (is_from_told ? 0u : 1u) + (is_to_told ? 0u : 1u));
      run.simulation.let_go(hold);
      sides.free();
      run.end();
    }
  }
}

TEST(CopyPeer, LeavesNothingBehindWhenItIsAbandoned) {
  for_each_seed(
      [](EngineRun& run) {
        Sides sides(run, 0, 1);
        for (int i = 0; i < 3; ++i) {
          auto transfer = sides.copy(some_size(run));
          ASSERT_NE(transfer, nullptr);
          if (run.random.one_in(2)) transfer->is_done();
          transfer.reset();
          sides.free();  // the next owners of both sides write them at once
        }
      },
      {.has_peer_access = false});
}

}  // namespace
}  // namespace turnpike::move
