// The figures of each rule's finding, as a reader gets them: what is claimed, and the numbers that show it.
#include <gtest/gtest.h>

#include <cstdio>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

using trace::CallKind;
using trace::MemoryKind;

std::string text_of(const Finding& finding) {
  char percent[32] = "?";
  if (finding.saving_pct) std::snprintf(percent, sizeof percent, "%.2f %%", *finding.saving_pct);
  const auto ns = [](const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : "?"; };
  return std::string(name_of(finding.severity)) + " at " + (finding.site.empty() ? "the step" : finding.site) + ": " +
         finding.title + "\nsaves " + ns(finding.saving_step_ns) + " ns of a step, " + ns(finding.saving_ns) +
         " ns in all, " + percent + "\n" + finding.evidence;
}

// All findings of a rule; "none".
std::string told(StepProgram program, const std::string& rule, const LinkRates& rates = link_of(50)) {
  std::string text;
  for (const Finding& finding : program.findings(rule, rates)) {
    EXPECT_EQ(finding.docs, "docs/rules/" + rule + ".md");
    text += (text.empty() ? "" : "\n") + text_of(finding);
  }
  return text.empty() ? "none" : text;
}

StepProgram figures_program(StepCopy copy, std::int64_t kernel_ns = 400 * kUs, std::int64_t work_ns = 0, int steps = 10,
                            const std::vector<std::string>& operators = kTo) {
  StepProgram program;
  copy.stack = program.stack(23, operators);
  program.steps(steps, [&](int) {
    program.upload(copy);
    program.work(work_ns);
    program.kernel(kernel_ns);
  });
  return program;
}

StepProgram downloading(StepCopy copy, std::int64_t kernel_ns = 400 * kUs, std::int64_t work_ns = 0, int times = 1) {
  StepProgram program;
  copy.stack = program.stack(40, kTo);
  program.steps(10, [&](int) {
    program.kernel(kernel_ns);
    for (int i = 0; i < times; ++i) program.download(copy);
    program.work(work_ns);
  });
  return program;
}

TEST(FiguresOf, PageableAsyncCopy) {
  const StepCopy batch{
      .bytes = 10'000'000, .duration_ns = 1000 * kUs, .host = MemoryKind::kPageable, .wait = Wait::kInCall};
  EXPECT_EQ(told(figures_program(batch), "pageable_async_copy"),
            "warning at train.py:23: uploads from ordinary (pageable) memory\n"
            "saves 805800 ns of a step, 8058000 ns in all, 57.19 %\n"
            "once a step, 10.0 MB each, which cross at 10.0 GB/s, where the link does 50.0 GB/s; the CPU "
            "stood still for 1.36 ms a step");
  EXPECT_EQ(told(figures_program(batch), "pageable_async_copy", {}),
            "warning at train.py:23: uploads from ordinary (pageable) memory\n"
            "saves ? ns of a step, ? ns in all, ?\n"
            "once a step, 10.0 MB each, which cross at 10.0 GB/s; the CPU stood still for 1.36 ms a step");
  // Staged is what is larger than 64 KiB.
  StepCopy small = batch;
  small.bytes = 65'537;
  small.duration_ns = 100 * kUs;
  EXPECT_NE(told(figures_program(small), "pageable_async_copy"), "none");
  small.bytes = 65'536;
  EXPECT_EQ(told(figures_program(small), "pageable_async_copy"), "none");
}

TEST(FiguresOf, BlockingCopyUp) {
  const StepCopy batch{.bytes = 10'000'000, .duration_ns = 300 * kUs, .wait = Wait::kBehind};
  EXPECT_EQ(told(figures_program(batch, 400 * kUs, 200 * kUs), "blocking_copy"),
            "warning at train.py:23: the CPU waits for an upload that could run by itself\n"
            "saves 209000 ns of a step, 2090000 ns in all, 22.94 %\n"
            "once a step, 10.0 MB each; the CPU stood still for 660 us a step, the copies themselves took "
            "300 us a step");
}

TEST(FiguresOf, BlockingCopyDown) {
  StepCopy result{.bytes = 4'000'000, .duration_ns = 300 * kUs, .wait = Wait::kInCall};
  EXPECT_EQ(told(downloading(result, 400 * kUs, 300 * kUs), "blocking_copy"),
            "warning at train.py:40: the CPU waits for a result to come down\n"
            "saves 308000 ns of a step, 3080000 ns in all, 30.50 %\n"
            "once a step, 4.00 MB each; the CPU stood still for 704 us a step, the copies themselves took "
            "300 us a step");
  result.host = MemoryKind::kPageable;
  EXPECT_EQ(told(downloading(result, 400 * kUs, 300 * kUs), "blocking_copy"),
            "warning at train.py:40: the CPU waits for a result, which comes into ordinary (pageable) "
            "memory\n"
            "saves 526800 ns of a step, 5268000 ns in all, 52.16 %\n"
            "once a step, 4.00 MB each; the CPU stood still for 704 us a step, the copies themselves took "
            "300 us a step");
  EXPECT_EQ(told(downloading(result, 400 * kUs, 300 * kUs), "blocking_copy", {}),
            "warning at train.py:40: the CPU waits for a result, which comes into ordinary (pageable) "
            "memory\n"
            "saves 308000 ns of a step, 3080000 ns in all, 30.50 %\n"
            "once a step, 4.00 MB each; the CPU stood still for 704 us a step, the copies themselves took "
            "300 us a step");
  // Larger than a value is what is larger than 4 KiB.
  StepCopy small{.bytes = 4097, .duration_ns = 2 * kUs, .wait = Wait::kInCall};
  EXPECT_NE(told(downloading(small, 400 * kUs, 300 * kUs), "blocking_copy"), "none");
  EXPECT_EQ(told(downloading(small, 400 * kUs, 300 * kUs), "implicit_sync"), "none");
  small.bytes = 4096;
  EXPECT_EQ(told(downloading(small, 400 * kUs, 300 * kUs), "blocking_copy"), "none");
  EXPECT_NE(told(downloading(small, 400 * kUs, 300 * kUs), "implicit_sync"), "none");
}

TEST(FiguresOf, ImplicitSync) {
  const StepCopy value{.bytes = 4, .duration_ns = 2 * kUs, .host = MemoryKind::kPageable, .wait = Wait::kBehind};
  EXPECT_EQ(told(downloading(value, 400 * kUs, 300 * kUs), "implicit_sync"),
            "warning at train.py:40: aten::to makes the CPU wait for the GPU\n"
            "saves 313000 ns of a step, 3130000 ns in all, 43.84 %\n"
            "once a step, for 4 B; the CPU waited for 403 us a step");
  EXPECT_EQ(told(downloading(value, 400 * kUs, 300 * kUs, 3), "implicit_sync"),
            "warning at train.py:40: aten::to makes the CPU wait for the GPU\n"
            "saves 337000 ns of a step, 3370000 ns in all, 45.66 %\n"
            "3 times a step, for 4 B; the CPU waited for 427 us a step");
}

TEST(FiguresOf, NeedlessExplicitSync) {
  StepProgram program;
  const std::uint32_t first = program.stack(18, {});
  const std::uint32_t second = program.stack(20, {});
  program.steps(10, [&](int) {
    program.work(300 * kUs);
    program.kernel(400 * kUs);
    program.sync(first, "cudaDeviceSynchronize");
    program.kernel(100 * kUs);
    program.sync(second, "cudaDeviceSynchronize");
  });
  EXPECT_EQ(told(std::move(program), "needless_explicit_sync"),
            "warning at train.py:18: cudaDeviceSynchronize makes the CPU wait, and nothing is read after it\n"
            "saves 319000 ns of a step, 3190000 ns in all, 38.86 %\n"
            "once a step; the CPU waited 405 us a step for the work on stream 0 of GPU 0, last for the "
            "kernel kernel; the gain is that of removing the one at train.py:20 as well\n"
            "warning at train.py:20: cudaDeviceSynchronize makes the CPU wait, and nothing is read after it\n"
            "saves 319000 ns of a step, 3190000 ns in all, 38.86 %\n"
            "once a step; the CPU waited 105 us a step for the work on stream 0 of GPU 0, last for the "
            "kernel kernel; the gain is that of removing the one at train.py:18 as well");
}

// The rule reports it in half of the steps, not in fewer.
TEST(FiguresOf, NeedlessExplicitSyncOfHalfOfTheSteps) {
  const auto syncing = [](int steps_with_sync) {
    StepProgram program;
    const std::uint32_t line = program.stack(18, {});
    program.steps(10, [&](int step) {
      program.work(300 * kUs);
      program.kernel(400 * kUs);
      if (step >= 10 - steps_with_sync) program.sync(line, "cudaDeviceSynchronize");
    });
    return told(std::move(program), "needless_explicit_sync");
  };
  EXPECT_EQ(syncing(5),
            "warning at train.py:18: cudaDeviceSynchronize makes the CPU wait, and nothing is read after it\n"
            "saves 249000 ns of a step, 2490000 ns in all, 38.31 %\n"
            "in 5 of 10 steps; the CPU waited 250 us a step for the work on stream 0 of GPU 0, last for the "
            "kernel kernel");
  EXPECT_EQ(syncing(4), "none");
}

TEST(FiguresOf, RepeatedUpload) {
  const StepCopy table{.bytes = 10'000'000,
                       .duration_ns = 300 * kUs,
                       .host = MemoryKind::kPageable,
                       .wait = Wait::kInCall,
                       .address = 0x1000,
                       .content = 7};
  EXPECT_EQ(
      told(figures_program(table, 50 * kUs), "repeated_upload"),
      "warning at train.py:23: uploads the same data again and again\n"
      "saves 308000 ns of a step, 3080000 ns in all, 85.79 %\n"
      "once a step, 10.0 MB each; always the same data; the CPU stood still for 348 us a step; then nothing is left to gain from: uploads from ordinary (pageable) memory (29 % alone)");
  EXPECT_EQ(
      told(figures_program(table, 50 * kUs, 0, 4), "repeated_upload"),
      "warning at train.py:23: uploads the same data again and again\n"
      "saves 308000 ns of a step, 1232000 ns in all, 85.79 %\n"
      "once a step, 10.0 MB each; always the same data; the CPU stood still for 342 us a step; then nothing is left to gain from: uploads from ordinary (pageable) memory (29 % alone)");
  EXPECT_EQ(told(figures_program(table, 50 * kUs, 0, 3), "repeated_upload"), "none");  // two repeats
}

// The same data on both GPUs is no repeat.
TEST(FiguresOf, RepeatedUploadIsOfOneGpu) {
  const auto uploading_to = [](bool is_of_two) {
    StepProgram program;
    const std::uint32_t line = program.stack(23, kTo);
    program.steps(3, [&](int) {
      for (std::uint32_t device = 0; device < 2; ++device) {
        program.upload({.stack = line,
                        .bytes = 10'000'000,
                        .duration_ns = 300 * kUs,
                        .host = MemoryKind::kPageable,
                        .wait = Wait::kInCall,
                        .address = 0x1000,
                        .content = 7,
                        .device = is_of_two ? device : 0});
      }
    });
    return told(std::move(program), "repeated_upload");
  };
  EXPECT_EQ(uploading_to(true),
            "warning at train.py:23: uploads the same data again and again\n"
            "saves 616000 ns of a step, 1848000 ns in all, 99.84 %\n"
            "twice a step, 10.0 MB each; 4 of 6 uploads carried what had gone up before, 20.0 MB in all; the "
            "CPU stood still for 616 us a step; then nothing is left to gain from: uploads from "
            "ordinary (pageable) memory (67 % alone)");
  EXPECT_EQ(
      uploading_to(false),
      "warning at train.py:23: uploads the same data again and again\n"
      "saves 616000 ns of a step, 1848000 ns in all, 99.84 %\n"
      "twice a step, 10.0 MB each; always the same data; the CPU stood still for 616 us a step; then nothing is left to gain from: uploads from ordinary (pageable) memory (34 % alone)");
}

TEST(FiguresOf, RepeatedUploadOfPieces) {
  const auto pieces = [](std::uint64_t bytes) {
    StepProgram program;
    const std::uint32_t line = program.stack(23, kTo);
    program.steps(10, [&](int step) {
      program.upload({.stack = line,
                      .bytes = bytes,
                      .duration_ns = 300 * kUs,
                      .host = MemoryKind::kPageable,
                      .wait = Wait::kInCall,
                      .address = 0x1000,
                      .content = 1 + static_cast<std::uint64_t>(step % 5)});
      program.kernel(50 * kUs);
    });
    return told(std::move(program), "repeated_upload");
  };
  EXPECT_EQ(pieces(4096),
            "warning at train.py:23: uploads the same data again and again\n"
            "saves 308000 ns of a step, 3080000 ns in all, 85.79 %\n"
            "once a step, 4.10 kB each; 5 of 10 uploads carried what had gone up before, 20.5 kB in all");
  EXPECT_EQ(pieces(4095), "none");
}

TEST(FiguresOf, RepeatedUploadOfABuffer) {
  const auto buffer = [](std::uint64_t bytes, std::int64_t pause_us) {
    return told(figures_program({.bytes = bytes,
                                 .duration_ns = 300 * kUs,
                                 .host = MemoryKind::kPageable,
                                 .wait = Wait::kInCall,
                                 .address = 0x1000},
                                50 * kUs, pause_us * kUs),
                "repeated_upload");
  };
  EXPECT_EQ(
      buffer(10'000'001, 99),
      "info at train.py:23: uploads the same buffer again and again\n"
      "saves 353000 ns of a step, 3530000 ns in all, 77.07 %\n"
      "once a step, 10.0 MB each; always from the same buffer (its content was not recorded, but the "
      "CPU had only 100 us in between to change it); the CPU stood still for 348 us a step; then nothing is left to gain from: uploads from ordinary (pageable) memory (45 % alone)");  // 100 us at
                                                                                                                                                                                        // 100 GB/s
  EXPECT_EQ(buffer(10'000'000, 99), "none");
  EXPECT_NE(buffer(1'048'576, 9), "none");
  EXPECT_EQ(buffer(1'048'575, 9), "none");
}

TEST(FiguresOf, RoundTrip) {
  const auto trip = [](std::uint64_t down_content, std::uint64_t up_content, std::uint64_t bytes = 10'000'000) {
    StepProgram program;
    const std::uint32_t down = program.stack(16, kTo);
    const std::uint32_t up = program.stack(17, kTo);
    program.steps(10, [&](int step) {
      const std::uint64_t fresh = 100 * static_cast<std::uint64_t>(step);
      program.kernel(50 * kUs);
      program.download({.stack = down,
                        .bytes = bytes,
                        .duration_ns = 300 * kUs,
                        .host = MemoryKind::kPageable,
                        .wait = Wait::kInCall,
                        .content = fresh + down_content});
      program.work(100 * kUs);
      program.upload({.stack = up,
                      .bytes = bytes,
                      .duration_ns = 200 * kUs,
                      .host = MemoryKind::kPageable,
                      .wait = Wait::kInCall,
                      .content = fresh + up_content});
    });
    return told(std::move(program), "round_trip");
  };
  EXPECT_EQ(
      trip(1, 1),
      "warning at train.py:17: uploads what has just come down from the GPU, unchanged\n"
      "saves 562000 ns of a step, 5620000 ns in all, 84.13 %\n"
      "once a step, 10.0 MB each; the same data came down at train.py:16; the CPU stood still for 562 "
      "us a step by both copies; then nothing is left to gain from: the CPU waits for a result, which comes into ordinary "
      "(pageable) memory (31 % alone) at train.py:16, uploads from ordinary "
      "(pageable) memory (1 % alone)");
  EXPECT_EQ(trip(1, 2),
            "info at train.py:17: uploads as much as has just come down from the GPU: work on the CPU in "
            "between?\n"
            "saves 617000 ns of a step, 6170000 ns in all, 92.37 %\n"
            "once a step, 10.0 MB each; as many bytes came down right before it, at train.py:16; the CPU "
            "stood still for 562 us a step by both copies; then nothing is left to gain from: "
            "uploads from ordinary (pageable) memory (1 % alone)");
  EXPECT_NE(trip(1, 1, 4096), "none");
  EXPECT_EQ(trip(1, 1, 4095), "none");
}

TEST(FiguresOf, ManySmallCopies) {
  const auto small = [](int times, std::uint64_t bytes) {
    StepProgram program;
    const std::uint32_t line = program.stack(16, kTo);
    program.steps(10, [&](int) {
      for (int i = 0; i < times; ++i) {
        program.work(10 * kUs);
        program.upload({.stack = line,
                        .bytes = bytes,
                        .duration_ns = 2 * kUs,
                        .host = MemoryKind::kPageable,
                        .wait = Wait::kBehind});
      }
      program.kernel(50 * kUs);
    });
    return told(std::move(program), "many_small_copies");
  };
  EXPECT_EQ(small(16, 4000),
            "warning at train.py:16: many small uploads where one would do\n"
            "saves 324000 ns of a step, 3240000 ns in all, 82.44 %\n"
            "16 times a step, 4.00 kB each; the copies took 32.0 us a step (in one piece: 2.48 us), and the "
            "CPU stood still for 144 us a step");
  EXPECT_NE(small(8, 4000), "none");
  EXPECT_EQ(small(7, 4000), "none");
}

TEST(FiguresOf, ManySmallCopiesDown) {
  EXPECT_EQ(told(downloading({.bytes = 5000, .duration_ns = 2 * kUs, .wait = Wait::kInCall}, 50 * kUs, 0, 16),
                 "many_small_copies"),
            "warning at train.py:40: many small downloads where one would do\n"
            "saves 149200 ns of a step, 1492000 ns in all, 70.38 %\n"
            "16 times a step, 5.00 kB each; the copies took 32.0 us a step (in one piece: 2.80 us), and the "
            "CPU stood still for 206 us a step");
}

TEST(FiguresOf, CopyOnComputeStream) {
  const StepCopy batch{.bytes = 10'000'000, .duration_ns = 300 * kUs};
  EXPECT_EQ(told(figures_program(batch), "copy_on_compute_stream"),
            "warning at train.py:23: the GPU stops computing while this upload crosses\n"
            "saves 301000 ns of a step, 3010000 ns in all, 42.88 %\n"
            "once a step, 10.0 MB each; they took 300 us a step, 300 us of it without a kernel beside them; "
            "one more batch in flight takes 10.0 MB on the GPU and 10.0 MB page-locked on the CPU's side; "
            "then nothing is left to gain from: this copy reaches only 67 % of the link's speed "
            "(14 % alone)");
  EXPECT_EQ(told(downloading(batch), "copy_on_compute_stream"),
            "warning at train.py:40: the GPU stops computing while this result comes down\n"
            "saves 301000 ns of a step, 3010000 ns in all, 42.88 %\n"
            "once a step, 10.0 MB each; they took 300 us a step, 300 us of it without a kernel beside them; "
            "then nothing is left to gain from: this copy reaches only 67 % of the link's speed "
            "(14 % alone)");
  // 1 % of a step: 5 of 500.
  EXPECT_EQ(told(figures_program({.bytes = 200'000, .duration_ns = 5 * kUs}, 493 * kUs), "copy_on_compute_stream"),
            "warning at train.py:23: the GPU stops computing while this upload crosses\n"
            "saves 6000 ns of a step, 60000 ns in all, 1.20 %\n"
            "once a step, 200 kB each; they took 5.00 us a step, 5.00 us of it without a kernel beside them; "
            "one more batch in flight takes 200 kB on the GPU and 200 kB page-locked on the CPU's side");
  EXPECT_EQ(told(figures_program({.bytes = 200'000, .duration_ns = 5 * kUs}, 494 * kUs), "copy_on_compute_stream"),
            "none");
}

TEST(FiguresOf, PeerCopySerialised) {
  const auto sending = [](std::int64_t beside_ns) {
    StepProgram program;
    const std::uint32_t line = program.stack(33, {"copy_"});
    program.steps(10, [&](int) {
      program.kernel(400 * kUs, 0);
      program.kernel(400 * kUs + beside_ns, 1);
      program.send(line, 300 * kUs, kComputeStream);
    });
    return told(std::move(program), "peer_copy_serialised");
  };
  EXPECT_EQ(sending(0),
            "warning at train.py:33: a GPU stops computing while this copy between GPUs runs\n"
            "saves 301000 ns of a step, 3010000 ns in all, 42.88 %\n"
            "once a step, 41.9 MB each; they took 300 us a step, and one of the GPUs computed nothing for "
            "300 us a step of it");
  EXPECT_EQ(sending(200 * kUs),
            "warning at train.py:33: a GPU stops computing while this copy between GPUs runs\n"
            "saves 101000 ns of a step, 1010000 ns in all, 14.39 %\n"
            "once a step, 41.9 MB each; they took 300 us a step, and one of the GPUs computed nothing for "
            "300 us a step of it");
}

TEST(FiguresOf, StridedOrConvertingCopy) {
  const auto rearranged = [](Wait wait, const LinkRates& rates) {
    StepProgram program;
    const std::uint32_t line = program.stack(20, {"copy_", "copy_", "to_dtype_layout"});
    program.steps(10, [&](int) {
      program.kernel(300 * kUs);
      program.work(3000 * kUs);
      program.upload(
          {.stack = line, .bytes = 8'000'000, .duration_ns = 800 * kUs, .host = MemoryKind::kPageable, .wait = wait});
    });
    return told(std::move(program), "strided_or_converting_copy", rates);
  };
  // 1 ms of the 3 for 8 MB at 8 GB/s, and what the upload takes.
  EXPECT_EQ(rearranged(Wait::kInCall, link_of(50)),
            "warning at train.py:20: the data is gathered into a copy on the CPU before it goes up\n"
            "saves 1803000 ns of a step, 18030000 ns in all, 47.27 %\n"
            "once a step, 8.00 MB each from a temporary copy in ordinary memory; the CPU spent 3.00 ms a "
            "step before the uploads and stood still for 808 us a step in them");
  EXPECT_EQ(rearranged(Wait::kBehind, {}),
            "warning at train.py:20: the data is gathered or converted into a copy on the CPU before it goes "
            "up\n"
            "saves 1805000 ns of a step, 18050000 ns in all, 47.30 %\n"
            "once a step, 8.00 MB each from a temporary copy in ordinary memory; the CPU spent 3.00 ms a "
            "step before the uploads and stood still for 810 us a step in them; the gain leaves out that "
            "they would be faster, as the rate of the link is unknown");
}

TEST(FiguresOf, SlowLink) {
  const auto slow = [](std::int64_t duration_ns, std::uint64_t bytes = 7'000'000) {
    return told(figures_program({.bytes = bytes, .duration_ns = duration_ns}, 100 * kUs), "slow_link", link_of(50));
  };
  EXPECT_EQ(slow(280 * kUs),
            "warning at train.py:23: this copy reaches only 50 % of the link's speed\n"
            "saves 138800 ns of a step, 1388000 ns in all, 36.34 %\n"
            "once a step, 7.00 MB each at 25.0 GB/s of 50.0 GB/s; the copies took 280 us a step");  // 25 GB/s
  EXPECT_EQ(slow(200 * kUs), "none");                                                               // 35 GB/s are 70 %
  EXPECT_NE(slow(201 * kUs), "none");
  EXPECT_NE(slow(280 * kUs, 1'048'576), "none");
  EXPECT_EQ(slow(280 * kUs, 1'048'575), "none");
}

TEST(FiguresOf, SlowLinkOfTheSecondGpu) {
  StepProgram program;
  const std::uint32_t first = program.stack(23, kTo);
  const std::uint32_t second = program.stack(24, kTo);
  program.steps(10, [&](int) {
    program.upload({.stack = first, .bytes = 5'000'000, .duration_ns = 100 * kUs, .device = 0});
    program.upload({.stack = second, .bytes = 5'000'000, .duration_ns = 400 * kUs, .device = 1});
    program.kernel(100 * kUs, 0);
    program.kernel(100 * kUs, 1);
  });
  EXPECT_EQ(
      told(std::move(program), "slow_link"),
      "warning at train.py:24: this copy reaches only 25 % of the link's speed\n"
      "saves 298800 ns of a step, 2988000 ns in all, 59.52 %\n"
      "once a step, 5.00 MB each at 12.5 GB/s of 50.0 GB/s; the copies took 400 us a step; then nothing is left to gain from: the GPU stops computing while this upload crosses (20 % "
      "alone)");
}

TEST(FiguresOf, PinningInLoop) {
  const auto pinning = [](const std::string& op, std::uint64_t bytes) {
    StepProgram program;
    const std::uint32_t line = program.stack(17, {op});
    program.steps(10, [&](int) {
      program.call(CallKind::kHostAlloc, line, "cudaHostAlloc", 3000 * kUs, bytes);
      program.kernel(50 * kUs);
      program.call(CallKind::kHostFree, line, "cudaFreeHost", 500 * kUs);
    });
    return told(std::move(program), "pinning_in_loop");
  };
  EXPECT_EQ(pinning("pin_memory", 8'000'000),
            "warning at train.py:17: page-locks (pins) memory in each step\n"
            "saves 3455000 ns of a step, 34550000 ns in all, 98.55 %\n"
            "once a step, 8.00 MB each; the calls took 3.50 ms a step, and pin_memory() then copies these "
            "bytes on the CPU, before the GPU copies them again");
  EXPECT_EQ(pinning("empty", trace::kUnknownSize),
            "warning at train.py:17: page-locks (pins) memory in each step\n"
            "saves 3455000 ns of a step, 34550000 ns in all, 98.55 %\n"
            "once a step; the calls took 3.50 ms a step");
}

TEST(FiguresOf, PinningInLoopOfUnlockingAlone) {
  StepProgram program;
  const std::uint32_t line = program.stack(17, {});
  program.steps(10, [&](int) {
    program.call(CallKind::kHostUnregister, line, "cudaHostUnregister", 300 * kUs);
    program.kernel(50 * kUs);
  });
  EXPECT_EQ(told(std::move(program), "pinning_in_loop"),
            "warning at train.py:17: page-locks (pins) memory in each step\n"
            "saves 255000 ns of a step, 2550000 ns in all, 83.33 %\n"
            "memory is unlocked once a step, which takes 300 us a step");
}

TEST(FiguresOf, LateLoader) {
  const auto loading = [](std::int64_t loading_us) {
    StepProgram program;
    const std::uint32_t line = program.stack(40, kTo);
    program.steps(10, [&](int) {
      program.work(loading_us * kUs);
      program.upload({.stack = line, .bytes = 1'000'000, .duration_ns = 50 * kUs});
      program.kernel(500 * kUs);
    });
    return told(std::move(program), "late_loader");
  };
  EXPECT_EQ(
      loading(6000),
      "warning at train.py:40: the GPU waits for the next batch, which the CPU is still preparing\n"
      "saves 5510000 ns of a step, 55100000 ns in all, 91.67 %\n"
      "in 9 of 10 steps the batch was not ready in time: 5.40 ms a step, "
      "of which the GPU was idle for 4.91 ms a step; a batch is 1.00 MB; one more batch in flight takes 1.00 MB on the GPU and 1.00 MB "
      "page-locked on the CPU's side");
  EXPECT_NE(loading(2000), "none");
  EXPECT_EQ(loading(1999), "none");
}

TEST(FiguresOf, LaunchBound) {
  const auto launching = [](int kernels, std::int64_t kernel_us, std::int64_t python_us) {
    StepProgram program;
    program.steps(10, [&](int) {
      for (int i = 0; i < kernels; ++i) {
        program.work(python_us * kUs);
        program.kernel(kernel_us * kUs);
      }
    });
    return told(std::move(program), "launch_bound");
  };
  EXPECT_EQ(launching(24, 4, 10),
            "warning at the step: launching work takes longer than the GPU takes for it\n"
            "saves 257080 ns of a step, 2570800 ns in all, 71.21 %\n"
            "kernels 24 times a step, of 4.00 us each (median), start 0 ns after their launch (median): the queue "
            "is empty, and the GPU has nothing to do for 73 % of the time. Launching is the CPU's work: "
            "it keeps one thread busy for 100 % of the time (33 % in calls to CUDA, the rest in Python and "
            "PyTorch)");
  EXPECT_NE(launching(8, 4, 10), "none");
  EXPECT_EQ(launching(7, 4, 10), "none");
  EXPECT_NE(launching(24, 12, 10), "none");  // 20 % idle
  EXPECT_EQ(launching(24, 13, 10), "none");  // 13 %
}

TEST(FiguresOf, CopiesInStep) {
  const auto made = [](std::uint64_t content, int steps) {
    StepProgram program;
    ProcessBuilder& builder = program.builder();
    const std::uint32_t line =
        builder.stack({builder.op("copy_"), builder.op("to_dtype_layout"),
                       builder.native("_ZN5torch5utils11tensor_ctorEN3c1011DispatchKeyE", "/lib/libtorch_python.so"),
                       builder.python("step", "/home/me/train.py", 17)});
    program.steps(steps, [&](int) {
      program.upload({.stack = line,
                      .bytes = 16'384,
                      .duration_ns = 20 * kUs,
                      .host = MemoryKind::kPageable,
                      .wait = Wait::kBehind,
                      .address = 0x1000,
                      .content = content});
      program.kernel(50 * kUs);
    });
    return told(std::move(program), "copies_in_step");
  };
  EXPECT_EQ(made(7, 10),
            "warning at train.py:17: makes the same tensor on the CPU in each step, and uploads it\n"
            "saves 30000 ns of a step, 300000 ns in all, 37.04 %\n"
            "once a step, 16.4 kB each, always the same data, made anew each time; the CPU stood still for "
            "65.5 us a step; then nothing is left to gain from: the CPU waits for an upload "
            "that could run by itself (11 % alone)");
  EXPECT_EQ(
      made(0, 10),
      "info at train.py:17: makes a tensor with torch.tensor(...) in each step, and uploads it\n"
      "saves 30000 ns of a step, 300000 ns in all, 37.04 %\n"
      "once a step, 16.4 kB each, made by torch.tensor(...) (whether its values change was not "
      "recorded); the CPU stood still for 65.5 us a step; then nothing is left to gain from: the CPU waits for an upload that could run by itself (11 % alone)");
  EXPECT_NE(made(7, 4), "none");
  EXPECT_EQ(made(7, 3), "none");
  EXPECT_NE(made(0, 3), "none");
}

TEST(FiguresOf, AllocFreeSync) {
  StepProgram program;
  const std::uint32_t first = program.stack(22, {"addmm"});
  const std::uint32_t second = program.stack(24, {});
  program.steps(10, [&](int) {
    program.call(CallKind::kDeviceAlloc, first, "cudaMalloc", 200 * kUs, 1000);
    program.kernel(100 * kUs);
    program.call(CallKind::kDeviceFree, first, "cudaFree", 20 * kUs);
    program.call(CallKind::kDeviceFree, second, "cudaFree", 25 * kUs);
    program.call(CallKind::kDeviceFree, second, "cudaFreeAsync", 90 * kUs);
  });
  EXPECT_EQ(told(std::move(program), "alloc_free_sync"),
            "warning at train.py:24: gives GPU memory back to CUDA in each step, which makes the CPU wait "
            "for the GPU\n"
            "saves 240000 ns of a step, 2400000 ns in all, 70.38 %\n"
            "frees twice a step, allocations once a step; the frees took 45.0 us a step, the allocations 200 "
            "us a step");
}

TEST(FiguresOf, UnsafeRead) {
  const auto unawaited = [](int steps, std::uint64_t distance) {
    StepProgram program;
    const std::uint32_t line = program.stack(21, {"copy_"});
    program.steps(steps, [&](int step) {
      program.kernel(50 * kUs);
      program.download({.stack = line,
                        .bytes = 1000,
                        .duration_ns = 3 * kUs,
                        .address = 0x100000 + static_cast<std::uint64_t>(step) * distance});
    });
    return told(std::move(program), "unsafe_read");
  };
  EXPECT_EQ(unawaited(10, 0),
            "error at train.py:21: a result may be read before it has arrived: nothing waits for this copy\n"
            "saves ? ns of a step, ? ns in all, ?\n"
            "once a step, 1.00 kB each, with non_blocking=True; 9 of 10 were overwritten by the next before "
            "anything waited for them: read by then, they may have been incomplete; not read, they were "
            "copied for nothing");
  EXPECT_NE(unawaited(3, 999), "none");  // the last byte of one is the first of the next
  EXPECT_EQ(unawaited(3, 1000), "none");
  EXPECT_NE(unawaited(3, 0), "none");
  EXPECT_EQ(unawaited(2, 0), "none");  // once may be the end
}

}  // namespace
}  // namespace turnpike::analyze
