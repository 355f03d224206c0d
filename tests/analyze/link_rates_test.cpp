// Which runs get the kept rates of a link.
#include "analyze/link_rates.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "machine/link_cache.h"

namespace turnpike::analyze {
namespace {

using machine::keep_links;
using machine::kept_link_rates;
using machine::KeptLink;
using machine::link_cache_path;

// Gives each test a cache directory of its own, in which one device of one machine was measured.
class LinkRates : public ::testing::Test {
 protected:
  LinkRates() {
    std::string pattern = ::testing::TempDir() + "link_rates_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    EXPECT_TRUE(keep_links(link_cache_path(), {{"Some GPU", "here", 55.25, 54.5, "2026-11-20T22:00:00Z"},
                                               {"Other GPU", "here", 25.0, 24.0, "2026-11-20T22:00:00Z"}}));
  }
  ~LinkRates() override { std::filesystem::remove_all(folder_); }

  static Report run_of(std::vector<std::string> devices, std::vector<std::string> hosts) {
    Report report;
    for (const std::string& name : devices) report.source.devices.push_back({.id = 0, .name = name, .memory_bytes = 0});
    report.source.hosts = std::move(hosts);
    return report;
  }
  static std::optional<double> rate(const Report& report, Direction direction) {
    return report.totals[static_cast<std::size_t>(direction)].link_gbps;
  }

  std::filesystem::path folder_;
};

TEST_F(LinkRates, GoToARunOfTheMeasuredDevices) {
  auto report = run_of({"Some GPU", "Some GPU"}, {"here"});
  add_link_rates(report, *kept_link_rates());
  EXPECT_EQ(rate(report, Direction::kHostToDevice), 55.25);
  EXPECT_EQ(rate(report, Direction::kDeviceToHost), 54.5);
  EXPECT_EQ(rate(report, Direction::kDeviceToDevice), std::nullopt);
}

TEST_F(LinkRates, StayUnknownForAnotherMachineAnotherDeviceOrSeveral) {
  for (auto report : {run_of({"Some GPU"}, {"elsewhere"}), run_of({"New GPU"}, {"here"}), run_of({"Some GPU"}, {}),
                      run_of({"Some GPU", "Other GPU"}, {"here"}), run_of({"Some GPU"}, {"here", "elsewhere"})}) {
    add_link_rates(report, *kept_link_rates());
    EXPECT_EQ(rate(report, Direction::kHostToDevice), std::nullopt);
  }
}

TEST_F(LinkRates, OfDevicesThatDifferInOneDirectionAreUnknown) {
  for (const auto& other : {KeptLink{"Third GPU", "here", 55.25, 1, ""}, KeptLink{"Third GPU", "here", 1, 54.5, ""}}) {
    ASSERT_TRUE(keep_links(link_cache_path(), {other}));
    auto report = run_of({"Some GPU", "Third GPU"}, {"here"});
    report.totals[0].link_gbps = 7;
    report.totals[1].link_gbps = 7;
    add_link_rates(report, *kept_link_rates());
    EXPECT_EQ(rate(report, Direction::kHostToDevice), std::nullopt);
    EXPECT_EQ(rate(report, Direction::kDeviceToHost), std::nullopt);
  }
}

TEST_F(LinkRates, OfARunWithoutDevicesAreUnknown) {
  auto report = run_of({}, {"here"});
  add_link_rates(report, *kept_link_rates());
  EXPECT_EQ(rate(report, Direction::kHostToDevice), std::nullopt);
}

}  // namespace
}  // namespace turnpike::analyze
