// Collectives beside which nothing runs.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kExposedCollectives = "exposed_collectives";
constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

std::vector<Finding> findings_of(int collectives_a_step, std::int64_t collective_ns,
                                 const std::string& kernel = kAllReduce) {
  StepProgram program;
  program.steps(6, [&](int) {
    program.kernel(1000 * kUs);
    for (int i = 0; i < collectives_a_step; ++i) program.kernel(collective_ns, 0, kernel);
    program.sync(trace::kNoId, "cudaDeviceSynchronize");
  });
  return program.findings(kExposedCollectives);
}

TEST(ExposedCollectives, AreToldWithWhatCouldBeGained) {
  const auto findings = findings_of(3, 200 * kUs);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "");
  EXPECT_NE(findings[0].evidence.find(
                "collectives 3 times a step, most time in all-reduce; nothing else runs for 600 us a step"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_EQ(findings[0].saving_pct, std::nullopt);
  EXPECT_NE(findings[0].advice.find("no_sync()"), std::string::npos) << findings[0].advice;
}

TEST(ExposedCollectives, OfASingleTensorEachAreAdvisedToBePutTogether) {
  const auto findings = findings_of(60, 20 * kUs);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("bucket_cap_mb"), std::string::npos) << findings[0].advice;
}

TEST(ExposedCollectives, OfAnotherKindAreNotAdvisedToBeThoseOfGradients) {
  const auto findings = findings_of(3, 200 * kUs, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].evidence.find("most time in send and receive"), std::string::npos) << findings[0].evidence;
  EXPECT_NE(findings[0].advice.find("async_op=True"), std::string::npos) << findings[0].advice;
  EXPECT_EQ(findings[0].advice.find("DistributedDataParallel"), std::string::npos) << findings[0].advice;
}

TEST(ExposedCollectives, AreNoneBesideACopy) {
  StepProgram program;
  program.steps(6, [&](int) {
    program.kernel(1000 * kUs);
    program.upload({.duration_ns = 1500 * kUs, .stream = kSideStream});  // also beside the kernel before
    program.kernel(200 * kUs, 0, kAllReduce);
    program.sync(trace::kNoId, "cudaDeviceSynchronize");
  });
  for (const Finding& finding : program.findings(kExposedCollectives)) ADD_FAILURE() << finding.evidence;
}

TEST(ExposedCollectives, AreNoneWhereTheyTakeLittle) {
  EXPECT_TRUE(findings_of(1, 30 * kUs).empty());
}

}  // namespace
}  // namespace turnpike::analyze
