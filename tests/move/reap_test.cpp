// What every call of the engine does for the transfers before it: it brings small downloads that have arrived, and lets
// their owners go.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine_run.h"

namespace turnpike::move {
namespace {

constexpr std::size_t kBytes = 24;
constexpr Settings kSmall{.threads = 1, .chunk_bytes = 4096, .pinned_bytes = 10 * 4096};

// A small download that nobody asks about.
class Unasked {
 public:
  explicit Unasked(EngineRun& run) {
    const DeviceAddress device = run.simulation.device_memory(0, kBytes);
    std::fill_n(run.simulation.bytes(device), kBytes, std::byte{7});
    auto owner = run.watched(bytes_);
    owner_ = owner;
    const Piece piece{.host = bytes_->data(), .device = device, .size_bytes = kBytes};
    auto started = run.engine->download_behind(0, {&piece, 1}, run.simulation.make_stream(0), std::move(owner));
    EXPECT_TRUE(started);
    if (started) transfer_ = std::move(*started);
    EXPECT_FALSE(has_arrived());
  }
  bool has_arrived() const { return bytes_->front() == std::byte{7} && bytes_->back() == std::byte{7}; }
  bool is_owned() const { return !owner_.expired(); }
  Transfer& transfer() const { return *transfer_; }

 private:
  std::shared_ptr<std::vector<std::byte>> bytes_ = std::make_shared<std::vector<std::byte>>(kBytes);
  std::weak_ptr<void> owner_;
  std::unique_ptr<Transfer> transfer_;
};

// The calls of the engine, each with what it is for.
struct Calls {
  explicit Calls(EngineRun& its_run)
      : run(its_run),
        stream(run.simulation.make_stream(0)),
        device(run.simulation.device_memory(0, memory.size())),
        piece{.host = memory.data(), .device = device, .size_bytes = memory.size()} {}

  void upload() { EXPECT_TRUE(run.engine->upload(0, {&piece, 1}, stream)); }
  void download() { EXPECT_TRUE(run.engine->download(0, {&piece, 1}, stream)); }
  void upload_ahead() { expect_done(run.engine->upload_ahead(0, {&piece, 1}, stream, nullptr)); }
  void download_behind_of_little() {
    const Piece little{.host = memory.data(), .device = device, .size_bytes = 100};
    expect_done(run.engine->download_behind(0, {&little, 1}, stream, nullptr));
  }
  void download_behind_of_much() { expect_done(run.engine->download_behind(0, {&piece, 1}, stream, nullptr)); }
  void copy_peer() { expect_done(run.engine->copy_peer(0, device, stream, 0, device + 50000, stream, 50000, nullptr)); }
  void configure() { EXPECT_TRUE(run.engine->configure(kSmall)); }
  void release_pinned() { run.engine->release_pinned(); }
  void reap() { run.engine->reap(); }

  // It is dropped only after the look at what the call has brought.
  void expect_done(Result<std::unique_ptr<Transfer>> started) {
    EXPECT_TRUE(started);
    if (started) transfer = std::move(*started);
  }

  EngineRun& run;
  Stream stream;
  std::vector<std::byte> memory = std::vector<std::byte>(100000);
  DeviceAddress device;
  Piece piece;
  std::unique_ptr<Transfer> transfer;
};

TEST(Reaping, IsPartOfEveryCallOfTheEngine) {
  const std::pair<const char*, void (Calls::*)()> cases[] = {
      {"upload", &Calls::upload},
      {"download", &Calls::download},
      {"upload_ahead", &Calls::upload_ahead},
      {"download_behind of little", &Calls::download_behind_of_little},
      {"download_behind of much", &Calls::download_behind_of_much},
      {"copy_peer", &Calls::copy_peer},
      {"configure", &Calls::configure},
      {"release_pinned", &Calls::release_pinned},
      {"reap", &Calls::reap}};
  for (const auto& [name, call] : cases) {
    SCOPED_TRACE(name);
    EngineRun run(1, {.pace = simulated::Pace::kOnlyWhenAsked}, kSmall);
    {
      Calls calls(run);
      const Unasked first(run);
      const Unasked second(run);
      run.simulation.finish();
      EXPECT_FALSE(first.has_arrived() || second.has_arrived()) << "nobody has brought them";
      (calls.*call)();
      EXPECT_TRUE(first.has_arrived() && second.has_arrived());
      EXPECT_FALSE(first.is_owned() || second.is_owned());
      EXPECT_TRUE(calls.transfer == nullptr || calls.transfer->wait());
    }
    run.end();
  }
}

// Owners of page-locked memory go, too: now, and not when the engine's own thread looks next.
TEST(Reaping, LetsGoOfPageLockedMemory) {
  for (const auto call : {&Calls::configure, &Calls::reap}) {
    EngineRun run(1, {.pace = simulated::Pace::kOnlyWhenAsked}, kSmall);
    Calls calls(run);
    const DeviceAddress device = run.simulation.device_memory(0, 5000);
    std::vector<std::weak_ptr<void>> watched;
    for (int i = 0; i < 4; ++i) {
      auto block = std::make_shared<HostBlock>(run.simulation, 5000, true);
      const Piece piece{.host = block->data(), .device = device, .size_bytes = 5000, .is_pinned = true};
      auto owner = run.watched(std::move(block));
      watched.push_back(owner);
      ASSERT_TRUE(run.engine->upload(0, {&piece, 1}, calls.stream, std::move(owner)));
    }
    run.simulation.finish();
    (calls.*call)();
    for (const auto& owner : watched) EXPECT_TRUE(owner.expired());
    run.end();
  }
}

TEST(Reaping, IsDoneOnceMoreAtTheEnd) {
  EngineRun run(1, {.pace = simulated::Pace::kOnlyWhenAsked}, kSmall);
  {
    const Unasked unasked(run);
    run.simulation.finish();
    run.engine.reset();
    EXPECT_TRUE(unasked.has_arrived());
    EXPECT_FALSE(unasked.is_owned());
  }
  run.end();
}

// Streams run at different speeds. The first that has not arrived holds back those after it, and nobody waits for it.
TEST(Reaping, StopsAtTheFirstThatHasNotArrived) {
  EngineRun run(1, {.pace = simulated::Pace::kOnlyWhenAsked}, kSmall);
  {
    const Unasked first(run);
    const Stream slow = run.simulation.make_stream(0);
    const auto held = run.simulation.hold(0, slow);
    std::byte byte{};
    const Piece piece{.host = &byte, .device = run.simulation.device_memory(0, 1), .size_bytes = 1};
    auto second = run.engine->download_behind(0, {&piece, 1}, slow, nullptr);
    ASSERT_TRUE(second);
    const Unasked third(run);
    while (!third.transfer().is_done()) EXPECT_FALSE(third.has_arrived());
    EXPECT_TRUE(third.has_arrived()) << "whoever asks for it gets it";
    while (!first.has_arrived()) run.engine->reap();
    EXPECT_FALSE((*second)->is_done());
    EXPECT_EQ(run.engine->release_pinned(), 0U) << "it is in use";
    run.simulation.let_go(held);
    EXPECT_TRUE((*second)->wait());
    EXPECT_EQ(run.engine->release_pinned(), 4096U);
    EXPECT_EQ(run.engine->release_pinned(), 0U);
  }
  run.end();
}

// The copies have run, and nobody has said so yet.
TEST(Reaping, OfATransferThatIsDroppedIsDoneAtOnceWhereItsCopiesHaveRun) {
  EngineRun run(1, {.pace = simulated::Pace::kOnlyWhenAsked}, kSmall);
  const Stream stream = run.simulation.make_stream(0);
  auto block = std::make_shared<HostBlock>(run.simulation, 5000, true);
  const Piece piece{
      .host = block->data(), .device = run.simulation.device_memory(0, 5000), .size_bytes = 5000, .is_pinned = true};
  auto owner = run.watched(std::move(block));
  const std::weak_ptr<void> watched = owner;
  auto transfer = run.engine->upload_ahead(0, {&piece, 1}, stream, std::move(owner));
  ASSERT_TRUE(transfer);
  run.simulation.finish();
  transfer->reset();
  EXPECT_TRUE(watched.expired());
  run.end();
}

}  // namespace
}  // namespace turnpike::move
