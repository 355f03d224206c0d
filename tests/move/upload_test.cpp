// Uploads in the order of a stream, in every order that CUDA allows.
#include <gmock/gmock.h>

#include "engine_run.h"

namespace turnpike::move {
namespace {

TEST(Upload, BringsEveryByteInTheOrderOfItsStream) {
  for_each_seed([](EngineRun& run) {
    const int device = static_cast<int>(run.random.below(2));
    const Stream stream = run.some_stream(device);
    for (std::size_t times = run.random.between(1, 3); times > 0; --times) {
      const auto cargo = run.some_upload(device, stream);
      run.overwrite_on_device(device, stream, cargo);
      const Status status = run.engine->upload(device, cargo->pieces, stream, run.watched(cargo));
      ASSERT_TRUE(status) << status.error().message;
      cargo->scribble_on_pageable();
      EXPECT_TRUE(cargo->is_intact());
      run.expect_on_device(device, stream, cargo);
    }
  });
}

TEST(Upload, LeavesWhatIsBesideItsPiecesAlone) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    run.shape.has_padding = false;
    const auto cargo = run.some_upload(0, stream);
    std::vector<std::vector<std::byte>> before;
    run.simulation.finish();
    for (const simulated::Range group : cargo->groups) {
      const std::byte* bytes = run.simulation.bytes(group.begin);
      before.emplace_back(bytes, bytes + (group.end - group.begin));
    }
    ASSERT_TRUE(run.engine->upload(0, cargo->pieces, stream));
    run.simulation.finish();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const simulated::Range group = cargo->groups[i];
      for (const Cargo::Stretch& stretch : cargo->stretches) {
        if (stretch.device < group.begin || stretch.device > group.end) continue;
        std::copy(stretch.bytes.begin(), stretch.bytes.end(),
                  before[i].begin() + static_cast<std::ptrdiff_t>(stretch.device - group.begin));
      }
      const std::byte* bytes = run.simulation.bytes(group.begin);
      EXPECT_TRUE(std::equal(before[i].begin(), before[i].end(), bytes));
    }
  });
}

TEST(Upload, DoesNotWaitForAStreamThatIsBusy) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    run.shape.most_bytes = run.settings.chunk_bytes / 4;  // what fits into the ring
    run.shape.most_groups = 1;
    run.shape.has_layouts = false;
    run.shape.has_padding = false;
    const auto cargo = run.some_upload(0, stream);
    const auto hold = run.simulation.hold(0, stream);
    // More than the ring has slots for would have to wait, and pieces with gaps between them take one each.
    const std::span<const Piece> first(cargo->pieces.data(), 1);
    ASSERT_TRUE(run.engine->upload(0, first, stream, run.watched(cargo)));
    EXPECT_EQ(run.engine->stats().h2d.transfers, 1U);
    run.simulation.let_go(hold);
  });
}

TEST(Upload, HoldsPinnedMemoryWhenItsEngineEnds) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    auto block = std::make_shared<HostBlock>(run.simulation, 5000, true);
    const Piece piece{
        .host = block->data(), .device = run.simulation.device_memory(0, 5000), .size_bytes = 5000, .is_pinned = true};
    ASSERT_TRUE(run.engine->upload(0, {&piece, 1}, stream, run.watched(std::move(block))));
  });
}

TEST(Upload, CountsWhatCrossed) {
  EngineRun run(1);
  const Stream stream = run.simulation.make_stream(0);
  const auto pageable = std::make_shared<HostBlock>(run.simulation, 10000, false);
  const auto pinned = std::make_shared<HostBlock>(run.simulation, 5000, true);
  const DeviceAddress device = run.simulation.device_memory(0, 20000);
  const Piece pieces[] = {{.host = pageable->data(), .device = device, .size_bytes = 10000},
                          {.host = pinned->data(), .device = device + 12000, .size_bytes = 5000, .is_pinned = true}};
  ASSERT_TRUE(run.engine->upload(0, pieces, stream, pinned));
  EXPECT_EQ(run.engine->stats().h2d.bytes, 15000U);
  EXPECT_EQ(run.engine->stats().h2d.staged_bytes, 10000U);
  EXPECT_EQ(run.engine->stats().h2d.transfers, 1U);
  EXPECT_EQ(run.engine->stats().d2h.bytes, 0U);
  EXPECT_EQ(run.engine->stats().pinned_bytes, run.simulation.pinned_bytes());
  run.end();
}

}  // namespace
}  // namespace turnpike::move
