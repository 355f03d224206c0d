// The engine as a whole: its settings, its page-locked memory, its end, and calls from many threads.
#include <gmock/gmock.h>

#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;

TEST(Engine, RefusesSettingsOutOfRange) {
  simulated::Simulation simulation(1);
  constexpr std::size_t kChunk = 4096;
  const Settings wrong[] = {{.threads = 0},
                            {.threads = 65},
                            {.threads = 1, .chunk_bytes = 1000},
                            {.threads = 1, .chunk_bytes = kChunk, .pinned_bytes = 2 * kChunk - 1}};
  for (const Settings& settings : wrong) EXPECT_FALSE(Engine::open(simulation.driver(), settings));
  EXPECT_THAT(simulation.leaks(), ::testing::IsEmpty());
}

TEST(Engine, SaysWhichDeviceThereIsNot) {
  EngineRun run(1);
  std::byte byte{};
  const Piece piece{.host = &byte, .device = run.simulation.device_memory(0, 1), .size_bytes = 1};
  for (const int device : {-1, 2}) {
    const Status status = run.engine->upload(device, {&piece, 1}, nullptr);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message,
              "there is no device " + std::to_string(device) + ": the CUDA driver sees 2, counted from 0");
  }
  run.end();
}

// A tensor whose storage was freed has a size, and no address.
TEST(Engine, RefusesBytesWithoutMemoryOnTheHost) {
  EngineRun run(1);
  const Stream stream = run.simulation.make_stream(0);
  const DeviceAddress device = run.simulation.device_memory(0, 100000);
  for (const std::size_t size_bytes : {std::size_t{100}, std::size_t{100000}}) {
    for (const bool is_pinned : {false, true}) {
      const Piece piece{.device = device, .size_bytes = size_bytes, .is_pinned = is_pinned};
      const Status status = run.engine->upload(0, {&piece, 1}, stream);
      ASSERT_FALSE(status);
      EXPECT_THAT(status.error().message, HasSubstr("no memory on the host"));
      EXPECT_FALSE(run.engine->upload_ahead(0, {&piece, 1}, stream, nullptr));
      EXPECT_FALSE(run.engine->download(0, {&piece, 1}, stream));
      EXPECT_FALSE(run.engine->download_behind(0, {&piece, 1}, stream, nullptr));
    }
  }
  const Piece nothing{.device = device, .size_bytes = 0};
  EXPECT_TRUE(run.engine->upload(0, {&nothing, 1}, stream));
  EXPECT_EQ(run.engine->stats().h2d.bytes, 0U);
  run.end();
}

TEST(Engine, RefusesAStreamThatIsCaptured) {
  EngineRun run(1);
  const Stream stream = run.simulation.make_stream(0);
  const Stream other = run.simulation.make_stream(0);
  const auto up = run.some_upload(0, stream);
  const auto down = run.some_download(0, stream, 100);
  run.simulation.finish();
  ASSERT_TRUE(run.engine->upload(0, up->pieces, other));  // the device is open, and events are there to be asked
  run.simulation.finish();
  run.simulation.begin_capture(stream);
  EXPECT_FALSE(run.engine->upload(0, up->pieces, stream));
  EXPECT_FALSE(run.engine->download(0, down->pieces, stream));
  EXPECT_FALSE(run.engine->upload_ahead(0, up->pieces, stream, nullptr));
  EXPECT_FALSE(run.engine->download_behind(0, down->pieces, stream, nullptr));
  const DeviceAddress device = run.simulation.device_memory(0, 10);
  EXPECT_FALSE(run.engine->copy_peer(0, device, stream, 0, device + 5, stream, 5, nullptr));
  run.simulation.end_capture();
  EXPECT_TRUE(run.engine->upload(0, up->pieces, stream));
  run.simulation.finish();
  run.end();
}

TEST(StressEngine, ServesManyThreadsAtOnce) {
  for_many_seeds([](EngineRun& run) {
    std::vector<std::thread> threads;
    for (std::size_t i = run.random.between(2, 4); i > 0; --i) {
      const int device = static_cast<int>(run.random.below(2));
      const Stream stream = run.simulation.make_stream(device);
      threads.emplace_back([&run, device, stream, seed = run.random.next()] {
        simulated::Random random(seed);
        for (std::size_t times = random.between(1, 3); times > 0; --times) {
          transfer_something(run, random, device, stream);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(Engine, GoesOnWithOtherSettings) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    for (int i = 0; i < 3; ++i) {
      transfer_something(run, run.random, 0, stream);
      const auto cargo = run.some_upload(0, stream);
      auto transfer = run.engine->upload_ahead(0, cargo->pieces, stream, run.watched(cargo));
      ASSERT_TRUE(transfer);
      const Settings settings = some_settings(run.random);
      ASSERT_TRUE(run.engine->configure(settings));
      EXPECT_EQ(run.engine->settings().chunk_bytes, settings.chunk_bytes);
      EXPECT_LE(run.engine->stats().pinned_bytes, settings.pinned_bytes);
      run.settings.pinned_bytes = std::max(run.settings.pinned_bytes, settings.pinned_bytes);
      ASSERT_TRUE((*transfer)->wait_on(0, stream));
      run.expect_on_device(0, stream, cargo);
    }
  });
}

TEST(StressEngine, GoesOnWithOtherSettingsWhileOthersTransfer) {
  for_many_seeds([](EngineRun& run) {
    run.settings.pinned_bytes = std::size_t{32768} * 8;  // the most of some_settings()
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      const Stream stream = run.simulation.make_stream(i);
      threads.emplace_back([&run, i, stream, seed = run.random.next()] {
        simulated::Random random(seed);
        for (int times = 0; times < 3; ++times) transfer_something(run, random, i, stream);
      });
    }
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(run.engine->configure(some_settings(run.random)));
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(Engine, GivesBackThePinnedMemoryThatIsNotInUse) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    for (int i = 0; i < 3; ++i) {
      transfer_something(run, run.random, 0, stream);
      if (run.random.one_in(2)) run.simulation.finish();
      const std::size_t before = run.simulation.pinned_bytes();
      const std::size_t released = run.engine->release_pinned();
      EXPECT_EQ(run.simulation.pinned_bytes(), before - released);
      EXPECT_EQ(run.engine->stats().pinned_bytes, run.simulation.pinned_bytes());
    }
  });
}

TEST(Engine, GivesBackAllPinnedMemoryWhenNothingIsUnderWay) {
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce});
  const Stream stream = run.simulation.make_stream(0);
  for (int i = 0; i < 5; ++i) transfer_something(run, run.random, 0, stream);
  EXPECT_GT(run.simulation.pinned_bytes(), 0U);
  run.simulation.finish();
  for (int i = 0; i < 500 && run.simulation.pinned_bytes() > 0; ++i) run.engine->release_pinned();
  EXPECT_EQ(run.simulation.pinned_bytes(), 0U);
  run.end();
}

TEST(Engine, EndsWithWorkUnderWay) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    const auto up = run.some_upload(0, stream);
    const auto down = run.some_download(0, stream);
    run.put_on_device(0, stream, down);
    auto ahead = run.engine->upload_ahead(0, up->pieces, stream, run.watched(up));
    auto behind = run.engine->download_behind(0, down->pieces, stream, run.watched(down));
    ASSERT_TRUE(ahead && behind);
    if (run.random.one_in(2)) ahead->reset();
    if (run.random.one_in(2)) behind->reset();
    if (run.random.one_in(2)) {
      run.engine.reset();
      if (*behind) {
        ASSERT_TRUE((*behind)->wait());
        EXPECT_TRUE(down->has_arrived());
      }
    }
  });
}

// This machine may have a driver, or none.
TEST(Engine, OfThisMachineNeedsItsDriver) {
  const auto driver = cuda::load_driver();
  if (driver) return;
  const auto engine = Engine::open();
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().message, driver.error().message);
}

TEST(Engine, SaysThatThereIsNoGpu) {
  simulated::Simulation simulation(1, {.devices = 0});
  const auto engine = Engine::open(simulation.driver(), Settings{});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("no GPU"));
}

}  // namespace
}  // namespace turnpike::move
