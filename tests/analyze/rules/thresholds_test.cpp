// Where each rule begins to speak: at its threshold, and one beside it.
#include <gtest/gtest.h>

#include "analyze/rules/compute.h"
#include "analyze/rules/step_program.h"
#include "analyze/sums/process_analysis.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;
using trace::MemoryKind;

std::size_t count(StepProgram program, const std::string& rule, const LinkRates& rates = link_of(50)) {
  return program.findings(rule, rates).size();
}

// The beginning of the advice of the one finding.
std::string advice(StepProgram program, const std::string& rule, std::size_t length) {
  const auto findings = program.findings(rule, link_of(50));
  return findings.size() == 1 ? findings[0].advice.substr(0, length) : std::to_string(findings.size()) + " findings";
}

StepProgram reading(const std::string& op, int times, std::uint64_t bytes = 4) {
  StepProgram program;
  const std::uint32_t line = program.stack(30, {op});
  program.steps(10, [&](int) {
    program.kernel(400 * kUs);
    for (int i = 0; i < times; ++i) {
      program.download({.stack = line,
                        .bytes = bytes,
                        .duration_ns = 2 * kUs,
                        .host = MemoryKind::kPageable,
                        .wait = Wait::kBehind});
    }
    program.work(300 * kUs);
  });
  return program;
}

TEST(Thresholds, ImplicitSyncAdvisesByTheOperator) {
  EXPECT_EQ(advice(reading("item", 7), "implicit_sync", 21), "Keep the value on the");
  EXPECT_EQ(advice(reading("item", 8), "implicit_sync", 22), "Keep the values on the");
  EXPECT_EQ(advice(reading("nonzero", 9), "implicit_sync", 15), "Keep the shape:");
  EXPECT_EQ(advice(reading("repeat_interleave_Tensor", 1), "implicit_sync", 30), "Say the length of the result: ");
  EXPECT_EQ(advice(reading("is_nonzero", 1), "implicit_sync", 17), "Decide on the GPU");
}

StepProgram uploading_small(int times, std::uint64_t bytes, const std::vector<std::uint32_t>& lines = {16},
                            std::int64_t kernel_between_ns = 0) {
  StepProgram program;
  std::vector<std::uint32_t> stacks;
  for (const std::uint32_t line : lines) stacks.push_back(program.stack(line, kTo));
  program.steps(10, [&](int) {
    for (int i = 0; i < times; ++i) {
      program.work(10 * kUs);
      program.upload({.stack = stacks[static_cast<std::size_t>(i) % stacks.size()],
                      .bytes = bytes,
                      .duration_ns = 3 * kUs,
                      .wait = Wait::kBehind});
      if (kernel_between_ns > 0) program.kernel(kernel_between_ns);
    }
    program.kernel(50 * kUs);
  });
  return program;
}

// What is small would be told as many small copies, if packing gained anything; what is not, as waited for.
TEST(Thresholds, SmallCopiesAreBelowAQuarterOfAMebibyte) {
  EXPECT_EQ(count(uploading_small(16, 262'143), "blocking_copy"), 0u);
  EXPECT_EQ(count(uploading_small(16, 262'144), "blocking_copy"), 1u);
}

TEST(Thresholds, AGroupOfLinesHasEightCopies) {
  EXPECT_EQ(count(uploading_small(8, 4096, {1, 2, 3, 4, 5, 6, 7, 8}), "many_small_copies"), 1u);
  EXPECT_EQ(count(uploading_small(7, 4096, {1, 2, 3, 4, 5, 6, 7}), "many_small_copies"), 0u);
  EXPECT_EQ(count(uploading_small(8, 4096, {1, 2}), "many_small_copies"), 1u);  // four of each
  EXPECT_EQ(count(uploading_small(8, 4096, {1, 2}, 2 * kUs), "many_small_copies"), 0u);
}

// A constant is at most 64 KiB, three uploads are enough.
TEST(Thresholds, CopiesInStepWithoutContent) {
  const auto made = [](std::uint64_t bytes, bool is_alike = true) {
    StepProgram program;
    ProcessBuilder& builder = program.builder();
    const std::uint32_t line = builder.stack(
        {builder.op("copy_"), builder.native("_ZN5torch5utils22internal_new_from_dataEN", "/lib/libtorch_python.so"),
         builder.python("step", "/home/me/train.py", 17)});
    program.steps(10, [&](int step) {
      program.upload({.stack = line,
                      .bytes = bytes - (is_alike || step != 4 ? 0 : 1),
                      .duration_ns = 20 * kUs,
                      .wait = Wait::kBehind,
                      .address = 0x1000});
      program.kernel(50 * kUs);
    });
    return count(std::move(program), "copies_in_step");
  };
  EXPECT_EQ(made(65'536), 1u);
  EXPECT_EQ(made(65'537), 0u);
  EXPECT_EQ(made(1000), 1u);
  EXPECT_EQ(made(1000, false), 0u);
}

// Kernels of `side_ns` on stream 2 and of the rest of 900 ns on stream 1; on GPU 1 one of 10 ns on stream 2.
template <typename Ask>
auto asked_of_streams(std::int64_t side_ns, const Ask& ask) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 900 - side_ns, .stream = 1});
  builder.kernel({.start_ns = 900 - side_ns, .end_ns = 900, .stream = 2});
  builder.kernel({.start_ns = 800, .end_ns = 810, .device = 1, .stream = 2});
  const LoadedProcess loaded = builder.take();
  RunSums sums;
  ProcessAnalysis analysis(sums, loaded.process, loaded.timeline);
  const ProcessModel model = analysis.model(std::nullopt, {});
  return ask(Compute(model));
}

TEST(Thresholds, ComputeStreamsHaveATenthOfTheKernelsOfTheirGpu) {
  const auto is_compute = [](std::int64_t side_ns, std::uint32_t device, std::uint32_t stream) {
    return asked_of_streams(side_ns, [&](const Compute& compute) { return compute.is_compute_stream(device, stream); });
  };
  EXPECT_TRUE(is_compute(90, 0, 2));
  EXPECT_FALSE(is_compute(89, 0, 2));
  EXPECT_TRUE(is_compute(89, 0, 1));
  EXPECT_TRUE(is_compute(89, 1, 2));
  EXPECT_FALSE(is_compute(89, 1, 1));
  EXPECT_FALSE(is_compute(89, 2, 1));
}

TEST(Thresholds, CopiesAreExposedOnEachGpuForItself) {
  Operation copy{};
  copy.device = 0;
  copy.start_ns = 790;
  copy.end_ns = 950;
  const auto exposed = asked_of_streams(90, [&](const Compute& compute) {
    EXPECT_TRUE(compute.is_known());
    EXPECT_EQ(compute.devices(), (std::vector<std::uint32_t>{0, 1}));
    return std::vector{compute.exposed_ns(copy), compute.exposed_ns(1, copy), compute.exposed_ns(2, copy)};
  });
  EXPECT_EQ(exposed, (std::vector<std::int64_t>{50, 150, 160}));
}

TEST(Thresholds, PageableUploadsMatterFromOnePercentOn) {
  const auto uploading = [](std::int64_t work_us) {
    StepProgram program;
    const std::uint32_t line = program.stack(23, kTo);
    program.steps(10, [&](int) {
      program.work(work_us * kUs);
      program.upload({.stack = line,
                      .bytes = 100'000,
                      .duration_ns = 12 * kUs,
                      .host = MemoryKind::kPageable,
                      .wait = Wait::kInCall});
    });
    return count(std::move(program), "pageable_async_copy");
  };
  // It would save 15 of 1921 and of 1421 us.
  EXPECT_EQ(uploading(1900), 0u);
  EXPECT_EQ(uploading(1400), 1u);
}

TEST(Thresholds, AFreeIsOfTheLineThatTakesLongest) {
  const auto freeing = [](std::int64_t first_us, std::int64_t second_us, bool is_by_cache) {
    StepProgram program;
    ProcessBuilder& builder = program.builder();
    const std::uint32_t first = program.stack(22, {});
    const std::uint32_t second =
        is_by_cache ? builder.stack({builder.python("empty_cache", "/site-packages/torch/cuda/memory.py", 1),
                                     builder.python("step", "/home/me/train.py", 24)})
                    : program.stack(24, {});
    program.steps(10, [&](int) {
      program.call(CallKind::kDeviceFree, first, "cudaFree", first_us * kUs);
      program.call(CallKind::kDeviceFree, second, "cudaFree", second_us * kUs);
      program.kernel(10 * kUs);
    });
    const auto findings = program.findings("alloc_free_sync");
    return findings.size() == 1 ? findings[0].site + ", " + findings[0].advice.substr(0, 13) : "not one";
  };
  EXPECT_EQ(freeing(20, 25, false), "train.py:24, Allocate befo");
  EXPECT_EQ(freeing(25, 20, false), "train.py:22, Allocate befo");
  EXPECT_EQ(freeing(20, 20, false), "train.py:22, Allocate befo");
  EXPECT_EQ(freeing(20, 25, true), "train.py:24, Leave torch.c");
}

TEST(Thresholds, UnsafeReadsAreOfPageLockedMemoryAtAnAddress) {
  const auto unawaited = [](StepCopy copy, std::uint64_t distance = 0) {
    StepProgram program;
    copy.stack = program.stack(21, {"copy_"});
    program.steps(6, [&](int step) {
      program.kernel(50 * kUs);
      StepCopy one = copy;
      if (one.address != 0) one.address -= static_cast<std::uint64_t>(step) * distance;
      program.download(one);
    });
    return count(std::move(program), "unsafe_read");
  };
  EXPECT_EQ(unawaited({.bytes = 1000, .duration_ns = 3 * kUs, .address = 0x100000}), 1u);
  EXPECT_EQ(unawaited({.bytes = 1000, .duration_ns = 3 * kUs}), 0u);
  EXPECT_EQ(unawaited({.bytes = 1000, .duration_ns = 3 * kUs, .host = MemoryKind::kManaged, .address = 0x100000}), 0u);
  EXPECT_EQ(unawaited({.bytes = 1000, .duration_ns = 3 * kUs, .wait = Wait::kInCall, .address = 0x100000}), 0u);
  // At lower addresses: each buffer ends where the one before it begins, or overlaps it by one byte.
  EXPECT_EQ(unawaited({.bytes = 1000, .duration_ns = 3 * kUs, .address = 0x100000}, 1000), 0u);
  EXPECT_EQ(unawaited({.bytes = 1000, .duration_ns = 3 * kUs, .address = 0x100000}, 999), 1u);
}

}  // namespace
}  // namespace turnpike::analyze
