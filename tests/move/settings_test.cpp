// The limits of the settings, what of the page-locked memory is for what, and the file of what was calibrated.
#include <gmock/gmock.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

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

// The file of what was calibrated, in a folder of its own.
class KeptSettings : public ::testing::Test {
 protected:
  KeptSettings() {
    const char* before = std::getenv("XDG_CACHE_HOME");
    if (before != nullptr) before_ = before;
    std::string name = std::filesystem::temp_directory_path() / "turnpike-settings-XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    char host[HOST_NAME_MAX + 1]{};
    gethostname(host, HOST_NAME_MAX);
    host_ = host;
  }
  ~KeptSettings() override {
    if (before_) {
      setenv("XDG_CACHE_HOME", before_->c_str(), 1);
    } else {
      unsetenv("XDG_CACHE_HOME");
    }
    std::filesystem::remove_all(folder_);
  }
  std::filesystem::path path() const { return folder_ / "turnpike" / "move.json"; }
  void write(const std::string& text) const {
    std::filesystem::create_directories(path().parent_path());
    std::ofstream(path()) << text;
  }
  std::string read() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  std::string entry(const std::string& host, const std::string& name, const std::string& more = "") const {
    return R"({"host": ")" + host + R"(", "device_name": ")" + name + R"(", "threads": 3, "chunk_bytes": 8192)" + more +
           "}";
  }
  static std::string document(const std::string& machines) {
    return R"({"schema": 1, "machines": [)" + machines + "]}";
  }
  static Calibration calibration(const std::string& name, unsigned int threads) {
    Calibration made;
    made.device_name = name;
    made.settings.threads = threads;
    made.settings.chunk_bytes = 12288;
    made.settings.store = Store::kString;
    made.best.h2d_gbps = 50.5;
    made.best.d2h_gbps = 40.25;
    return made;
  }

  std::filesystem::path folder_;
  std::string host_;
  std::optional<std::string> before_;
};

TEST_F(KeptSettings, AreNoneBeforeAnythingWasCalibrated) {
  const auto kept = kept_settings("A GPU");
  ASSERT_TRUE(kept);
  EXPECT_FALSE(*kept);
}

TEST_F(KeptSettings, AreThoseOfThisHostAndThatKindOfGpu) {
  write(document(entry("another host", "A GPU", R"(, "store": "string")") + "," + entry(host_, "Another GPU") + "," +
                 entry(host_, "A GPU", R"(, "store": "plain")")));
  const auto kept = kept_settings("A GPU");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->threads, 3U);
  EXPECT_EQ((*kept)->chunk_bytes, 8192U);
  EXPECT_EQ((*kept)->store, Store::kPlain);
  EXPECT_EQ((*kept)->pinned_bytes, Settings{}.pinned_bytes);
  EXPECT_EQ((*kept)->gatherers, Settings{}.gatherers);
  const auto none = kept_settings("A third GPU");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST_F(KeptSettings, OfAnOlderTurnpikeHaveTheUsualStore) {
  for (const std::string more : {"", R"(, "store": "by magic")"}) {
    write(document(entry(host_, "A GPU", more)));
    const auto kept = kept_settings("A GPU");
    ASSERT_TRUE(kept && *kept);
    EXPECT_EQ((*kept)->store, Store::kStreaming);
  }
}

TEST_F(KeptSettings, AreWrittenBesideThoseOfOtherMachines) {
  write(document(entry("another host", "A GPU") + "," + entry(host_, "A GPU")));
  ASSERT_TRUE(keep_settings(calibration("A GPU", 5)));
  EXPECT_EQ(read(), R"({
  "schema": 1,
  "machines": [
    {
      "host": "another host",
      "device_name": "A GPU",
      "threads": 3,
      "chunk_bytes": 8192
    },
    {
      "host": ")" + host_ +
                        R"(",
      "device_name": "A GPU",
      "threads": 5,
      "chunk_bytes": 12288,
      "h2d_gbps": 50.5,
      "d2h_gbps": 40.25,
      "store": "string"
    }
  ]
}
)");
  ASSERT_TRUE(keep_settings(calibration("Another GPU", 7)));
  const auto kept = kept_settings("A GPU");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->threads, 5U);
  EXPECT_EQ((*kept)->store, Store::kString);
  EXPECT_EQ((*kept_settings("Another GPU"))->threads, 7U);
}

TEST_F(KeptSettings, ThatCannotBeUnderstoodAreAnErrorAndAreReplaced) {
  const std::pair<std::string, std::string> broken[] = {
      {R"({"schema": 2, "machines": []})", " is of a newer Turnpike. Remove it."},
      {"no JSON", " is damaged ("},
      {R"({"schema": 1})", " is damaged ("},
      {document("{}"), " is damaged ("},
      {document(R"({"host": "a", "device_name": "b", "threads": "many", "chunk_bytes": 1})"), " is damaged ("},
      {document(R"({"host": "a", "device_name": "b", "threads": 1})"), " is damaged ("},
      {document(R"({"host": 1, "device_name": "b", "threads": 1, "chunk_bytes": 1})"), " is damaged ("},
      {document(R"({"host": "a", "device_name": 2, "threads": 1, "chunk_bytes": 1})"), " is damaged ("},
      {document(R"({"host": "a", "device_name": "b", "threads": 1, "chunk_bytes": 1, "store": 3})"), " is damaged ("}};
  for (const auto& [text, sentence] : broken) {
    write(text);
    const auto kept = kept_settings("A GPU");
    ASSERT_FALSE(kept) << text;
    EXPECT_THAT(kept.error().message, HasSubstr(path().string() + sentence));
    ASSERT_TRUE(keep_settings(calibration("A GPU", 5)));
    EXPECT_EQ((*kept_settings("A GPU"))->threads, 5U);
  }
}

TEST_F(KeptSettings, NeedAFolder) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  const auto kept = kept_settings("A GPU");
  const Status status = keep_settings(calibration("A GPU", 5));
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
  ASSERT_TRUE(kept);
  EXPECT_FALSE(*kept);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "neither XDG_CACHE_HOME nor HOME is set");
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
