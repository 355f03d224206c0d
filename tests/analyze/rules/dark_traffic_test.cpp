// When the rule speaks of traffic that copies do not explain.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr std::int64_t kSecond = 1'000'000 * kUs;

// Five steps of a kernel, with one copy of 50 MB down each.
std::vector<Finding> findings(std::uint64_t in_bytes, std::uint64_t out_bytes) {
  StepProgram program;
  const std::uint32_t line = program.stack(27, {});
  program.steps(5, [&](int) {
    program.kernel(100'000 * kUs, 0, "_Z10gather_rowPKfS0_");
    program.download({.stack = line, .bytes = 50'000'000, .duration_ns = 2000 * kUs});
  });
  program.builder().link_traffic(0, kSecond, in_bytes, out_bytes);
  return program.findings("dark_traffic");
}

TEST(DarkTrafficRule, SaysWhatCopiesDoNotExplainAndWhatRanMeanwhile) {
  const auto found = findings(4'000'000'000, 850'000'000);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].site, "");
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_EQ(found[0].title, "the link of GPU 0 carried 4.85 GB, and copies explain 250 MB of it");
  EXPECT_EQ(found[0].evidence,
            "counted by the GPU over 1.00 s: 4.00 GB are neither copies nor launches; meanwhile the kernel gather_row "
            "ran for 100 % of the time of all kernels");
  EXPECT_NE(found[0].advice.find("zero-copy"), std::string::npos);
  EXPECT_EQ(found[0].saving_ns, std::nullopt);
}

TEST(DarkTrafficRule, IsSilentBelowAQuarterOfAGigabyte) {
  EXPECT_EQ(findings(256'040'960, 288'406'144).size(), 1u);
  EXPECT_TRUE(findings(256'040'959, 288'406'143).empty());
}

// Counters of an idle link count a little, too, and an hour of that is gigabytes.
TEST(DarkTrafficRule, IsSilentBelowAHundredMegabytesASecond) {
  const auto findings_at = [](std::uint64_t bytes_a_second, std::uint64_t bytes_of_one_second) {
    StepProgram program;
    program.steps(5, [&](int) { program.kernel(100'000 * kUs); });
    for (int second = 0; second < 60; ++second) {
      const std::uint64_t bytes = second == 30 ? bytes_of_one_second : bytes_a_second;
      program.builder().link_traffic(second * kSecond, (second + 1) * kSecond, bytes, 0);
    }
    return program.findings("dark_traffic");
  };
  EXPECT_TRUE(findings_at(99'000'000, 99'000'000).empty());
  EXPECT_EQ(findings_at(101'000'000, 101'000'000).size(), 1u);
  EXPECT_EQ(findings_at(10'000'000, 1'000'000'000).size(), 1u) << "one second is enough";
}

TEST(DarkTrafficRule, IsSilentWhereCopiesExplainNearlyAll) {
  StepProgram program;
  const std::uint32_t line = program.stack(27, {});
  program.steps(5, [&](int) { program.upload({.stack = line, .bytes = 1'000'000'000, .duration_ns = 20'000 * kUs}); });
  program.builder().link_traffic(0, kSecond, 6'200'000'000, 0);
  EXPECT_TRUE(program.findings("dark_traffic").empty());
}

TEST(DarkTrafficRule, IsSilentWithoutCounters) {
  StepProgram program;
  program.steps(5, [&](int) { program.kernel(100'000 * kUs); });
  EXPECT_TRUE(program.findings("dark_traffic").empty());
}

}  // namespace
}  // namespace turnpike::analyze
