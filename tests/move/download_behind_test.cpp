// Downloads beside what runs in a stream: small ones in it, large ones from a snapshot.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

std::unique_ptr<Transfer> start(EngineRun& run, int device, Stream stream, const std::shared_ptr<Cargo>& cargo) {
  auto transfer = run.engine->download_behind(device, cargo->pieces, stream, run.watched(cargo));
  EXPECT_TRUE(transfer) << (transfer ? "" : transfer.error().message);
  return transfer ? std::move(*transfer) : nullptr;
}

void finish(EngineRun& run, Transfer& transfer) {
  if (run.random.one_in(2)) {
    const Status status = transfer.wait();
    EXPECT_TRUE(status) << status.error().message;
  } else {
    while (!transfer.is_done()) std::this_thread::yield();
  }
}

TEST(DownloadBehind, ReadsSmallMemoryBeforeWhateverIsPutIntoTheStream) {
  for_each_seed([](EngineRun& run) {
    const int device = static_cast<int>(run.random.below(2));
    const Stream stream = run.some_stream(device);
    std::deque<std::pair<std::shared_ptr<Cargo>, std::unique_ptr<Transfer>>> under_way;
    for (std::size_t times = run.random.between(1, 12); times > 0; --times) {
      const auto cargo = run.some_download(device, stream, run.random.one_in(3) ? Engine::kInStreamBytes : 200);
      run.put_on_device(device, stream, cargo);
      under_way.emplace_back(cargo, start(run, device, stream, cargo));
      ASSERT_NE(under_way.back().second, nullptr);
      run.overwrite_on_device(device, stream, cargo);
      if (run.random.one_in(3)) continue;
      finish(run, *under_way.front().second);
      EXPECT_TRUE(under_way.front().first->has_arrived());
      under_way.pop_front();
    }
    for (const auto& [cargo, transfer] : under_way) {
      finish(run, *transfer);
      EXPECT_TRUE(cargo->has_arrived());
      EXPECT_TRUE(cargo->is_intact());
    }
  });
}

// The ring gets another size then, while some are under way in it.
TEST(DownloadBehind, BringsSmallMemoryWhateverTheSettingsBecome) {
  for_each_seed([](EngineRun& run) {
    run.settings.pinned_bytes = std::size_t{32768} * 8;  // the most of some_settings()
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      const int device = static_cast<int>(run.random.below(2));
      const Stream stream = run.simulation.make_stream(device);
      threads.emplace_back([&run, device, stream, seed = run.random.next()] {
        simulated::Random random(seed);
        const auto place = [&](std::size_t bytes) { return run.allocator.allocate(device, stream, bytes); };
        for (int times = 0; times < 8; ++times) {
          const auto cargo = download_cargo(run.simulation, random, {.most_groups = 1, .most_bytes = 200}, place);
          run.put_on_device(device, stream, cargo);
          auto transfer = run.engine->download_behind(device, cargo->pieces, stream, cargo);
          ASSERT_TRUE(transfer);
          ASSERT_TRUE((*transfer)->wait());
          ASSERT_TRUE(cargo->has_arrived());
        }
      });
    }
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(run.engine->configure(some_settings(run.random)));
    for (std::thread& thread : threads) thread.join();
  });
}

// A thread that waits for a place in the ring must not hold up the questions of others.
TEST(DownloadBehind, TellsWhetherItIsDoneWhileAnotherWaitsForAPlace) {
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, {.threads = 1, .chunk_bytes = 4096, .pinned_bytes = 8 * 4096});
  const Stream busy = run.simulation.make_stream(0);
  const Stream idle = run.simulation.make_stream(0);
  const DeviceAddress device = run.simulation.device_memory(0, 2048);
  std::vector<std::byte> host(2048);
  const Piece piece{.host = host.data(), .device = device, .size_bytes = host.size()};
  auto earlier = run.engine->download_behind(0, {&piece, 1}, idle, nullptr);
  ASSERT_TRUE(earlier && (*earlier)->wait());
  const auto hold = run.simulation.hold(0, busy);
  auto first = run.engine->download_behind(0, {&piece, 1}, busy, nullptr);  // half of the ring
  auto second = run.engine->download_behind(0, {&piece, 1}, busy, nullptr);
  ASSERT_TRUE(first && second);
  std::atomic<bool> is_over{false};
  std::thread waiting([&] {
    auto third = run.engine->download_behind(0, {&piece, 1}, busy, nullptr);  // waits for the first
    EXPECT_TRUE(third && (*third)->wait());
    is_over = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE((*first)->is_done());
  EXPECT_TRUE((*earlier)->is_done());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_FALSE(is_over);
  run.simulation.let_go(hold);
  waiting.join();
  for (auto* transfer : {&earlier, &first, &second}) transfer->value().reset();
  run.end();
}

// Its bytes are nobody's any more, and the memory that they were for is somebody else's.
TEST(DownloadBehind, LeavesHostMemoryAloneAndLetsItGoWhenItIsAbandoned) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    auto cargo = run.some_download(0, stream, 200);
    run.put_on_device(0, stream, cargo);
    const auto kept = cargo->blocks;
    auto owner = run.watched(cargo);
    const std::weak_ptr<void> watched = owner;
    auto transfer = run.engine->download_behind(0, cargo->pieces, stream, std::move(owner));
    ASSERT_TRUE(transfer);
    transfer->reset();
    EXPECT_TRUE(watched.expired());
    for (const auto& block : kept) std::memset(block->data(), 0x77, block->size_bytes());
    run.engine->reap();
    run.simulation.finish();
    run.engine->reap();
    for (const auto& block : kept) {
      EXPECT_TRUE(std::all_of(block->data(), block->data() + block->size_bytes(),
                              [](std::byte byte) { return byte == std::byte{0x77}; }));
    }
  });
}

TEST(DownloadBehind, HasNoPadding) {
  EngineRun run(1);
  const Piece padding{.device = run.simulation.device_memory(0, 256), .size_bytes = 100, .is_padding = true};
  const auto transfer = run.engine->download_behind(0, {&padding, 1}, run.simulation.make_stream(0), nullptr);
  ASSERT_FALSE(transfer);
  EXPECT_THAT(transfer.error().message, ::testing::HasSubstr("only an upload can have padding"));
  run.end();
}

TEST(DownloadBehind, FailsWhicheverOfItsCopiesFails) {
  for (std::size_t failing = 1; failing <= 3; ++failing) {
    EngineRun run(1);
    const DeviceAddress device = run.simulation.device_memory(0, 1024);
    std::vector<std::byte> host(96);
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < 4; ++i) {
      pieces.push_back({.host = &host[24 * i], .device = device + 256 * i, .size_bytes = i == 1 ? 0 : std::size_t{24}});
    }
    run.simulation.fail("memcpy_dtoh_async", failing, 719);
    const auto transfer = run.engine->download_behind(0, pieces, run.simulation.make_stream(0), nullptr);
    ASSERT_FALSE(transfer) << failing;
    EXPECT_THAT(transfer.error().message, ::testing::HasSubstr("copying from the GPU")) << failing;
    run.simulation.forget_failures();
    run.end();
  }
}

TEST(DownloadBehind, BringsLargeMemoryBesideTheStream) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    const auto cargo = run.some_download(0, stream);
    HostBlock target(run.simulation, Engine::kInStreamBytes + 1, run.random.one_in(3));
    const DeviceAddress large = run.allocator.allocate(0, stream, target.size_bytes());
    cargo->pieces.push_back(
        {.host = target.data(), .device = large, .size_bytes = target.size_bytes(), .is_pinned = target.is_pinned()});
    cargo->stretches.push_back({large, std::vector<std::byte>(target.size_bytes()), target.data()});
    fill(run.random, cargo->stretches.back().bytes.data(), target.size_bytes());
    run.put_on_device(0, stream, cargo);
    const auto transfer = start(run, 0, stream, cargo);
    ASSERT_NE(transfer, nullptr);
    run.expect_on_device(0, stream, cargo);  // the stream goes on, and reads
    if (run.random.one_in(2)) {
      ASSERT_TRUE(transfer->wait_on(0, stream));
      run.overwrite_on_device(0, stream, cargo);
    }
    finish(run, *transfer);
    EXPECT_TRUE(cargo->has_arrived());
    EXPECT_TRUE(cargo->is_intact() && target.is_intact());
  });
}

TEST(DownloadBehind, LeavesNothingBehindWhenItIsAbandoned) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    for (std::size_t times = run.random.between(1, 5); times > 0; --times) {
      auto cargo = run.some_download(0, stream);
      run.put_on_device(0, stream, cargo);
      auto transfer = start(run, 0, stream, cargo);
      ASSERT_NE(transfer, nullptr);
      for (std::size_t looks = run.random.below(3); looks > 0; --looks) transfer->is_done();
      transfer.reset();
      cargo.reset();  // the engine holds it as long as it needs it
      run.allocator.allocate(0, stream, 3000);
    }
  });
}

}  // namespace
}  // namespace turnpike::move
