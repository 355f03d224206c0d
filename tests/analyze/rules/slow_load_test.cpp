// Uploads that wait for the pages of a mapped file.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

struct Loading {
  std::int64_t each_ns = 100'000 * kUs;  // 40 MB: 0.4 GB/s
  std::string from_files = "1 2 3 4 5 6 7 8 9 10";
  trace::MemoryKind memory = trace::MemoryKind::kPageable;
  std::int64_t ordinary_ns = 0;  // of 20 MB of ordinary memory each; 0: none goes up
  double link_gbps = 50;
  std::vector<std::string> operators = {"copy_", "_to_copy"};
};

std::vector<Finding> slow_load_findings(const Loading& loading) {
  StepProgram program;
  const std::uint32_t load = program.stack(9, loading.operators);
  const std::uint32_t batch = program.stack(20, {"copy_", "_to_copy"});
  for (int i = 0; i < 10; ++i) {
    program.upload({.stack = load,
                    .bytes = 40'000'000,
                    .duration_ns = loading.each_ns,
                    .host = loading.memory,
                    .wait = Wait::kInCall});
  }
  program.steps(5, [&](int) {
    if (loading.ordinary_ns > 0) {
      program.upload({.stack = batch,
                      .bytes = 20'000'000,
                      .duration_ns = loading.ordinary_ns,
                      .host = trace::MemoryKind::kPageable,
                      .wait = Wait::kInCall});
    }
    program.kernel(1000 * kUs);
  });
  if (!loading.from_files.empty()) program.builder().process().metadata["from_files"] = loading.from_files;
  return program.findings("slow_load", loading.link_gbps > 0 ? link_of(loading.link_gbps) : LinkRates());
}

TEST(SlowLoad, IsToldWithWhatItTookBeforeTheFirstStep) {
  const auto findings = slow_load_findings({});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:9");
  EXPECT_EQ(findings[0].evidence,
            "10 uploads of mapped files, 400 MB at 0.4 GB/s; ordinary memory goes up at some 5.00 GB/s; the CPU stood "
            "still for 1.00 s, 1.00 s of it before the first step");
  EXPECT_NE(findings[0].advice.find("POSIX_FADV_WILLNEED"), std::string::npos);
  EXPECT_NE(findings[0].advice.find("tp.to(state, device)"), std::string::npos);
  EXPECT_EQ(findings[0].saving_ns, std::nullopt);
}

TEST(SlowLoad, IsComparedWithWhatThisProgramReachesFromOrdinaryMemory) {
  const auto findings = slow_load_findings({.ordinary_ns = 4000 * kUs, .link_gbps = 0});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("goes up at 4.16 "), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].evidence.find("GB/s in this program"), std::string::npos) << findings[0].evidence;
  EXPECT_TRUE(slow_load_findings({.ordinary_ns = 40'000 * kUs}).empty()) << "0.5 GB/s is usual here";
}

TEST(SlowLoad, IsNotOfMemoryThatIsNoFile) {
  EXPECT_TRUE(slow_load_findings({.from_files = ""}).empty());
  EXPECT_TRUE(slow_load_findings({.from_files = "1001 1002"}).empty());
  EXPECT_TRUE(slow_load_findings({.memory = trace::MemoryKind::kPinned}).empty());
}

// The pages are in memory: then it is as fast as other ordinary memory, nearly.
TEST(SlowLoad, IsNotOfFilesThatAreInMemory) {
  EXPECT_EQ(
      slow_load_findings({.each_ns = 17'000 * kUs, .from_files = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"}).size(), 0u)
      << "less than a quarter of a second";
  EXPECT_TRUE(slow_load_findings({.each_ns = 26'000 * kUs, .link_gbps = 20}).empty()) << "1.5 of 2 GB/s";
  EXPECT_EQ(slow_load_findings({.each_ns = 50'000 * kUs, .link_gbps = 20}).size(), 1u) << "0.8 of 2 GB/s";
}

TEST(SlowLoad, IsUnknownWithoutARateToCompareWith) {
  EXPECT_TRUE(slow_load_findings({.link_gbps = 0}).empty());
}

TEST(SlowLoad, OfAProgramWithoutPyTorchHasAdviceForIt) {
  const auto findings = slow_load_findings({.operators = {}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].advice.find("tp.to"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::analyze
