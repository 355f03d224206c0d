// Uploads beside what runs in a stream: waited for, asked about, and abandoned.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

std::unique_ptr<Transfer> start(EngineRun& run, int device, Stream stream, const std::shared_ptr<Cargo>& cargo) {
  auto transfer = run.engine->upload_ahead(device, cargo->pieces, stream, run.host_side(*cargo));
  EXPECT_TRUE(transfer) << (transfer ? "" : transfer.error().message);
  return transfer ? std::move(*transfer) : nullptr;
}

TEST(UploadAhead, HasEveryByteForWhoeverWaitsOnAStream) {
  for_each_seed([](EngineRun& run) {
    const int device = static_cast<int>(run.random.below(2));
    const Stream stream = run.some_stream(device);
    const Stream reader = run.random.one_in(2) ? stream : run.simulation.make_stream(device);
    for (std::size_t times = run.random.between(1, 3); times > 0; --times) {
      const auto cargo = run.some_upload(device, stream);
      auto transfer = start(run, device, stream, cargo);
      ASSERT_NE(transfer, nullptr);
      if (run.random.one_in(3)) transfer->is_staged();
      ASSERT_TRUE(transfer->wait_on(device, reader));
      if (run.random.one_in(2)) transfer.reset();
      run.expect_on_device(device, reader, cargo);
      if (reader != stream) {  // the memory is the stream's: it has to be told of who else read it
        CUevent_st* read = run.simulation.make_event(device);
        run.simulation.set_device(device);
        run.simulation.driver().event_record(read, reader);
        run.simulation.driver().stream_wait_event(stream, read, 0);
        run.simulation.set_device(0);
      }
    }
  });
}

TEST(UploadAhead, HasEveryByteWhenTheHostHasWaited) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    const Stream reader = run.simulation.make_stream(0);
    const auto cargo = run.some_upload(0, stream);
    auto transfer = start(run, 0, stream, cargo);
    ASSERT_NE(transfer, nullptr);
    if (run.random.one_in(2)) {
      ASSERT_TRUE(transfer->wait());
      EXPECT_TRUE(transfer->is_done());
      EXPECT_TRUE(transfer->is_staged());
    } else {
      while (!transfer->is_done()) std::this_thread::yield();
    }
    cargo->scribble_on_pageable();
    run.expect_on_device(0, reader, cargo);
    run.simulation.finish();
  });
}

TEST(UploadAhead, LetsGoOfPageableSourcesWhenItIsStaged) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    const auto cargo = run.some_upload(0, stream);
    auto transfer = start(run, 0, stream, cargo);
    ASSERT_NE(transfer, nullptr);
    while (!transfer->is_staged()) std::this_thread::yield();
    cargo->scribble_on_pageable();
    ASSERT_TRUE(transfer->wait_on(0, stream));
    run.expect_on_device(0, stream, cargo);
  });
}

TEST(UploadAhead, RunsBehindTheStreamAndNotInIt) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    const auto cargo = run.some_upload(0, stream);
    const auto hold = run.simulation.hold(0, stream);
    auto transfer = start(run, 0, stream, cargo);  // returns, although the stream is busy
    ASSERT_NE(transfer, nullptr);
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(transfer->is_done() && !cargo->ranges().empty());
    run.simulation.let_go(hold);
    ASSERT_TRUE(transfer->wait_on(0, stream));
    run.expect_on_device(0, stream, cargo);
  });
}

TEST(UploadAhead, MakesNoStreamWaitTwice) {
  for (const bool is_handed_over : {false, true}) {
    EngineRun run(3);
    const Stream stream = run.simulation.make_stream(0);
    std::vector<std::byte> source(100);
    const Piece piece{
        .host = source.data(), .device = run.simulation.device_memory(0, source.size()), .size_bytes = source.size()};
    const auto hold = run.simulation.hold(0, stream);
    auto transfer = run.engine->upload_ahead(0, {&piece, 1}, stream, nullptr);
    ASSERT_TRUE(transfer);
    while (!(*transfer)->is_staged()) std::this_thread::yield();
    ASSERT_TRUE(!is_handed_over || (*transfer)->wait_on(0, stream));
    const std::size_t before = run.simulation.calls("stream_wait_event");
    transfer->reset();
    EXPECT_EQ(run.simulation.calls("stream_wait_event") - before, is_handed_over ? 0u : 1u);
    run.simulation.let_go(hold);
    run.end();
  }
}

TEST(UploadAhead, LeavesNothingBehindWhenItIsAbandoned) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    for (std::size_t times = run.random.between(1, 4); times > 0; --times) {
      auto cargo = run.some_upload(0, stream);
      auto transfer = start(run, 0, stream, cargo);
      ASSERT_NE(transfer, nullptr);
      for (std::size_t looks = run.random.below(4); looks > 0; --looks) transfer->is_done();
      transfer.reset();
      cargo.reset();
      // The next owner of the same memory, at once.
      cargo = run.some_upload(0, stream);
      ASSERT_TRUE(run.engine->upload(0, cargo->pieces, stream, run.watched(cargo)));
      run.expect_on_device(0, stream, cargo);
    }
  });
}

TEST(UploadAhead, OutlivesItsEngine) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    const auto cargo = run.some_upload(0, stream);
    auto transfer = start(run, 0, stream, cargo);
    ASSERT_NE(transfer, nullptr);
    run.engine.reset();
    if (run.random.one_in(2)) {
      ASSERT_TRUE(transfer->wait_on(0, stream));
      run.expect_on_device(0, stream, cargo);
    }
    transfer.reset();
  });
}

// A pageable source has been read when the copies are issued, and the stream's next work waits for them.
TEST(UploadAhead, LetsItsOwnerGoWhenAStreamWaitsForPageableSources) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    run.shape.has_pinned = false;
    run.shape.most_groups = 1;
    run.shape.most_bytes = run.settings.chunk_bytes / 4;
    run.shape.has_layouts = false;
    const auto cargo = run.some_upload(0, stream);
    const auto hold = run.simulation.hold(0, stream);
    auto owner = run.watched(cargo);
    const std::weak_ptr<void> watched = owner;
    // One slot's worth: it is staged although the stream is busy.
    auto transfer = run.engine->upload_ahead(0, {cargo->pieces.data(), 1}, stream, std::move(owner));
    ASSERT_TRUE(transfer);
    if (run.random.one_in(2)) {
      ASSERT_TRUE((*transfer)->wait_on(0, stream));
    } else {
      while (!(*transfer)->is_staged()) std::this_thread::yield();
      transfer->reset();  // dropped: the stream waits as well
    }
    EXPECT_TRUE(watched.expired());
    run.simulation.let_go(hold);
    transfer->reset();
  });
}

// Nobody calls the engine again.
TEST(UploadAhead, LetsItsOwnerGoSoonAfterThePinnedSourceWasRead) {
  EngineRun run(2, {.pace = simulated::Pace::kOnlyWhenAsked});
  const Stream stream = run.simulation.make_stream(0);
  auto block = std::make_shared<HostBlock>(run.simulation, 5000, true);
  const Piece piece{
      .host = block->data(), .device = run.simulation.device_memory(0, 5000), .size_bytes = 5000, .is_pinned = true};
  auto owner = run.watched(std::move(block));
  const std::weak_ptr<void> memory = owner;
  const auto hold = run.simulation.hold(0, stream);
  {
    auto transfer = run.engine->upload_ahead(0, {&piece, 1}, stream, std::move(owner));
    ASSERT_TRUE(transfer);
    ASSERT_TRUE((*transfer)->wait_on(0, stream));
  }
  auto again = std::make_shared<HostBlock>(run.simulation, 5000, true);
  const Piece plain{
      .host = again->data(), .device = run.simulation.device_memory(0, 5000), .size_bytes = 5000, .is_pinned = true};
  owner = run.watched(std::move(again));
  const std::weak_ptr<void> other = owner;
  ASSERT_TRUE(run.engine->upload(0, {&plain, 1}, stream, std::move(owner)));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(memory.expired() || other.expired());
  run.simulation.let_go(hold);
  // Mostly some 30 ms; seconds where other programs use all cores.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!(memory.expired() && other.expired()) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(memory.expired() && other.expired());
  EXPECT_EQ(run.engine->stats().pending, 0U);
  run.end();
}

// An owner may be the last to hold a transfer, and so the engine.
TEST(UploadAhead, LetsAnOwnerGoThatHoldsTheEngineItself) {
  EngineRun run(3, {.pace = simulated::Pace::kAtOnce});
  const Stream stream = run.simulation.make_stream(0);
  struct Owner {
    std::shared_ptr<HostBlock> block;
    std::unique_ptr<Transfer> transfer;
  };
  auto owner = std::make_shared<Owner>();
  owner->block = std::make_shared<HostBlock>(run.simulation, 5000, true);
  const std::weak_ptr<Owner> watched = owner;
  const Piece piece{.host = owner->block->data(),
                    .device = run.simulation.device_memory(0, 5000),
                    .size_bytes = 5000,
                    .is_pinned = true};
  const auto hold = run.simulation.hold(0, stream);
  auto other = run.engine->upload_ahead(0, {}, stream, nullptr);
  ASSERT_TRUE(other);
  owner->transfer = std::move(*other);
  ASSERT_TRUE(run.engine->upload(0, {&piece, 1}, stream, std::move(owner)));
  run.engine.reset();  // the transfer within the owner holds what is behind it
  run.simulation.let_go(hold);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!watched.expired() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(watched.expired());
  for (int i = 0; i < 1000 && run.simulation.is_opened(0); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(run.simulation.is_opened(0));
  run.end();
}

}  // namespace
}  // namespace turnpike::move
