// Opens the engine, puts kernels around its copies, and looks at what is left.
#include "engine_run.h"

#include <cstring>

namespace turnpike::move {

Settings some_settings(simulated::Random& random) {
  static constexpr unsigned int kThreads[] = {1, 2, 4};
  static constexpr std::size_t kChunks[] = {4096, 4096, 8192, 32768};
  static constexpr std::size_t kSlots[] = {2, 2, 3, 8};
  Settings settings;
  settings.threads = random.of(kThreads);
  settings.chunk_bytes = random.of(kChunks);
  settings.pinned_bytes = settings.chunk_bytes * random.of(kSlots);
  static constexpr Store kStores[] = {Store::kPlain, Store::kStreaming, Store::kString};
  static constexpr unsigned int kGatherers[] = {1, 2, 12};
  settings.store = random.of(kStores);
  settings.gatherers = random.of(kGatherers);
  return settings;
}

EngineRun::EngineRun(std::uint64_t its_seed, const simulated::Options& options, const Settings& its_settings)
    : seed(its_seed),
      random(its_seed ^ 0xABCD),
      simulation(its_seed, options),
      allocator(simulation),
      settings(its_settings) {
  simulation.set_device(0);
  auto opened = Engine::open(simulation.driver(), settings);
  EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
  if (opened) engine = std::move(*opened);
  shape.chunk_bytes = settings.chunk_bytes;
}

EngineRun::EngineRun(std::uint64_t its_seed, const simulated::Options& options)
    : EngineRun(its_seed, options, [its_seed] {
        simulated::Random chosen(its_seed + 77);
        return some_settings(chosen);
      }()) {}

EngineRun::~EngineRun() {
  EXPECT_TRUE(has_ended_);
}

Place EngineRun::place_in(int device, Stream stream) {
  return [this, device, stream](std::size_t size_bytes) { return allocator.allocate(device, stream, size_bytes); };
}

namespace {

// The cargo's device memory goes back to the allocator with the cargo.
std::shared_ptr<Cargo> freed_at_the_end(simulated::SimulatedAllocator& allocator, std::shared_ptr<Cargo> cargo) {
  Cargo* bare = cargo.get();
  return {bare, [&allocator, kept = std::move(cargo)](Cargo* one) {
            for (const simulated::Range group : one->groups) allocator.free(group.begin);
          }};
}

}  // namespace

std::shared_ptr<Cargo> EngineRun::some_upload(int device, Stream stream) {
  return freed_at_the_end(allocator, upload_cargo(simulation, random, shape, place_in(device, stream)));
}

std::shared_ptr<Cargo> EngineRun::some_download(int device, Stream stream, std::size_t most_bytes) {
  Shape its_shape = shape;
  its_shape.most_bytes = most_bytes;
  if (most_bytes > 0) its_shape.most_groups = 1;
  return freed_at_the_end(allocator, download_cargo(simulation, random, its_shape, place_in(device, stream)));
}

// Kernels know the bytes, not the cargo: they must not keep its memory alive.
void EngineRun::put_on_device(int device, Stream stream, const std::shared_ptr<Cargo>& cargo) {
  simulation.launch(device, stream,
                    {.name = "the kernel that makes the cargo",
                     .writes = cargo->ranges(),
                     .steps = some_steps(),
                     .body = [this, stretches = cargo->stretches] {
                       for (const Cargo::Stretch& stretch : stretches) {
                         if (stretch.bytes.empty()) continue;
                         std::memcpy(simulation.bytes(stretch.device), stretch.bytes.data(), stretch.bytes.size());
                       }
                     }});
}

void EngineRun::expect_on_device(int device, Stream stream, const std::shared_ptr<Cargo>& cargo) {
  simulation.launch(device, stream,
                    {.name = "the kernel that reads the cargo",
                     .reads = cargo->ranges(),
                     .steps = some_steps(),
                     .body = [this, stretches = cargo->stretches] {
                       for (const Cargo::Stretch& stretch : stretches) {
                         if (stretch.bytes.empty()) continue;
                         const std::byte* there = simulation.bytes(stretch.device);
                         if (std::memcmp(there, stretch.bytes.data(), stretch.bytes.size()) != 0) ++wrong;
                       }
                     }});
}

void EngineRun::overwrite_on_device(int device, Stream stream, const std::shared_ptr<Cargo>& cargo) {
  simulation.launch(device, stream, {.name = "the kernel that overwrites the cargo", .writes = cargo->ranges()});
}

std::shared_ptr<void> EngineRun::watched(std::shared_ptr<void> owner) {
  // Its own end, not that of what it holds: the test holds that too.
  std::shared_ptr<void> holder(owner.get(), [owner](void*) {});
  watched_.push_back(holder);
  return holder;
}

void EngineRun::end() {
  has_ended_ = true;
  EXPECT_EQ(simulation.current_device(), 0) << "the engine left another context current";
  EXPECT_EQ(simulation.capture_mode(), cuda::kCaptureModeGlobal) << "the engine left another capture mode";
  engine.reset();
  for (const auto& owner : watched_) EXPECT_TRUE(owner.expired()) << "an owner is held for ever";
  simulation.finish();
  EXPECT_THAT(simulation.violations_text(), ::testing::IsEmpty());
  if (!may_leak) {
    EXPECT_THAT(simulation.leaks(), ::testing::IsEmpty());
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(simulation.most_pinned_bytes(), settings.pinned_bytes + more_pinned_bytes);
}

void transfer_something(EngineRun& run, simulated::Random& random, int device, Stream stream) {
  const auto place = [&](std::size_t size_bytes) { return run.allocator.allocate(device, stream, size_bytes); };
  const std::size_t kind = random.below(4);
  if (kind < 2) {
    const auto cargo = upload_cargo(run.simulation, random, run.shape, place);
    if (kind == 0) {
      ASSERT_TRUE(run.engine->upload(device, cargo->pieces, stream, cargo));
    } else {
      auto transfer = run.engine->upload_ahead(device, cargo->pieces, stream, cargo);
      ASSERT_TRUE(transfer);
      ASSERT_TRUE((*transfer)->wait_on(device, stream));
    }
    run.expect_on_device(device, stream, cargo);
    return;
  }
  const auto cargo = download_cargo(run.simulation, random, run.shape, place);
  run.put_on_device(device, stream, cargo);
  if (kind == 2) {
    ASSERT_TRUE(run.engine->download(device, cargo->pieces, stream));
  } else {
    auto transfer = run.engine->download_behind(device, cargo->pieces, stream, cargo);
    ASSERT_TRUE(transfer);
    if (random.one_in(4)) return;  // abandoned
    ASSERT_TRUE((*transfer)->wait());
  }
  EXPECT_TRUE(cargo->has_arrived());
  EXPECT_TRUE(cargo->is_intact());
}

}  // namespace turnpike::move
