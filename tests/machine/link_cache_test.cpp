// The file of measured link rates.
#include "machine/link_cache.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace turnpike::machine {
namespace {

using ::testing::HasSubstr;

class LinkCache : public ::testing::Test {
 protected:
  LinkCache() {
    std::string pattern = ::testing::TempDir() + "link_cache_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "not/yet/made/link.json").string();
  }
  ~LinkCache() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    std::ofstream(path_) << text;
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(LinkCache, IsEmptyWithoutAFile) {
  const auto links = read_link_cache(path_);
  ASSERT_TRUE(links);
  EXPECT_TRUE(links->empty());
}

TEST_F(LinkCache, GivesBackWhatWasKept) {
  ASSERT_TRUE(keep_links(path_, {{"Some GPU", "here", 55.25, 54.5, "2026-11-20T22:00:00Z"}}));
  const auto links = read_link_cache(path_);
  ASSERT_TRUE(links);
  const KeptLink* link = find_link(*links, "Some GPU", "here");
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->h2d_pinned_gbps, 55.25);
  EXPECT_EQ(link->d2h_pinned_gbps, 54.5);
  EXPECT_EQ(link->date, "2026-11-20T22:00:00Z");
  EXPECT_EQ(find_link(*links, "Some GPU", "elsewhere"), nullptr);
  EXPECT_EQ(find_link(*links, "Other GPU", "here"), nullptr);
}

TEST_F(LinkCache, GivesBackWhatWasKeptOfCopiesIntoCaches) {
  ASSERT_TRUE(keep_links(path_, {{"A", "here", 55, 54, "", 31.75}, {"B", "here", 55, 54, ""}}));
  const auto links = read_link_cache(path_);
  ASSERT_TRUE(links);
  EXPECT_EQ(find_link(*links, "A", "here")->d2h_cached_gbps, 31.75);
  EXPECT_EQ(find_link(*links, "B", "here")->d2h_cached_gbps, std::nullopt) << "as in a file from before";
}

TEST_F(LinkCache, ReplacesOnlyTheSameDeviceOnTheSameHost) {
  ASSERT_TRUE(keep_links(path_, {{"A", "here", 1, 1, "old"}, {"A", "there", 2, 2, "old"}, {"B", "here", 3, 3, "old"}}));
  ASSERT_TRUE(keep_links(path_, {{"A", "here", 10, 10, "new"}}));
  const auto links = read_link_cache(path_);
  ASSERT_TRUE(links);
  EXPECT_EQ(links->size(), 3u);
  EXPECT_EQ(find_link(*links, "A", "here")->date, "new");
  EXPECT_EQ(find_link(*links, "A", "there")->date, "old");
  EXPECT_EQ(find_link(*links, "B", "here")->date, "old");
}

TEST_F(LinkCache, RefusesDamageWithAWayOut) {
  for (const char* text : {"", "{", "[]", "{\"schema\":1}", "{\"schema\":1,\"links\":[{\"device_name\":7}]}",
                           R"({"schema":1,"links":[{"device_name":"A","host":"here","h2d_pinned_gbps":1,)"
                           R"("d2h_pinned_gbps":1,"d2h_cached_gbps":"fast","date":""}]})"}) {
    write(text);
    const auto links = read_link_cache(path_);
    ASSERT_FALSE(links) << text;
    EXPECT_THAT(links.error().message, HasSubstr("Remove it"));
  }
}

TEST_F(LinkCache, RefusesANewerSchema) {
  write("{\"schema\":2,\"links\":[]}");
  const auto links = read_link_cache(path_);
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message, HasSubstr("newer"));
}

TEST_F(LinkCache, LeavesADamagedFileAlone) {
  write("mine");
  EXPECT_FALSE(keep_links(path_, {{"A", "here", 1, 1, "new"}}));
  std::string text;
  std::ifstream(path_) >> text;
  EXPECT_EQ(text, "mine");
}

TEST_F(LinkCache, SaysWhereItCannotWrite) {
  write("{\"schema\":1,\"links\":[]}");
  const auto kept = keep_links(path_ + "/below-a-file", {{"A", "here", 1, 1, "new"}});
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("cannot write"));
}

TEST_F(LinkCache, IsWrittenAsOthersReadIt) {
  ASSERT_TRUE(keep_links(path_, {{"Some G\xc3\xbcPU", "here", 55.25, 54.5, "2026-11-20T22:00:00Z"}}));
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), R"({
  "schema": 1,
  "links": [
    {
      "device_name": "Some GüPU",
      "host": "here",
      "h2d_pinned_gbps": 55.25,
      "d2h_pinned_gbps": 54.5,
      "date": "2026-11-20T22:00:00Z"
    }
  ]
}
)");
}

// What older readers know stays as it was: the schema, and the names.
TEST_F(LinkCache, AddsOneKeyForCopiesIntoCaches) {
  ASSERT_TRUE(keep_links(path_, {{"Some GPU", "here", 55.25, 54.5, "2026-11-20T22:00:00Z", 31.75}}));
  std::ifstream file(path_);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), R"({
  "schema": 1,
  "links": [
    {
      "device_name": "Some GPU",
      "host": "here",
      "h2d_pinned_gbps": 55.25,
      "d2h_pinned_gbps": 54.5,
      "d2h_cached_gbps": 31.75,
      "date": "2026-11-20T22:00:00Z"
    }
  ]
}
)");
}

TEST_F(LinkCache, KeepsTheLastOfTwoOfOneName) {
  ASSERT_TRUE(keep_links(path_, {{"A", "here", 1, 2, "first"}, {"A", "here", 3, 4, "second"}}));
  const auto links = read_link_cache(path_);
  ASSERT_TRUE(links);
  ASSERT_EQ(links->size(), 1u);
  EXPECT_EQ(links->front().date, "second");
}

}  // namespace
}  // namespace turnpike::machine
