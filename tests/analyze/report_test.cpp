// The names of the report's enumerations.
#include "analyze/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;

TEST(Report, EachBoundIsFoundByItsName) {
  std::vector<std::string> names;
  for (const Bound bound : kBounds) {
    names.emplace_back(name_of(bound));
    EXPECT_EQ(bound_named(name_of(bound)), bound);
  }
  EXPECT_THAT(
      names, ElementsAre("gpu", "transfer", "sync", "launch", "input", "host", "communication", "unrecorded", "mixed"));
  for (const char* name : {"", "GPU", "gpus", "gp"}) EXPECT_EQ(bound_named(name), std::nullopt) << name;
}

TEST(Report, BoundsAreInTheOrderOfTheirNames) {
  std::map<std::string, Bound> by_name;
  for (const Bound bound : kBounds) by_name[name_of(bound)] = bound;
  int last = -1;
  for (const auto& [name, bound] : by_name) EXPECT_EQ(static_cast<int>(bound), ++last) << name;
}

TEST(Report, StepsSayHowTheyWereFound) {
  EXPECT_EQ(source_text({.source = StepSource::kRanges, .marker = "step"}), "nvtx:step");
  EXPECT_EQ(source_text({.source = StepSource::kBackward}), "backward pass");
  EXPECT_EQ(source_text({.source = StepSource::kTransfers, .marker = "train.py:23"}), "transfers of train.py:23");
}

}  // namespace
}  // namespace turnpike::analyze
