// Synchronisations that the program asks for by itself.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kNeedlessExplicitSync = "needless_explicit_sync";

TEST(NeedlessExplicitSync, IsToldWithWhatItWaitedFor) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.sync(stack, "cudaDeviceSynchronize");
  });
  const auto findings = program.findings(kNeedlessExplicitSync);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:18");
  EXPECT_NE(findings[0].evidence.find("once a step; the CPU waited 405 us a step for the work on stream 0 of GPU 0, "
                                      "last for the kernel kernel"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
}

TEST(NeedlessExplicitSync, IsNoneThatComesRarely) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {});
  program.steps(8, [&](int step) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    if (step == 3) program.sync(stack, "cudaDeviceSynchronize");
  });
  EXPECT_TRUE(program.findings(kNeedlessExplicitSync).empty());
}

TEST(NeedlessExplicitSync, IsNoneBehindAResultThatComesDown) {
  StepProgram program;
  const std::uint32_t download = program.stack(17, {"copy_"});
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.download({.stack = download, .bytes = 4 * kMiB});
    program.sync(stack, "cudaDeviceSynchronize");
  });
  EXPECT_TRUE(program.findings(kNeedlessExplicitSync).empty());
}

TEST(NeedlessExplicitSync, IsNoneThatPyTorchMakesBeforeItCapturesAGraph) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t stack =
      builder.stack({builder.python("__enter__", "/opt/lib/python3.12/site-packages/torch/cuda/graphs.py", 190),
                     builder.python("step", "/home/me/train.py", 18)});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.sync(stack, "cudaDeviceSynchronize");
  });
  EXPECT_TRUE(program.findings(kNeedlessExplicitSync).empty());
}

TEST(NeedlessExplicitSync, IsNoneBeforePageLockedMemoryIsGivenBack) {
  StepProgram program;
  const std::uint32_t upload = program.stack(16, {"copy_"});
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.call(trace::CallKind::kHostRegister, stack, "cudaHostRegister", 100 * kUs);
    program.upload({.stack = upload});
    program.sync(stack, "cudaDeviceSynchronize");
    program.call(trace::CallKind::kHostUnregister, stack, "cudaHostUnregister", 100 * kUs);
    program.kernel(400 * kUs);
  });
  EXPECT_TRUE(program.findings(kNeedlessExplicitSync).empty());
}

TEST(NeedlessExplicitSync, IsNoOperatorsOwnWait) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {"item"});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.sync(stack, "cudaStreamSynchronize");
  });
  EXPECT_TRUE(program.findings(kNeedlessExplicitSync).empty());
}

// A recording of another tool can know lines of Python and not the operators.
TEST(NeedlessExplicitSync, IsNoWaitRightBehindACopyOfTheSameLine) {
  StepProgram program;
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.upload({.stack = stack, .bytes = 4096, .duration_ns = 2 * kUs});
    program.sync(stack, "cudaStreamSynchronize");
  });
  EXPECT_TRUE(program.findings(kNeedlessExplicitSync).empty());
}

TEST(NeedlessExplicitSync, IsNoWaitBeforeTheSourceOfAnUploadIsOverwritten) {
  StepProgram program;
  const std::uint32_t upload = program.stack(16, {"copy_"});
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.kernel(100 * kUs);
    program.upload({.stack = upload});
    program.work(10 * kUs);
    program.sync(stack, "cudaEventSynchronize");
  });
  EXPECT_TRUE(program.findings(kNeedlessExplicitSync).empty());
}

// What a wait was for, of two GPUs.
TEST(NeedlessExplicitSync, NamesTheWorkThatMostOfTheWaitsWereFor) {
  const auto awaited = [](const std::string& kernel, std::uint32_t device) {
    StepProgram program;
    ProcessBuilder& builder = program.builder();
    const std::uint32_t stack = program.stack(18, {});
    std::int64_t now_ns = 0;
    std::uint32_t correlation = 0;
    for (int step = 0; step < 6; ++step) {
      const std::int64_t start_ns = now_ns;
      builder.call({.kind = trace::CallKind::kLaunch,
                    .start_ns = now_ns,
                    .end_ns = now_ns + 5 * kUs,
                    .correlation = ++correlation,
                    .name = "cudaLaunchKernel",
                    .device = device});
      builder.kernel({.start_ns = now_ns + 6 * kUs,
                      .end_ns = now_ns + 206 * kUs,
                      .correlation = correlation,
                      .device = device,
                      .stream = 3,
                      .name = step < 4 ? kernel : "_Z5otherv"});
      builder.call({.kind = trace::CallKind::kSynchronize,
                    .start_ns = now_ns + 10 * kUs,
                    .end_ns = now_ns + 210 * kUs,
                    .correlation = ++correlation,
                    .stack = stack,
                    .name = "cudaDeviceSynchronize",
                    .device = device});
      now_ns += 510 * kUs;
      builder.range("step", start_ns, now_ns);
    }
    const auto findings = program.findings(kNeedlessExplicitSync);
    const std::string text = findings.empty() ? "" : findings[0].evidence;
    return text.substr(text.find(" for the work on ") + 17);
  };
  EXPECT_EQ(awaited("_Z4workv", 1), "stream 3 of GPU 1, last for the kernel work");
  EXPECT_EQ(awaited("void at::native::kernel<4, float>(int)", 0),
            "stream 3 of GPU 0, last for the kernel at::native::kernel");
  EXPECT_EQ(awaited(std::string(48, 'k'), 0), "stream 3 of GPU 0, last for the kernel " + std::string(48, 'k'));
  EXPECT_EQ(awaited(std::string(49, 'k'), 0), "stream 3 of GPU 0, last for the kernel " + std::string(45, 'k') + "...");
  EXPECT_EQ(awaited("<lambda>", 0), "stream 3 of GPU 0, last for a kernel");
}

TEST(NeedlessExplicitSync, OfACopyIsForTheCopy) {
  StepProgram program;
  const std::uint32_t upload = program.stack(16, {"copy_"});
  const std::uint32_t stack = program.stack(18, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.upload({.stack = upload});
    program.work(10 * kUs);
    program.sync(stack, "cudaDeviceSynchronize");
  });
  const auto findings = program.findings(kNeedlessExplicitSync);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence,
            "once a step; the CPU waited 295 us a step for the work on stream 0 of GPU 0, last for a h2d copy");
}

// Of two waits behind a download, the first is for reading it.
TEST(NeedlessExplicitSync, IsTheSecondBehindOneDownload) {
  StepProgram program;
  const std::uint32_t download = program.stack(17, {"copy_"});
  const std::uint32_t first = program.stack(18, {});
  const std::uint32_t second = program.stack(19, {});
  program.steps(6, [&](int) {
    program.work(300 * kUs);
    program.download({.stack = download, .bytes = 4 * kMiB});
    program.sync(first, "cudaDeviceSynchronize");
    program.kernel(400 * kUs);
    program.sync(second, "cudaDeviceSynchronize");
  });
  const auto findings = program.findings(kNeedlessExplicitSync);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:19");
}

TEST(NeedlessExplicitSync, WithoutStepsIsFiveTimes) {
  const auto count = [](int times) {
    StepProgram program;
    const std::uint32_t stack = program.stack(18, {});
    for (int i = 0; i < times; ++i) {
      program.work(300 * kUs);
      program.kernel(400 * kUs);
      program.sync(stack, "cudaDeviceSynchronize");
    }
    return program.findings(kNeedlessExplicitSync).size();
  };
  EXPECT_EQ(count(5), 1u);
  EXPECT_EQ(count(4), 0u);
}

}  // namespace
}  // namespace turnpike::analyze
