// The rate that a report compares all transfers of a direction with.
#include "analyze/link_rates.h"

#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

KnownRate measured(double gbps) {
  return {gbps, LinkSource::kMeasured, ""};
}

KnownRate learnt(double gbps) {
  return {gbps, LinkSource::kLearnt, ""};
}

// Of one process for each list, whose devices have these rates up.
Total up_of(const std::vector<std::vector<std::optional<KnownRate>>>& processes) {
  RunLinks run;
  for (const auto& rates : processes) {
    std::map<std::uint32_t, Link> links;
    for (const auto& rate : rates) links[static_cast<std::uint32_t>(links.size())].h2d = rate;
    run.add(links);
  }
  Report report;
  run.apply_to(report);
  EXPECT_EQ(report.totals[static_cast<std::size_t>(Direction::kDeviceToHost)].link_gbps, std::nullopt);
  EXPECT_EQ(report.totals[static_cast<std::size_t>(Direction::kDeviceToDevice)].link_gbps, std::nullopt);
  return report.totals[static_cast<std::size_t>(Direction::kHostToDevice)];
}

TEST(RunLinks, AreThoseThatAllDevicesHave) {
  const Total total = up_of({{measured(55.25), measured(55.25)}, {measured(55.25)}});
  EXPECT_EQ(total.link_gbps, 55.25);
  EXPECT_EQ(total.link_source, LinkSource::kMeasured);
  EXPECT_EQ(total.link_basis, "");
}

TEST(RunLinks, CarryWhatTheyWereComputedFrom) {
  const Total total = up_of({{KnownRate{55, LinkSource::kGeneration, "PCIe 5 x16"}}});
  EXPECT_EQ(total.link_source, LinkSource::kGeneration);
  EXPECT_EQ(total.link_basis, "PCIe 5 x16");
}

TEST(RunLinks, AreUnknownWhereDevicesDiffer) {
  EXPECT_EQ(up_of({{measured(55.25), measured(25)}}).link_gbps, std::nullopt);
  EXPECT_EQ(up_of({{measured(55.25)}, {measured(25)}}).link_gbps, std::nullopt);
}

TEST(RunLinks, AreTheBestThatCopiesReached) {
  const Total total = up_of({{learnt(40), learnt(48)}, {learnt(44)}});
  EXPECT_EQ(total.link_gbps, 48);
  EXPECT_EQ(total.link_source, LinkSource::kLearnt);
}

TEST(RunLinks, AreNotLearntWhereOneIsKnownOtherwise) {
  EXPECT_EQ(up_of({{learnt(60), measured(55)}}).link_gbps, 55);
}

TEST(RunLinks, AreThoseOfTheDevicesWithOne) {
  EXPECT_EQ(up_of({{std::nullopt, measured(55)}}).link_gbps, 55);
  EXPECT_EQ(up_of({{std::nullopt}}).link_gbps, std::nullopt);
  EXPECT_EQ(up_of({}).link_source, std::nullopt);
}

}  // namespace
}  // namespace turnpike::analyze
