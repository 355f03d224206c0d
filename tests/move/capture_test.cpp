// CUDA graphs that are captured while the engine works: by other threads, and by the thread that calls it.
#include <gmock/gmock.h>

#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

using simulated::Pace;
using ::testing::HasSubstr;

// In PyTorch's default mode, by another thread than this one.
void begin_capture_elsewhere(EngineRun& run, int device) {
  const Stream captured = run.simulation.make_stream(device);
  std::thread([&] { run.simulation.begin_capture(captured, device); }).join();
}

TEST(Capture, ByAnotherThreadIsLeftAloneByEveryTransfer) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    if (run.random.one_in(2)) transfer_something(run, run.random, 0, stream);
    begin_capture_elsewhere(run, static_cast<int>(run.random.below(2)));
    for (std::size_t times = run.random.between(1, 4); times > 0; --times) {
      transfer_something(run, run.random, 0, stream);
      if (run.random.one_in(3)) run.engine->reap();
      if (run.random.one_in(3)) run.engine->release_pinned();
      if (run.random.one_in(6)) {
        EXPECT_TRUE(run.engine->configure(run.settings));
      }
    }
    if (run.random.one_in(2)) run.engine.reset();
    run.simulation.end_capture();
  });
}

TEST(Capture, ByAnotherThreadIsLeftAloneByCopiesBetweenDevices) {
  constexpr std::uint64_t kFewSeeds = 10;  // the trial of a pair of devices takes long
  for (std::uint64_t seed = 0; seed < kFewSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    EngineRun run(seed);
    run.more_pinned_bytes = std::size_t{2} << 20;  // for the trial of the pair
    constexpr std::size_t kBytes = 5001;
    const DeviceAddress from = run.simulation.device_memory(0, kBytes);
    const DeviceAddress to = run.simulation.device_memory(1, kBytes);
    fill(run.random, run.simulation.bytes(from), kBytes);
    begin_capture_elsewhere(run, static_cast<int>(run.random.below(2)));
    auto transfer = run.engine->copy_peer(1, to, run.simulation.make_stream(1), 0, from, run.simulation.make_stream(0),
                                          kBytes, nullptr);
    ASSERT_TRUE(transfer);
    ASSERT_TRUE((*transfer)->wait());
    run.simulation.end_capture();
    EXPECT_TRUE(std::equal(run.simulation.bytes(from), run.simulation.bytes(from) + kBytes, run.simulation.bytes(to)));
    transfer->reset();
    run.end();
  }
}

TEST(Capture, ByAnotherThreadIsLeftAloneByPin) {
  EngineRun run(1);
  run.more_pinned_bytes = 4096;
  std::vector<std::byte> memory(4096);
  begin_capture_elsewhere(run, 1);
  EXPECT_TRUE(run.engine->pin(memory.data(), memory.size()));
  run.simulation.end_capture();
  EXPECT_TRUE(run.engine->unpin(memory.data()));
  run.end();
}

// Everything that can be asked of transfers that were begun before: nothing of it may get into the graph, and no value
// may be lost.
TEST(Capture, ByTheSameThreadLetsItAskAboutEarlierTransfers) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    const auto up = run.some_upload(0, stream);
    const auto down = run.some_download(0, stream, run.random.one_in(2) ? 100 : 0);
    run.put_on_device(0, stream, down);
    auto ahead = run.engine->upload_ahead(0, up->pieces, stream, run.host_side(*up));
    auto behind = run.engine->download_behind(0, down->pieces, stream, run.watched(down));
    ASSERT_TRUE(ahead && behind);
    run.simulation.begin_capture(stream);
    (*ahead)->is_staged();
    (*ahead)->is_done();
    (*behind)->is_done();
    run.engine->reap();
    const bool is_waited_for = run.random.one_in(2);
    if (is_waited_for) {
      EXPECT_TRUE((*behind)->wait());
      EXPECT_TRUE(down->has_arrived());
    }
    const Status handed_over = (*ahead)->wait_on(0, stream);
    if (!handed_over) {
      EXPECT_THAT(handed_over.error().message, HasSubstr("captured"));
    }
    const bool is_dropped = run.random.one_in(3);
    if (is_dropped) ahead->reset();
    run.simulation.end_capture();
    if (!is_dropped) {
      ASSERT_TRUE((*ahead)->wait_on(0, stream));
      run.expect_on_device(0, stream, up);
    } else {
      run.overwrite_on_device(0, stream, up);  // the next owner of its memory
    }
    if (!is_waited_for) {
      ASSERT_TRUE((*behind)->wait());
      EXPECT_TRUE(down->has_arrived());
    }
  });
}

// A driver that refuses says nothing about the copy. Each question in turn is refused once.
TEST(Capture, ARefusedQuestionIsNoAnswer) {
  for (const char* question : {"event_query", "event_synchronize"}) {
    for (std::size_t nth = 1; nth < 40; ++nth) {
      SCOPED_TRACE(std::string(question) + " " + std::to_string(nth));
      EngineRun run(nth, {.pace = Pace::kByChance});
      const Stream stream = run.simulation.make_stream(0);
      transfer_something(run, run.random, 0, stream);
      run.simulation.fail(question, nth, 900);
      const auto down = run.some_download(0, stream, 100);
      run.put_on_device(0, stream, down);
      auto behind = run.engine->download_behind(0, down->pieces, stream, run.watched(down));
      const auto up = run.some_upload(0, stream);
      auto ahead = run.engine->upload_ahead(0, up->pieces, stream, run.host_side(*up));
      ASSERT_TRUE(behind && ahead);
      run.engine->reap();
      ASSERT_TRUE((*ahead)->wait_on(0, stream));
      run.expect_on_device(0, stream, up);
      ahead->reset();
      Status waited = (*behind)->wait();
      if (!waited) waited = (*behind)->wait();  // the refusal was told, and is over
      EXPECT_TRUE(waited);
      EXPECT_TRUE(down->has_arrived());
      behind->reset();
      run.end();
    }
  }
}

TEST(Capture, ARefusedSlotIsTakenLater) {
  EngineRun run(1, {.pace = Pace::kOnlyWhenAsked}, {.threads = 1, .chunk_bytes = 4096, .pinned_bytes = 14 * 4096});
  const Stream stream = run.simulation.make_stream(0);
  const auto block = std::make_shared<HostBlock>(run.simulation, 8 * 4096, false);
  const Piece piece{.host = block->data(),
                    .device = run.simulation.device_memory(0, block->size_bytes()),
                    .size_bytes = block->size_bytes()};
  run.simulation.fail("mem_host_alloc", 2, 900);
  ASSERT_TRUE(run.engine->upload(0, {&piece, 1}, stream));
  const auto hold = run.simulation.hold(0, stream);
  ASSERT_TRUE(run.engine->upload(0, {&piece, 1}, stream));  // waits for nothing: there are as many slots as before
  run.simulation.let_go(hold);
  run.end();
}

}  // namespace
}  // namespace turnpike::move
