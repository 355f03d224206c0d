// The limits of the settings, and what of the page-locked memory is for what.
#include <gmock/gmock.h>

#include "engine_run.h"
#include "move/calibrate.h"
#include "move/state.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kChunk = 4096;

TEST(MoveSettings, AreTakenAtTheirLimits) {
  for (const Settings& settings : {Settings{.threads = 1, .chunk_bytes = kChunk, .pinned_bytes = 2 * kChunk},
                                   Settings{.threads = 64, .chunk_bytes = 3 * kChunk, .pinned_bytes = 6 * kChunk},
                                   Settings{.gatherers = 1}, Settings{}}) {
    EXPECT_TRUE(check_settings(settings));
  }
}

TEST(MoveSettings, BeyondTheirLimitsSayWhatIsWrong) {
  const std::pair<Settings, std::string> wrong[] = {
      {{.threads = 0}, "threads must be 1 to 64, not 0"},
      {{.threads = 65}, "threads must be 1 to 64, not 65"},
      {{.gatherers = 0}, "gatherers must be at least 1"},
      {{.chunk_bytes = 0}, "chunk_bytes must be a multiple of 4096, not 0"},
      {{.chunk_bytes = kChunk - 1}, "chunk_bytes must be a multiple of 4096, not 4095"},
      {{.chunk_bytes = kChunk + 1}, "chunk_bytes must be a multiple of 4096, not 4097"},
      {{.chunk_bytes = kChunk, .pinned_bytes = 2 * kChunk - 1},
       "pinned_bytes must be at least two chunks of 4096 bytes, not 8191"},
      {{.chunk_bytes = kChunk, .pinned_bytes = 0}, "pinned_bytes must be at least two chunks of 4096 bytes, not 0"}};
  for (const auto& [settings, sentence] : wrong) {
    const Status status = check_settings(settings);
    ASSERT_FALSE(status) << sentence;
    EXPECT_EQ(status.error().message, sentence);
  }
}

TEST(MoveSettings, HaveTheseDefaults) {
  const Settings settings;
  EXPECT_EQ(settings.threads, 8U);
  EXPECT_EQ(settings.chunk_bytes, std::size_t{4} << 20);
  EXPECT_EQ(settings.pinned_bytes, std::size_t{64} << 20);
  EXPECT_EQ(settings.gatherers, 12U);
  EXPECT_EQ(settings.store, Store::kStreaming);
}

// What a first small download page-locks: the ring of small downloads.
std::size_t for_small_downloads(std::size_t pinned_bytes) {
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce},
                {.threads = 1, .chunk_bytes = kChunk, .pinned_bytes = pinned_bytes});
  const Stream stream = run.simulation.make_stream(0);
  std::byte byte{};
  const Piece piece{.host = &byte, .device = run.simulation.device_memory(0, 1), .size_bytes = 1};
  auto transfer = run.engine->download_behind(0, {&piece, 1}, stream, nullptr);
  EXPECT_TRUE(transfer && (*transfer)->wait());
  const std::size_t pinned = run.engine->stats().pinned_bytes;
  transfer->reset();
  run.end();
  return pinned;
}

TEST(MoveSettings, AnEighthOfThePageLockedMemoryIsForSmallDownloads) {
  EXPECT_EQ(for_small_downloads(std::size_t{64} << 20), std::size_t{1} << 20);
  EXPECT_EQ(for_small_downloads(std::size_t{8} << 20), std::size_t{1} << 20);
  EXPECT_EQ(for_small_downloads((std::size_t{8} << 20) - 8), (std::size_t{1} << 20) - 4096);
  EXPECT_EQ(for_small_downloads(20 * kChunk), 2 * kChunk);
  EXPECT_EQ(for_small_downloads(2 * kChunk), kChunk);
}

TEST(Stores, HaveNames) {
  for (const auto& [store, name] : {std::pair{Store::kPlain, "plain"}, std::pair{Store::kStreaming, "streaming"},
                                    std::pair{Store::kString, "string"}}) {
    EXPECT_STREQ(name_of(store), name);
    EXPECT_EQ(store_of(name), store);
  }
  EXPECT_EQ(store_of("by magic"), std::nullopt);
  EXPECT_EQ(store_of(""), std::nullopt);
}

}  // namespace
}  // namespace turnpike::move
