// Copies that reach less than the link can do.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kSlowLink = "slow_link";

// 16 MiB in 300 us are 56 GB/s.
StepProgram slow_link_program(const StepCopy& copy, std::int64_t first_ns = 0) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(27, {});
  program.steps(6, [&](int step) {
    placed.duration_ns = step == 0 && first_ns != 0 ? first_ns : copy.duration_ns;
    program.upload(placed);
    program.kernel(100 * kUs);
  });
  return program;
}

TEST(SlowLink, IsToldAgainstTheMeasuredRate) {
  const auto findings = slow_link_program({.duration_ns = 600 * kUs}).findings(kSlowLink, link_of(56));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "this copy reaches only 50 % of the link's speed");
  EXPECT_NE(findings[0].evidence.find("28.0 GB/s of 56.0 GB/s"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("numactl"), std::string::npos);
  EXPECT_GT(findings[0].saving_pct.value_or(0), 30);
}

TEST(SlowLink, IsToldAgainstABetterCopyOfTheRun) {
  EXPECT_EQ(slow_link_program({.duration_ns = 900 * kUs}, 300 * kUs).findings(kSlowLink).size(), 1u);
}

TEST(SlowLink, IsNotClaimedWhereTheRateIsUnknown) {
  EXPECT_TRUE(slow_link_program({.duration_ns = 900 * kUs}).findings(kSlowLink).empty());
}

TEST(SlowLink, IsNoneNearTheRate) {
  EXPECT_TRUE(slow_link_program({.duration_ns = 380 * kUs}).findings(kSlowLink, link_of(56)).empty());
}

// 16 MiB down in 560 us are 30 GB/s.
TEST(SlowLink, OfADownloadIsToldAgainstWhatTheCachesOfTheCpuAllow) {
  const auto findings_over = [](const LinkRates& rates) {
    StepProgram program;
    const std::uint32_t line = program.stack(27, {});
    program.steps(6, [&](int) {
      program.kernel(100 * kUs);
      program.download({.stack = line, .duration_ns = 560 * kUs});
    });
    return program.findings(kSlowLink, rates);
  };
  EXPECT_EQ(findings_over(link_of(56)).size(), 1u);
  EXPECT_TRUE(findings_over(link_of(56, 32)).empty());
  const auto findings = findings_over(link_of(56, 45));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "this copy reaches only 67 % of the link's speed");
  EXPECT_NE(findings[0].evidence.find("at 30.0 GB/s of 45.0 GB/s"), std::string::npos) << findings[0].evidence;
}

TEST(SlowLink, IsNoneOfOrdinaryMemory) {
  const StepCopy pageable = {.duration_ns = 2000 * kUs, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall};
  EXPECT_TRUE(slow_link_program(pageable).findings(kSlowLink, link_of(56)).empty());
}

// One line uploads to two GPUs in turn: at half of the rate to the first, at the full rate to the second.
TEST(SlowLink, IsToldOfTheGpuWhoseCopiesAreSlow) {
  StepProgram program;
  const std::uint32_t line = program.stack(27, {});
  program.steps(6, [&](int) {
    program.upload({.stack = line, .duration_ns = 600 * kUs});
    program.upload({.stack = line, .duration_ns = 300 * kUs, .device = 1});
    program.kernel(100 * kUs);
  });
  const auto findings = program.findings(kSlowLink, link_of(56));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "this copy reaches only 50 % of the link's speed (GPU 0)");
  EXPECT_EQ(findings[0].evidence.find("once a step, 16.8 MB each at 28.0 GB/s of 56.0 GB/s"), 0u)
      << findings[0].evidence;
}

// The card has PCIe 5 x16; the second GPU's link runs as that.
TEST(SlowLink, IsToldOfALinkThatIsLessThanItsCard) {
  StepProgram program;
  auto& metadata = program.builder().process().metadata;
  metadata["link.0"] = "from=sysfs generation=4 width=8 max_generation=5 max_width=16 busy_reads=2";
  metadata["link.1"] = "from=sysfs generation=5 width=16 max_generation=5 max_width=16 busy_reads=2";
  const std::uint32_t line = program.stack(27, {});
  program.steps(6, [&](int) {
    program.upload({.stack = line, .duration_ns = 1400 * kUs});
    program.upload({.stack = line, .duration_ns = 310 * kUs, .device = 1});
    program.sync(line, "cudaDeviceSynchronize");
  });
  const auto findings = program.findings(kSlowLink);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "");
  EXPECT_EQ(findings[0].title, "the link of GPU 0 is PCIe 4 x8, and the card has PCIe 5 x16");
  EXPECT_NE(findings[0].evidence.find("GPU 0: copies over the link took 1.40 ms a step"), std::string::npos)
      << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("an idle GPU lowers it"), std::string::npos);
  EXPECT_NE(findings[0].advice.find("lspci"), std::string::npos);
  // 1400 us at 12 GB/s, which is what this link does; of it 12.5 / 55 stay.
  EXPECT_NEAR(static_cast<double>(findings[0].saving_step_ns.value_or(0)), 1'081'818, 10);
}

TEST(SlowLink, IsNotToldOfAnIdleGpusGeneration) {
  auto program = slow_link_program({.duration_ns = 310 * kUs});
  program.builder().process().metadata["link.0"] = "generation=1 width=16 max_generation=5 max_width=16 busy_reads=0";
  EXPECT_TRUE(program.findings(kSlowLink).empty());
}

TEST(SlowLink, IsToldAgainstTheRateOfTheGenerationWhereAllCopiesAreSlow) {
  auto program = slow_link_program({.duration_ns = 900 * kUs});
  program.builder().process().metadata["link.0"] = "generation=5 width=16 max_generation=5 max_width=16 busy_reads=1";
  const auto findings = program.findings(kSlowLink);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "this copy reaches only 34 % of the link's speed");
  EXPECT_NE(findings[0].evidence.find("of 55.0 GB/s (computed: PCIe 5 x16)"), std::string::npos)
      << findings[0].evidence;
}

TEST(SlowLink, AdvisesOnePieceWhereRowsAreCopied) {
  const StepCopy rows = {.duration_ns = 900 * kUs, .wait = Wait::kInCall, .api = "cudaMemcpy2D"};
  const auto findings = slow_link_program(rows).findings(kSlowLink, link_of(56));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("row by row"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::analyze
