// Host memory on another NUMA node than the GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

using testing::HasSubstr;

constexpr const char* kWrongNumaNode = "wrong_numa_node";
constexpr std::uint64_t kNear = 0x7f0000000000;  // on node 0
constexpr std::uint64_t kFar = 0x7f1000000000;   // on node 1

// 16 MiB in 300 us are 56 GB/s.
StepProgram wrong_numa_node_program(const StepCopy& copy, int gpu_node = 0) {
  StepProgram program;
  program.builder().process().metadata["host_memory"] = "7f0000000000@0 7f1000000000@1";
  program.builder().device(0, "", 0, gpu_node);
  StepCopy placed = copy;
  placed.stack = program.stack(27, {});
  program.steps(6, [&](int) {
    program.upload(placed);
    program.kernel(100 * kUs);
  });
  return program;
}

TEST(WrongNumaNode, NamesBothNodesAndTheLineToWrite) {
  const auto findings =
      wrong_numa_node_program({.duration_ns = 600 * kUs, .address = kFar}).findings(kWrongNumaNode, link_of(56));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "this memory is on NUMA node 1, and GPU 0 on node 0");
  EXPECT_THAT(findings[0].evidence, HasSubstr("28.0 GB/s of the link's 56.0 GB/s"));
  EXPECT_THAT(findings[0].advice, HasSubstr("numactl --cpunodebind=0 --membind=0 "));
  EXPECT_THAT(findings[0].advice, HasSubstr("os.sched_setaffinity"));
  EXPECT_GT(findings[0].saving_pct.value_or(0), 30);
  EXPECT_LT(*findings[0].saving_step_low_ns, *findings[0].saving_step_ns);
}

TEST(WrongNumaNode, LeavesNothingForSlowLinkToTell) {
  EXPECT_TRUE(
      wrong_numa_node_program({.duration_ns = 600 * kUs, .address = kFar}).findings("slow_link", link_of(56)).empty());
  EXPECT_EQ(
      wrong_numa_node_program({.duration_ns = 600 * kUs, .address = kNear}).findings("slow_link", link_of(56)).size(),
      1u);
}

TEST(WrongNumaNode, IsNoneOfMemoryBesideTheGpu) {
  EXPECT_TRUE(wrong_numa_node_program({.duration_ns = 600 * kUs, .address = kNear})
                  .findings(kWrongNumaNode, link_of(56))
                  .empty());
  EXPECT_TRUE(wrong_numa_node_program({.duration_ns = 600 * kUs, .address = kFar}, 1)
                  .findings(kWrongNumaNode, link_of(56))
                  .empty());
}

TEST(WrongNumaNode, IsNoneOfCopiesThatReachTheLinksRate) {
  EXPECT_TRUE(wrong_numa_node_program({.duration_ns = 320 * kUs, .address = kFar})
                  .findings(kWrongNumaNode, link_of(56))
                  .empty());
}

TEST(WrongNumaNode, IsNotClaimedWhereANodeIsUnknown) {
  EXPECT_TRUE(wrong_numa_node_program({.duration_ns = 600 * kUs, .address = 0x7f2000000000})
                  .findings(kWrongNumaNode, link_of(56))
                  .empty());
  EXPECT_TRUE(wrong_numa_node_program({.duration_ns = 600 * kUs, .address = kFar}, 0xFFFF)
                  .findings(kWrongNumaNode, link_of(56))
                  .empty());
}

TEST(WrongNumaNode, PromisesLittleForOrdinaryMemory) {
  const StepCopy pageable = {
      .duration_ns = 900 * kUs, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall, .address = kFar};
  const auto findings = wrong_numa_node_program(pageable).findings(kWrongNumaNode, link_of(56));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].saving_step_low_ns, 0);
  EXPECT_THAT(findings[0].saving_reason, HasSubstr("a second time"));
}

// One line uploads the same memory of node 1 to GPU 0 of node 0 and to GPU 1 of node 1.
TEST(WrongNumaNode, IsToldOfTheGpuThatIsFar) {
  StepProgram program;
  program.builder().process().metadata["host_memory"] = "7f1000000000@1";
  program.builder().device(0, "", 0, 0);
  program.builder().device(1, "", 0, 1);
  const std::uint32_t line = program.stack(27, {});
  program.steps(6, [&](int) {
    program.upload({.stack = line, .duration_ns = 600 * kUs, .address = kFar});
    program.upload({.stack = line, .duration_ns = 300 * kUs, .address = kFar, .device = 1});
    program.kernel(100 * kUs);
  });
  const auto findings = program.findings(kWrongNumaNode, link_of(56));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].title, "this memory is on NUMA node 1, and GPU 0 on node 0");
  EXPECT_THAT(findings[0].evidence, HasSubstr("once a step, 16.8 MB each at 28.0 GB/s"));
}

}  // namespace
}  // namespace turnpike::analyze
