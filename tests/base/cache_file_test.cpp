// Where cache files lie, and that one takes the place of another as a whole.
#include "base/cache_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace turnpike {
namespace {

namespace fs = std::filesystem;

class CacheFile : public testing::Test {
 protected:
  CacheFile() {
    std::string pattern = (fs::temp_directory_path() / "cache-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    for (const char* name : kVariables) {
      const char* value = std::getenv(name);
      values_.push_back(value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(name);
    }
  }
  ~CacheFile() override {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i]) {
        ::setenv(kVariables[i], values_[i]->c_str(), 1);
      } else {
        ::unsetenv(kVariables[i]);
      }
    }
    fs::remove_all(folder_);
  }

  static std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static constexpr const char* kVariables[] = {"XDG_CACHE_HOME", "HOME"};
  fs::path folder_;
  std::vector<std::optional<std::string>> values_;
};

TEST_F(CacheFile, LiesInTheCacheOfTheUser) {
  EXPECT_EQ(cache_path("link.json"), "");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(cache_path("link.json"), "/home/me/.cache/turnpike/link.json");
  ::setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(cache_path("link.json"), "/home/me/.cache/turnpike/link.json");
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(cache_path("link.json"), "/cache/turnpike/link.json");
}

TEST_F(CacheFile, IsMadeWithItsFoldersAndReplaced) {
  const fs::path path = folder_ / "a" / "b" / "link.json";
  ASSERT_TRUE(write_cache_file(path, "the first, which is longer"));
  EXPECT_EQ(text_of(path), "the first, which is longer");
  ASSERT_TRUE(write_cache_file(path, "two"));
  EXPECT_EQ(text_of(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1) << "nothing unfinished is left";
}

TEST_F(CacheFile, IsLeftAsItWasWhenItCannotBeWritten) {
  const fs::path path = folder_ / "link.json";
  fs::create_directories(path / "inside");
  const Status written = write_cache_file(path, "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "cannot write " + path.string() + ": Is a directory");
  EXPECT_TRUE(fs::exists(path / "inside"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "nothing unfinished is left";
}

}  // namespace
}  // namespace turnpike
