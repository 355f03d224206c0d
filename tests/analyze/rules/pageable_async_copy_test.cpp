// Uploads from ordinary memory.
#include <gtest/gtest.h>

#include <utility>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kPageableAsyncCopy = "pageable_async_copy";

StepProgram uploading_in_steps(StepProgram program, const StepCopy& copy, std::int64_t kernel_ns) {
  program.steps(6, [&](int) {
    program.upload(copy);
    program.kernel(kernel_ns);
  });
  return program;
}

StepProgram pageable_async_copy_program(const StepCopy& copy, const std::vector<std::string>& operators,
                                        std::int64_t kernel_ns = 400 * kUs) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(23, operators);
  return uploading_in_steps(std::move(program), placed, kernel_ns);
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

StepProgram uploading_from_a_library(std::int64_t kernel_ns = 400 * kUs) {
  StepProgram program;
  ProcessBuilder& builder = program.builder();
  StepCopy copy = kStaged;
  copy.stack = builder.stack(
      {builder.op("copy_"), builder.op("to_dtype_layout"),
       builder.python("send_to_device", "/opt/lib/python3.12/site-packages/accelerate/utils/operations.py", 160),
       builder.python("step", "/home/me/train.py", 23)});
  return uploading_in_steps(std::move(program), copy, kernel_ns);
}

void make_mapped(StepProgram& program) {
  program.builder().process().metadata["from_files"] = "1 3 5 7 9 11";  // the uploads; kernels have the others
}

// A DataLoader without workers, seen in the first step.
void sample_data_set(StepProgram& program) {
  ProcessBuilder& builder = program.builder();
  const std::uint32_t stack =
      builder.stack({builder.python("fetch", "/opt/lib/python3.12/site-packages/torch/utils/data/_utils/fetch.py", 50),
                     builder.python("step", "/home/me/train.py", 20)});
  builder.sample(3000 * kUs, stack);
}

std::int64_t step_saving_ns(StepProgram program) {
  return *program.findings(kPageableAsyncCopy, link_of(55)).at(0).saving_step_ns;
}

// How much lower the range of one finding lies than that of another.
double left_ns(const Finding& finding, const Finding& other) {
  const auto below = [](const Finding& one) { return *one.saving_step_ns - *one.saving_step_low_ns; };
  const auto above = [](const Finding& one) { return *one.saving_step_high_ns - *one.saving_step_ns; };
  const std::int64_t left = below(finding) - below(other);
  EXPECT_NEAR(static_cast<double>(above(other) - above(finding)), static_cast<double>(left), 1);
  return static_cast<double>(left);
}

constexpr double kLookingUpNs = 256 * 1'200;  // 16 MiB in groups of 64 KiB

TEST(PageableAsyncCopy, OfAMappedFileIsStagedAndItsPagesAreLookedUp) {
  StepProgram program = pageable_async_copy_program(kStaged, kTo);
  const Finding ordinary = program.findings(kPageableAsyncCopy, link_of(55)).at(0);
  StepProgram mapped = pageable_async_copy_program(kStaged, kTo);
  make_mapped(mapped);
  const Finding of_file = mapped.findings(kPageableAsyncCopy, link_of(55)).at(0);
  EXPECT_EQ(of_file.advice, "tp.to(state, device) reads the mapped file and stages it on threads of its own.");
  constexpr double kThreads = 33.7 / 8.0;  // tp.to stages 33.7 GB/s, and each thread 8
  EXPECT_NEAR(left_ns(of_file, ordinary), kLookingUpNs / kThreads, 1);
}

TEST(PageableAsyncCopy, OfAMappedFileIsToldByMoreThanASixteenthThatWasStillMapped) {
  for (const int steps : {15, 16}) {
    StepProgram program;
    StepCopy copy = kStaged;
    copy.stack = program.stack(23, kTo);
    program.steps(steps, [&](int) {
      program.upload(copy);
      program.kernel(400 * kUs);
    });
    program.builder().process().metadata["from_files"] = "7";
    const Finding finding = program.findings(kPageableAsyncCopy, link_of(55)).at(0);
    EXPECT_EQ(finding.advice.find("tp.to(state, device)") == 0, steps == 15) << finding.advice;
  }
}

TEST(PageableAsyncCopy, OfAMappedFileHasItsPagesLookedUpByOneThreadWithoutTpTo) {
  for (const bool is_of_library : {true, false}) {
    const auto finding = [&](bool is_mapped) {
      StepProgram program = is_of_library ? uploading_from_a_library() : pageable_async_copy_program(kStaged, {});
      if (is_mapped) make_mapped(program);
      return program.findings(kPageableAsyncCopy, link_of(55)).at(0);
    };
    EXPECT_EQ(finding(true).advice.find("tp.to"), std::string::npos) << finding(true).advice;
    EXPECT_NEAR(left_ns(finding(true), finding(false)), kLookingUpNs, 1);
  }
}

// The CPU is the limit: staging 16 MiB in threads takes it 498 us, and the device has 50 us of kernels to do and 305 us
// of the copy.
StepProgram uploading_to_short_kernels() {
  return pageable_async_copy_program(kStaged, kTo, 50 * kUs);
}

TEST(PageableAsyncCopy, SavesLessWhereTheCpuWaitsForStaging) {
  const std::int64_t ordinary_ns = step_saving_ns(uploading_to_short_kernels());
  StepProgram mapped = uploading_to_short_kernels();
  make_mapped(mapped);
  EXPECT_LT(step_saving_ns(std::move(mapped)), ordinary_ns);
  StepProgram loading = uploading_to_short_kernels();
  sample_data_set(loading);
  EXPECT_LT(step_saving_ns(std::move(loading)), ordinary_ns);
}

TEST(PageableAsyncCopy, SavesAsMuchWhereALibraryUploads) {
  const std::int64_t ordinary_ns = step_saving_ns(uploading_from_a_library(50 * kUs));
  StepProgram mapped = uploading_from_a_library(50 * kUs);
  make_mapped(mapped);
  EXPECT_EQ(step_saving_ns(std::move(mapped)), ordinary_ns);
  StepProgram loading = uploading_from_a_library(50 * kUs);
  sample_data_set(loading);
  EXPECT_EQ(step_saving_ns(std::move(loading)), ordinary_ns);
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
StepProgram uploading_beside_an_optimizer(bool has_optimizer, std::uint64_t bytes_down) {
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
  return program;
}

std::string advice_beside_an_optimizer(bool has_optimizer, std::uint64_t bytes_down) {
  return uploading_beside_an_optimizer(has_optimizer, bytes_down)
      .findings(kPageableAsyncCopy, link_of(55))
      .at(0)
      .advice;
}

TEST(PageableAsyncCopy, BesideAnOptimizerOnTheCpuAdvisesNoThreadsOfOurs) {
  EXPECT_EQ(advice_beside_an_optimizer(true, kStaged.bytes).find("Keep what the optimizer updates on the CPU"), 0u);
  EXPECT_NE(advice_beside_an_optimizer(false, kStaged.bytes).find("tp.to(batch, device)"), std::string::npos);
  // What comes down are no gradients of what goes up.
  EXPECT_NE(advice_beside_an_optimizer(true, kMiB).find("tp.to(batch, device)"), std::string::npos);
}

TEST(PageableAsyncCopy, BesideAnOptimizerOnTheCpuIsNotStagedByALoaderWithoutWorkers) {
  const auto saving_with_loader_ns = [](bool has_optimizer, bool has_loader) {
    StepProgram program = uploading_beside_an_optimizer(has_optimizer, kStaged.bytes);
    if (has_loader) sample_data_set(program);
    return step_saving_ns(std::move(program));
  };
  EXPECT_EQ(saving_with_loader_ns(true, true), saving_with_loader_ns(true, false));
  EXPECT_LT(saving_with_loader_ns(false, true), saving_with_loader_ns(false, false));
}

}  // namespace
}  // namespace turnpike::analyze
