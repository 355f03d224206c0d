// Asynchronous copies between the kernels.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr const char* kCopyOnComputeStream = "copy_on_compute_stream";

StepProgram copy_on_compute_stream_program(const StepCopy& copy) {
  StepProgram program;
  StepCopy placed = copy;
  placed.stack = program.stack(21, {"copy_", "to_dtype_layout"});
  program.steps(8, [&](int) {
    program.upload(placed);
    program.kernel(400 * kUs);
  });
  return program;
}

TEST(CopyOnComputeStream, IsAnUploadThatNoKernelRunsBeside) {
  const auto findings = copy_on_compute_stream_program({}).findings(kCopyOnComputeStream);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:21");
  EXPECT_NE(findings[0].evidence.find("they took 300 us a step, 300 us of it without a kernel beside them"),
            std::string::npos)
      << findings[0].evidence;
  EXPECT_GT(findings[0].saving_pct.value_or(0), 20);
}

TEST(CopyOnComputeStream, SaysWhatOneMoreBatchTakesAsFarAsTheMemoryIsKnown) {
  const auto evidence_of = [](StepProgram program) {
    const auto findings = program.findings(kCopyOnComputeStream);
    return findings.size() == 1 ? findings[0].evidence : "not one finding";
  };
  const std::string batch =
      "; one more batch in flight takes 16.8 MB on the GPU and 16.8 MB page-locked on the CPU's side";
  EXPECT_TRUE(evidence_of(copy_on_compute_stream_program({})).ends_with(batch));

  const auto with_size = [](StepProgram& program) {
    trace::DeviceRecord device{};
    device.memory_bytes = 80'000'000'000;
    program.builder().loader().on(device);
  };
  StepProgram sized = copy_on_compute_stream_program({});
  with_size(sized);
  EXPECT_TRUE(evidence_of(std::move(sized)).ends_with(batch + " (the GPU has 80.0 GB)"));

  const auto allocate = [](StepProgram& program, std::uint32_t device, std::uint64_t bytes) {
    program.builder().call({.kind = trace::CallKind::kDeviceAlloc,
                            .start_ns = 0,
                            .end_ns = 1,
                            .correlation = 100'000,
                            .name = "cudaMalloc",
                            .device = device,
                            .context = 99,
                            .bytes = bytes,
                            .dst = 0x1000});
  };
  StepProgram known = copy_on_compute_stream_program({});
  with_size(known);
  allocate(known, 0, 79'900'000'000);
  EXPECT_TRUE(evidence_of(std::move(known))
                  .ends_with(batch + " (the GPU has 80.0 GB, of which 79.9 GB were taken at the peak)"));
  StepProgram ample = copy_on_compute_stream_program({});
  with_size(ample);
  allocate(ample, 0, 2'000'000'000);
  EXPECT_EQ(evidence_of(std::move(ample)).find("one more batch"), std::string::npos);
  StepProgram elsewhere = copy_on_compute_stream_program({});
  allocate(elsewhere, trace::kUnknownId, 2'000'000'000);
  EXPECT_TRUE(evidence_of(std::move(elsewhere)).ends_with(batch)) << "memory of an unknown device";
}

TEST(CopyOnComputeStream, IsNoneOnAStreamOfItsOwn) {
  EXPECT_TRUE(copy_on_compute_stream_program({.stream = kSideStream}).findings(kCopyOnComputeStream).empty());
}

TEST(CopyOnComputeStream, IsNoneThatIsShort) {
  EXPECT_TRUE(
      copy_on_compute_stream_program({.bytes = 4096, .duration_ns = 2 * kUs}).findings(kCopyOnComputeStream).empty());
}

TEST(CopyOnComputeStream, IsAResultThatComesDownBetweenKernels) {
  StepProgram program;
  const std::uint32_t stack = program.stack(30, {"copy_"});
  program.steps(8, [&](int) {
    program.kernel(400 * kUs);
    program.download({.stack = stack});
  });
  const auto findings = program.findings(kCopyOnComputeStream);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].advice.find("record_stream"), std::string::npos);
}

}  // namespace
}  // namespace turnpike::analyze
