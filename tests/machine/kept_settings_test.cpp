// The file of what was calibrated.
#include "machine/kept_settings.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace turnpike::machine {
namespace {

using move::Calibration;
using move::Settings;
using move::Store;
using ::testing::HasSubstr;

// Gives each test a cache folder of its own.
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

TEST_F(KeptSettings, KeepTheLettersOfAName) {
  ASSERT_TRUE(keep_settings(calibration("A GPU \xC3\xA9", 5)));
  EXPECT_THAT(read(), HasSubstr("A GPU \xC3\xA9"));
  const auto kept = kept_settings("A GPU \xC3\xA9");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->threads, 5u);
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

}  // namespace
}  // namespace turnpike::machine
