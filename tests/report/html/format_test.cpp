// The writer's numbers are those of web/format.json, which the page reads.
#include "report/html/format.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace turnpike::report::html {
namespace {

nlohmann::ordered_json format() {
  std::ifstream file(TURNPIKE_WEB_FORMAT);
  EXPECT_TRUE(file) << TURNPIKE_WEB_FORMAT;
  return nlohmann::ordered_json::parse(file);
}

TEST(HtmlFormat, HasTheNumbersOfTheDescription) {
  const auto json = format();
  EXPECT_EQ(json["version"], kVersion);
  EXPECT_EQ(json["elements"]["report"], kReportId);
  EXPECT_EQ(json["elements"]["contents"], kContentsId);
  EXPECT_EQ(json["elements"]["block"], kBlockId);
  EXPECT_EQ(json["elements"]["static"], kStaticId);
  EXPECT_EQ(json["elements"]["app"], kAppId);
  EXPECT_EQ(json["elements"]["paths"], kPathsId);
  EXPECT_EQ(json["limits"]["events_in_block"], kMaxBlockEvents);
  EXPECT_EQ(json["limits"]["names_in_lane"], kMaxLaneNames);
  EXPECT_EQ(json["limits"]["sites"], kMaxSites);
  EXPECT_EQ(json["limits"]["time_ns"], kMaxTimeNs);
  EXPECT_EQ(json["long_duration"], kLongDuration);
  EXPECT_EQ(json["no_link"], kNoLink);
}

TEST(HtmlFormat, HasTheColumnsOfTheDescription) {
  const auto json = format();
  const auto& columns = json["columns"];
  ASSERT_EQ(columns.size(), kColumnCount);
  std::size_t i = 0;
  for (const auto& [name, column] : columns.items()) {
    EXPECT_EQ(name, name_of(static_cast<Column>(i)));
    EXPECT_EQ(column["bytes"], width_of(static_cast<Column>(i))) << name;
    ++i;
  }
}

TEST(HtmlFormat, HasTheLanesOfTheDescription) {
  const auto json = format();
  ASSERT_EQ(json["lanes"].size(), kLaneKindCount);
  for (std::size_t i = 0; i < kLaneKindCount; ++i) EXPECT_EQ(json["lanes"][i], name_of(static_cast<LaneKind>(i)));
}

TEST(HtmlFormat, HasTheClassesOfTheDescription) {
  const auto json = format();
  const auto& classes = json["classes"];
  ASSERT_EQ(all_classes().size(), classes.size());
  for (const ClassName& one : all_classes()) {
    EXPECT_EQ(classes.value(one.name, -1), static_cast<int>(one.value)) << one.name;
  }
}

}  // namespace
}  // namespace turnpike::report::html
