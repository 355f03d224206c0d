// Which device of which machine gets which kept rate.
#include "machine/link_rates.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "machine/link_cache.h"

namespace turnpike::machine {
namespace {

// Gives each test a cache directory of its own, in which one device was measured.
class KeptLinkRates : public ::testing::Test {
 protected:
  KeptLinkRates() {
    std::string pattern = ::testing::TempDir() + "kept_link_rates_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    EXPECT_TRUE(keep_links(link_cache_path(), {{"Some GPU", "here", 55.25, 54.5, "2026-11-20T22:00:00Z", 31.75},
                                               {"Old GPU", "here", 25, 24, "2026-11-20T22:00:00Z"}}));
  }
  ~KeptLinkRates() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(KeptLinkRates, AreThoseOfTheDeviceAndTheMachine) {
  const auto rates = kept_link_rates();
  ASSERT_TRUE(rates);
  EXPECT_EQ((*rates)("Some GPU", "here").h2d_gbps, 55.25);
  EXPECT_EQ((*rates)("Some GPU", "here").d2h_gbps, 54.5);
  EXPECT_EQ((*rates)("Some GPU", "here").d2h_cached_gbps, 31.75);
  EXPECT_EQ((*rates)("Old GPU", "here").d2h_gbps, 24);
  EXPECT_EQ((*rates)("Old GPU", "here").d2h_cached_gbps, std::nullopt);
  EXPECT_EQ((*rates)("Some GPU", "elsewhere").h2d_gbps, std::nullopt);
  EXPECT_EQ((*rates)("New GPU", "here").d2h_gbps, std::nullopt);
}

TEST_F(KeptLinkRates, SayWhenTheFileCannotBeUnderstood) {
  std::ofstream(link_cache_path()) << "no JSON";
  const auto rates = kept_link_rates();
  ASSERT_FALSE(rates);
  EXPECT_NE(rates.error().message.find("link.json"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::machine
