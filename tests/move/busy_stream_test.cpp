// Streams that stand still, for as long as nobody lets them go on: what other streams, and small transfers, need is
// there.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engine_run.h"

namespace turnpike::move {
namespace {

constexpr std::size_t kChunk = 4096;
constexpr Settings kSixteenSlots{.threads = 2, .chunk_bytes = kChunk, .pinned_bytes = 17 * kChunk};

// Pageable memory of some chunks, and where it goes.
struct Load {
  Load(EngineRun& run, std::size_t chunks)
      : block(std::make_shared<HostBlock>(run.simulation, chunks * kChunk, false)),
        piece{.host = block->data(),
              .device = run.simulation.device_memory(0, chunks * kChunk),
              .size_bytes = chunks * kChunk} {
    fill(run.random, block->data(), block->size_bytes());
  }
  bool has_arrived(EngineRun& run) const {
    return std::equal(block->data(), block->data() + block->size_bytes(), run.simulation.bytes(piece.device));
  }

  std::shared_ptr<HostBlock> block;
  Piece piece;
};

bool is_soon(const std::atomic<bool>& what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!what && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return what;
}

// A stream waits, and an upload of more than all slots waits for it. How it was begun is the argument.
template <typename BeginBusy>
void expect_that_others_go_on(EngineRun& run, const BeginBusy& begin_busy) {
  const Stream busy = run.simulation.make_stream(0);
  const Load many(run, 64);
  const auto hold = run.simulation.hold(0, busy);
  std::atomic<bool> is_busy_done{false};
  std::thread waiting([&] {
    run.simulation.set_device(0);
    begin_busy(busy, many.piece);
    is_busy_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // it has all that it gets
  std::atomic<bool> is_done{false};
  std::thread others([&] {
    run.simulation.set_device(0);
    for (int i = 0; i < 3; ++i) {
      const Stream idle = run.simulation.make_stream(0);
      const Load load(run, 5);
      EXPECT_TRUE(run.engine->upload(0, {&load.piece, 1}, idle));
      run.simulation.driver().stream_synchronize(idle);
      EXPECT_TRUE(load.has_arrived(run));
      auto ahead = run.engine->upload_ahead(0, {&load.piece, 1}, idle, nullptr);
      EXPECT_TRUE(ahead && (*ahead)->wait());
      auto behind = run.engine->download_behind(0, {&load.piece, 1}, idle, nullptr);
      EXPECT_TRUE(behind && (*behind)->wait());
      EXPECT_TRUE(run.engine->download(0, {&load.piece, 1}, idle));
    }
    is_done = true;
  });
  EXPECT_TRUE(is_soon(is_done)) << "a stream that stands still holds up the others";
  EXPECT_FALSE(is_busy_done);
  run.simulation.let_go(hold);
  waiting.join();
  others.join();
  run.simulation.finish();
  EXPECT_TRUE(many.has_arrived(run));
  run.end();
}

TEST(BusyStream, LeavesSlotsToOthersDuringAnUpload) {
  for (const simulated::Pace pace : {simulated::Pace::kAtOnce, simulated::Pace::kThreads}) {
    EngineRun run(1, {.pace = pace}, kSixteenSlots);
    expect_that_others_go_on(
        run, [&](Stream stream, const Piece& piece) { EXPECT_TRUE(run.engine->upload(0, {&piece, 1}, stream)); });
  }
}

TEST(BusyStream, LeavesSlotsToOthersDuringAnUploadAhead) {
  for (const simulated::Pace pace : {simulated::Pace::kAtOnce, simulated::Pace::kThreads}) {
    EngineRun run(1, {.pace = pace}, kSixteenSlots);
    expect_that_others_go_on(run, [&](Stream stream, const Piece& piece) {
      auto transfer = run.engine->upload_ahead(0, {&piece, 1}, stream, nullptr);
      ASSERT_TRUE(transfer);
      EXPECT_TRUE((*transfer)->wait());
    });
  }
}

TEST(BusyStream, LeavesSlotsToOthersDuringADownload) {
  for (const simulated::Pace pace : {simulated::Pace::kAtOnce, simulated::Pace::kThreads}) {
    EngineRun run(1, {.pace = pace}, kSixteenSlots);
    Load target(run, 64);
    expect_that_others_go_on(run, [&](Stream stream, const Piece& piece) {
      // Behind the upload's memory, so that its bytes are what the test looks for.
      EXPECT_TRUE(run.engine->upload(0, {&piece, 1}, stream));
      const Piece down{.host = target.block->data(), .device = piece.device, .size_bytes = piece.size_bytes};
      EXPECT_TRUE(run.engine->download(0, {&down, 1}, stream));
    });
  }
}

// Two slots are kept: as many streams may stand still, and one that waits for none of them still goes on.
TEST(BusyStream, LeavesSlotsToOthersWhenSeveralStandStill) {
  EngineRun run(1, {.pace = simulated::Pace::kThreads}, kSixteenSlots);
  const Stream first = run.simulation.make_stream(0);
  const Load many(run, 64);
  const auto hold = run.simulation.hold(0, first);
  std::thread waiting([&] {
    run.simulation.set_device(0);
    EXPECT_TRUE(run.engine->upload(0, {&many.piece, 1}, first));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  expect_that_others_go_on(run, [&](Stream stream, const Piece& piece) {
    EXPECT_TRUE(run.engine->upload(0, {&piece, 1}, stream));
    run.simulation.let_go(hold);
    waiting.join();
  });
}

// More than what a stream usually gets: nothing passes, so it may have more.
TEST(BusyStream, StagesMostOfTheRingWithoutWaiting) {
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, kSixteenSlots);
  const Stream stream = run.simulation.make_stream(0);
  const Load load(run, 12);
  const auto hold = run.simulation.hold(0, stream);
  std::atomic<bool> is_done{false};
  std::thread thread([&] {
    run.simulation.set_device(0);
    EXPECT_TRUE(run.engine->upload(0, {&load.piece, 1}, stream));
    is_done = true;
  });
  EXPECT_TRUE(is_soon(is_done));
  run.simulation.let_go(hold);
  thread.join();
  run.simulation.finish();
  EXPECT_TRUE(load.has_arrived(run));
  run.end();
}

// As an engine is set: a lone tensor takes one slot, which the caller fills, and 32 MiB take sixteen.
TEST(BusyStream, StagesInFewCopiesWithoutWaiting) {
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, Settings{.threads = 2});
  const Stream stream = run.simulation.make_stream(0);
  EXPECT_TRUE(*run.engine->is_idle(0, stream));
  const auto hold = run.simulation.hold(0, stream);
  EXPECT_FALSE(*run.engine->is_idle(0, stream));
  std::vector<Load> loads;
  for (const auto& [mebibytes, copies] : {std::pair<std::size_t, std::size_t>{2, 1}, {32, 8}}) {
    const Load& load = loads.emplace_back(run, mebibytes << 8);
    const std::size_t before = run.simulation.calls("memcpy_htod_async");
    std::atomic<bool> is_done{false};
    std::thread thread([&] {
      run.simulation.set_device(0);
      EXPECT_TRUE(run.engine->upload(0, {&load.piece, 1}, stream));
      is_done = true;
    });
    EXPECT_TRUE(is_soon(is_done));
    EXPECT_EQ(run.simulation.calls("memcpy_htod_async") - before, copies);
    if (!is_done) run.simulation.let_go(hold);
    thread.join();
  }
  run.simulation.let_go(hold);
  run.simulation.finish();
  for (const Load& load : loads) EXPECT_TRUE(load.has_arrived(run));
  run.end();
}

}  // namespace
}  // namespace turnpike::move
