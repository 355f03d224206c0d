// Uploads from ordinary memory.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kPageableAsyncCopy = "pageable_async_copy";

StepProgram pageable_async_copy_program(const StepCopy& copy, const std::vector<std::string>& operators) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(23, operators);
  program.steps(6, [&](int) {
    program.upload(placed);
    program.kernel(400 * kUs);
  });
  return program;
}

const StepCopy kStaged = {.duration_ns = 2000 * kUs, .host = trace::MemoryKind::kPageable, .wait = Wait::kInCall};

TEST(PageableAsyncCopy, IsToldAtItsLineWithItsRate) {
  const auto findings =
      pageable_async_copy_program(kStaged, {"copy_", "to_dtype_layout"}).findings(kPageableAsyncCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:23");
  EXPECT_NE(findings[0].evidence.find("8.39 GB/s, where the link does 55.0 GB/s"), std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 50);
}

TEST(PageableAsyncCopy, IsNoneOfPageLockedMemory) {
  const StepCopy pinned = {.duration_ns = 2000 * kUs};
  EXPECT_TRUE(pageable_async_copy_program(pinned, {"copy_", "to_dtype_layout"})
                  .findings(kPageableAsyncCopy, link_of(55))
                  .empty());
}

TEST(PageableAsyncCopy, IsNoneThatTheDriverTakesAlong) {
  StepCopy small = kStaged;
  small.bytes = 4096;
  EXPECT_TRUE(pageable_async_copy_program(small, {"copy_", "to_dtype_layout"})
                  .findings(kPageableAsyncCopy, link_of(55))
                  .empty());
}

TEST(PageableAsyncCopy, LeavesWhatPyTorchGatheredToItsOwnRule) {
  EXPECT_TRUE(pageable_async_copy_program(kStaged, {"copy_", "copy_", "to_dtype_layout"})
                  .findings(kPageableAsyncCopy, link_of(55))
                  .empty());
}

TEST(PageableAsyncCopy, AdvisesCudaWhereThereIsNoPyTorch) {
  const auto findings = pageable_async_copy_program(kStaged, {}).findings(kPageableAsyncCopy, link_of(55));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("cudaHostRegister"), std::string::npos);
}

TEST(PageableAsyncCopy, OfAMappedFileIsStagedAndItsPagesAreLookedUp) {
  StepProgram program = pageable_async_copy_program(kStaged, kTo);
  const Finding ordinary = program.findings(kPageableAsyncCopy, link_of(55)).at(0);
  StepProgram mapped = pageable_async_copy_program(kStaged, kTo);
  mapped.builder().process().metadata["from_files"] = "1 3 5 7 9 11";  // the uploads; kernels have the others
  const Finding of_file = mapped.findings(kPageableAsyncCopy, link_of(55)).at(0);
  EXPECT_EQ(of_file.advice, "tp.to(state, device) reads the mapped file and stages it on threads of its own.");
  // Staging 16 MiB takes 498 us, in which the device has 400 us of kernels to do and 305 us of the copy.
  EXPECT_LE(*of_file.saving_step_ns, *ordinary.saving_step_ns);
  constexpr double kLookingUpNs = 256 * 1'200 / 4.0;  // in groups of 64 KiB, by four threads
  const auto below = [](const Finding& finding) { return *finding.saving_step_ns - *finding.saving_step_low_ns; };
  const auto above = [](const Finding& finding) { return *finding.saving_step_high_ns - *finding.saving_step_ns; };
  EXPECT_NEAR(static_cast<double>(below(of_file) - below(ordinary)), kLookingUpNs, 1);
  EXPECT_NEAR(static_cast<double>(above(ordinary) - above(of_file)), kLookingUpNs, 1);
}

// Large weights and small biases; only the large ones are looked at.
TEST(PageableAsyncCopy, OfAMappedFileIsToldByTheBytes) {
  StepProgram program;
  StepCopy weight = kStaged;
  weight.stack = program.stack(23, kTo);
  StepCopy bias = weight;
  bias.bytes = 4096;
  bias.duration_ns = 2 * kUs;
  program.steps(6, [&](int) {
    program.upload(weight);
    program.upload(bias);
    program.kernel(400 * kUs);
  });
  program.builder().process().metadata["from_files"] = "1 4 7 10 13 16";
  EXPECT_EQ(
      program.findings(kPageableAsyncCopy, link_of(55)).at(0).advice.find("tp.to(state, device) reads the mapped"), 0u);
}

// Gradients come down, an optimizer runs on the CPU, and parameters go up.
std::string advice_beside_an_optimizer(bool has_optimizer, std::uint64_t bytes_down) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  const std::uint32_t adam =
      builder.stack({builder.python("Adam.step", "/opt/lib/python3.12/site-packages/torch/optim/adam.py", 5),
                     builder.python("step", "/home/me/train.py", 20)});
  const std::uint32_t own = builder.stack({builder.python("step", "/home/me/train.py", 21)});
  StepCopy up = kStaged;
  up.stack = program.stack(23, kTo);
  StepCopy down = up;
  down.stack = program.stack(19, kTo);
  down.bytes = bytes_down;
  program.steps(6, [&](int) {
    program.kernel(400 * kUs);
    program.download(down);
    program.work(500 * kUs);
    program.sample(has_optimizer ? adam : own);
    program.work(500 * kUs);
    program.upload(up);
  });
  return program.findings(kPageableAsyncCopy, link_of(55)).at(0).advice;
}

TEST(PageableAsyncCopy, BesideAnOptimizerOnTheCpuAdvisesNoThreadsOfOurs) {
  EXPECT_EQ(advice_beside_an_optimizer(true, kStaged.bytes).find("Keep what the optimizer updates on the CPU"), 0u);
  EXPECT_NE(advice_beside_an_optimizer(false, kStaged.bytes).find("tp.to(batch, device)"), std::string::npos);
  // What comes down are no gradients of what goes up.
  EXPECT_NE(advice_beside_an_optimizer(true, kMiB).find("tp.to(batch, device)"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::analyze
