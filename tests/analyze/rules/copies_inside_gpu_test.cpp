// Copies from one place of a GPU's memory to another.
#include <gtest/gtest.h>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

// Steps of a kernel of 400 us and a copy inside the GPU behind it, which the next step waits for.
std::vector<Finding> findings_of(std::int64_t copy_ns, bool has_line) {
  ProcessBuilder builder;
  builder.device(0, "GPU");
  std::vector<std::uint32_t> frames = {builder.op("clone")};
  if (has_line) frames.push_back(builder.python("step", "/home/me/train.py", 21));
  const std::uint32_t stack = builder.stack(frames);
  std::uint32_t id = 0;
  for (int step = 0; step < 6; ++step) {
    const std::int64_t start_ns = step * 1000 * kUs;
    builder.call({.kind = trace::CallKind::kLaunch,
                  .start_ns = start_ns,
                  .end_ns = start_ns + 5 * kUs,
                  .correlation = ++id,
                  .name = "cudaLaunchKernel",
                  .device = 0});
    builder.kernel({.start_ns = start_ns + 6 * kUs, .end_ns = start_ns + 400 * kUs, .correlation = id});
    builder.call({.start_ns = start_ns + 6 * kUs,
                  .end_ns = start_ns + 11 * kUs,
                  .correlation = ++id,
                  .stack = stack,
                  .device = 0,
                  .bytes = 1 << 20});
    builder.copy({.start_ns = start_ns + 401 * kUs,
                  .end_ns = start_ns + 401 * kUs + copy_ns,
                  .correlation = id,
                  .bytes = 1 << 20,
                  .kind = trace::CopyKind::kDeviceToDevice,
                  .src = trace::MemoryKind::kDevice,
                  .stream = 0,
                  .is_async = true});
    const std::int64_t done_ns = start_ns + 401 * kUs + copy_ns;
    builder.call({.kind = trace::CallKind::kSynchronize,
                  .start_ns = start_ns + 12 * kUs,
                  .end_ns = done_ns + 5 * kUs,
                  .correlation = ++id,
                  .name = "cudaDeviceSynchronize",
                  .device = 0});
    builder.range("step", start_ns, start_ns + 1000 * kUs);
  }
  const LoadedProcess processes[] = {builder.take()};
  std::vector<Finding> findings = analyze_processes(processes).findings;
  std::erase_if(findings, [](const Finding& finding) { return finding.rule != "copies_inside_gpu"; });
  return findings;
}

TEST(CopiesInsideGpu, AreToldAtTheirLineWithWhatTheyTake) {
  const auto findings = findings_of(300 * kUs, true);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:21");
  EXPECT_NE(findings[0].evidence.find("once a step, 1.05 MB each; the copies took 300 us a step"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
  EXPECT_NE(findings[0].advice.find("x.detach()"), std::string::npos) << findings[0].advice;
}

TEST(CopiesInsideGpu, AreNoneWhereTheyTakeLittle) {
  EXPECT_TRUE(findings_of(2 * kUs, true).empty());
}

}  // namespace
}  // namespace turnpike::analyze
