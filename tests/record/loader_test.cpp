// The recorder beside a program that loads libraries: no callback and no turn of the collector enters the loader, where
// it would wait for constructors, and nothing is read that another thread unloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stress.h"
#include "victim_run.h"

namespace turnpike::record_tests {
namespace {

TEST(BesideTheLoader, CopiesGoOnWhileAConstructorWaitsForThem) {
  const VictimRun run({"constructor_waits", PLUGIN_WAITS});
  EXPECT_EQ(run.outcome().signal, 0) << "it hung";
  EXPECT_EQ(run.outcome().out, "loaded\n") << run.outcome().err;
  const Trace trace = run.trace();
  EXPECT_GE(trace.copies.size(), 5000u);
  // The flush at the end takes copies from the device that have no times yet.
  EXPECT_THAT(trace.losses(), testing::MatchesRegex("(invalid_device_times=[0-9]+ )?"));
}

TEST(StressBesideTheLoader, LibrariesMayComeAndFailAndGo) {
  const std::string seconds = std::to_string(stress_time(6).count());
  const VictimRun run({"loads_and_unloads", seconds, PLUGIN_COMES, PLUGIN_FAILS});
  EXPECT_EQ(run.outcome().exit_code, 0) << "signal " << run.outcome().signal << run.outcome().err;
  EXPECT_EQ(run.outcome().out, "loads many\n");
  EXPECT_GT(run.trace().copies.size(), 100u);
}

class LoaderWatch : public testing::TestWithParam<std::vector<std::string>> {};
TEST_P(LoaderWatch, SeesNobodyInCallbacksAndOnTheCollector) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's runtime must be loaded first";
  const VictimRun run(GetParam(), {.variables = {{"LD_PRELOAD", LOADER_WATCH}}});
  EXPECT_EQ(run.outcome().signal, 0);
  EXPECT_EQ(run.outcome().err.find("loader watch"), std::string::npos) << run.outcome().err;
  EXPECT_FALSE(run.trace().calls.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Victims, LoaderWatch,
    testing::Values(std::vector<std::string>{"every_kind"}, std::vector<std::string>{"uploads", "600"},
                    std::vector<std::string>{"contents"}, std::vector<std::string>{"asked_memory"},
                    std::vector<std::string>{"threads", "4", "300"}, std::vector<std::string>{"graph", "3"},
                    std::vector<std::string>{"ranges"}, std::vector<std::string>{"paced", "30", "100"},
                    std::vector<std::string>{"profiled", PROFILER, "late"},
                    std::vector<std::string>{"loads_and_unloads", "1", PLUGIN_COMES, PLUGIN_FAILS}),
    [](const auto& one) { return one.param[0]; });

// A watch that sees nothing would let everything pass.
TEST(LoaderWatchItself, WouldSeeIt) {
  if (is_sanitized()) GTEST_SKIP() << "the sanitizer's runtime must be loaded first";
  const VictimRun run({"uploads", "1"},
                      {.variables = {{"LD_PRELOAD", LOADER_WATCH}, {"FAKE_CUPTI_ENTERS_LOADER", "1"}}});
  EXPECT_NE(run.outcome().err.find("loader watch: dlsym(getpid) in a callback"), std::string::npos)
      << run.outcome().err;
}

}  // namespace
}  // namespace turnpike::record_tests
