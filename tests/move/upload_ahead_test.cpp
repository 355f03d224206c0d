// Uploads beside what runs in a stream: waited for, asked about, and abandoned.
#include <gmock/gmock.h>

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

TEST(UploadAhead, HoldsItsOwnerUntilItIsReaped) {
  EngineRun run(2, {.pace = simulated::Pace::kOnlyWhenAsked});
  const Stream stream = run.simulation.make_stream(0);
  const auto block = std::make_shared<HostBlock>(run.simulation, 5000, true);
  const Piece piece{
      .host = block->data(), .device = run.simulation.device_memory(0, 5000), .size_bytes = 5000, .is_pinned = true};
  std::weak_ptr<void> owner;
  {
    const auto owned = run.watched(block);
    owner = owned;
    auto transfer = run.engine->upload_ahead(0, {&piece, 1}, stream, owned);
    ASSERT_TRUE(transfer);
    ASSERT_TRUE((*transfer)->wait_on(0, stream));
  }
  EXPECT_FALSE(owner.expired());
  run.simulation.finish();
  run.engine->reap();
  for (int i = 0; i < 300 && !owner.expired(); ++i) run.engine->reap();  // asking takes a while to be answered
  EXPECT_TRUE(owner.expired());
  EXPECT_EQ(run.engine->stats().pending, 0U);
  run.end();
}

}  // namespace
}  // namespace turnpike::move
