// The ways in which the Python face uses the engine: prefetch, pipeline, and fetching what is overwritten at once.
#include <gmock/gmock.h>

#include <cstring>
#include <deque>
#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

// Batches come up beside the consumer, whose kernels read them; their memory is the consumer's. The loop ends early now
// and then, with batches under way.
void prefetch(EngineRun& run, std::size_t batches, bool host_waits) {
  const int device = static_cast<int>(run.random.below(2));
  const Stream consumer = run.some_stream(device);
  const std::size_t depth = run.random.between(1, 4);
  const std::size_t end = run.random.one_in(3) ? run.random.between(1, batches) : batches;
  struct Batch {
    std::shared_ptr<Cargo> cargo;
    std::unique_ptr<Transfer> transfer;
  };
  std::deque<Batch> ahead;
  run.shape.most_groups = 1;
  run.shape.has_layouts = run.random.one_in(3);
  run.shape.most_bytes = 3 * run.settings.chunk_bytes;
  for (std::size_t i = 0; i < end; ++i) {
    while (ahead.size() < depth && i + ahead.size() < batches) {
      auto cargo = run.some_upload(device, consumer);
      auto transfer = run.engine->upload_ahead(device, cargo->pieces, consumer, run.host_side(*cargo));
      ASSERT_TRUE(transfer) << transfer.error().message;
      ahead.push_back({std::move(cargo), std::move(*transfer)});
    }
    Batch batch = std::move(ahead.front());
    ahead.pop_front();
    ASSERT_TRUE(batch.transfer->wait_on(device, consumer));
    run.expect_on_device(device, consumer, batch.cargo);
    if (run.random.one_in(3)) run.overwrite_on_device(device, consumer, batch.cargo);
    if (host_waits && run.random.one_in(3)) {
      run.simulation.set_device(device);
      run.simulation.driver().stream_synchronize(consumer);
      run.simulation.set_device(0);
    }
  }
  ahead.clear();
  // Whoever gets the memory of the batches that nobody wanted.
  const auto next = run.some_upload(device, consumer);
  ASSERT_TRUE(run.engine->upload(device, next->pieces, consumer, run.watched(next)));
  run.expect_on_device(device, consumer, next);
}

TEST(Prefetch, HasEveryByteForAConsumerThatTheHostWaitsFor) {
  for_each_seed([](EngineRun& run) { prefetch(run, run.random.between(1, 6), true); });
}

TEST(Prefetch, HasEveryByteWhileTheHostRunsFarAhead) {
  for_each_seed([](EngineRun& run) { prefetch(run, run.random.between(4, 10), false); });
}

// Copy in, compute, copy out, in three lanes with as many slots as the depth says: memory of the devices is bounded.
TEST(Pipeline, BringsEveryResultBackThroughBoundedSlots) {
  for_each_seed([](EngineRun& run) {
    const Stream compute = run.some_stream(0);
    const std::size_t depth = run.random.between(1, 3);
    const std::size_t size_bytes =
        run.random.between(1, 2 * run.settings.chunk_bytes) + (run.random.one_in(3) ? Engine::kInStreamBytes : 0);
    struct Item {
      std::unique_ptr<HostBlock> in;
      std::shared_ptr<HostBlock> out;
      std::vector<std::byte> expected;
      DeviceAddress device = 0;
      std::unique_ptr<Transfer> up;
      std::unique_ptr<Transfer> down;
    };
    std::vector<DeviceAddress> slots;
    for (std::size_t i = 0; i < depth; ++i) slots.push_back(run.allocator.allocate(0, compute, size_bytes));
    std::deque<Item> under_way;
    const auto finish_oldest = [&] {
      Item item = std::move(under_way.front());
      under_way.pop_front();
      ASSERT_TRUE(item.down->wait());
      EXPECT_EQ(std::memcmp(item.out->data(), item.expected.data(), size_bytes), 0);
      EXPECT_TRUE(item.out->is_intact());
      // Now the slot is free: the copy out has been waited for.
      slots.push_back(item.device);
    };
    for (std::size_t count = run.random.between(1, 6); count > 0; --count) {
      if (slots.empty()) finish_oldest();
      Item item;
      item.in = std::make_unique<HostBlock>(run.simulation, size_bytes, false);
      item.out = std::make_shared<HostBlock>(run.simulation, size_bytes, run.random.one_in(3));
      item.device = slots.back();
      slots.pop_back();
      fill(run.random, item.in->data(), size_bytes);
      item.expected.assign(item.in->data(), item.in->data() + size_bytes);
      for (std::byte& byte : item.expected) byte = ~byte;
      const Piece in{.host = item.in->data(), .device = item.device, .size_bytes = size_bytes};
      auto up = run.engine->upload_ahead(0, {&in, 1}, compute, nullptr);
      ASSERT_TRUE(up);
      ASSERT_TRUE((*up)->wait_on(0, compute));
      item.up = std::move(*up);
      run.simulation.launch(0, compute,
                            {.name = "the kernel of the pipeline",
                             .updates = {simulated::range_of(item.device, size_bytes)},
                             .steps = run.random.below(4),
                             .body = [&run, device = item.device, size_bytes] {
                               std::byte* bytes = run.simulation.bytes(device);
                               for (std::size_t i = 0; i < size_bytes; ++i) bytes[i] = ~bytes[i];
                             }});
      const Piece out{.host = item.out->data(),
                      .device = item.device,
                      .size_bytes = size_bytes,
                      .is_pinned = item.out->is_pinned()};
      auto down = run.engine->download_behind(0, {&out, 1}, compute, run.watched(item.out));
      ASSERT_TRUE(down);
      item.down = std::move(*down);
      under_way.push_back(std::move(item));
    }
    while (!under_way.empty()) finish_oldest();
  });
}

// A loss of every step, read some steps later; its memory is the next step's at once.
TEST(Fetch, ReadsAScalarThatIsOverwrittenAtOnce) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.some_stream(0);
    const DeviceAddress loss = run.allocator.allocate(0, stream, 4);
    struct Scalar {
      std::shared_ptr<std::uint32_t> value = std::make_shared<std::uint32_t>(0);
      std::uint32_t expected = 0;
      std::unique_ptr<Transfer> transfer;
    };
    std::vector<Scalar> scalars;
    for (std::uint32_t step = 0; step < 20; ++step) {
      run.simulation.launch(
          0, stream,
          {.name = "the kernel that makes a loss",
           .writes = {simulated::range_of(loss, 4)},
           .body = [&run, loss, step] { std::memcpy(run.simulation.bytes(loss), &step, sizeof step); }});
      Scalar scalar;
      scalar.expected = step;
      const Piece piece{.host = scalar.value.get(), .device = loss, .size_bytes = 4};
      auto transfer = run.engine->download_behind(0, {&piece, 1}, stream, run.watched(scalar.value));
      ASSERT_TRUE(transfer);
      scalar.transfer = std::move(*transfer);
      scalars.push_back(std::move(scalar));
      for (Scalar& one : scalars) {
        if (one.transfer && one.transfer->is_done()) {
          EXPECT_EQ(*one.value, one.expected);
          one.transfer.reset();
        }
      }
    }
    for (Scalar& one : scalars) {
      if (!one.transfer) continue;
      ASSERT_TRUE(one.transfer->wait());
      EXPECT_EQ(*one.value, one.expected);
    }
  });
}

}  // namespace
}  // namespace turnpike::move
