// Page-locked memory that PyTorch's allocator rounded up.
#include <gtest/gtest.h>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr std::uint64_t kGiB = 1024 * kMiB;
constexpr std::uint64_t kBase = 0x7f00'0000'0000;

class Program {
 public:
  std::uint32_t stack(const std::string& op) { return op.empty() ? program_.stack(17, {}) : program_.stack(17, {op}); }
  void lock(std::uint64_t address, std::uint64_t bytes, const std::string& op = "pin_memory") {
    call(trace::CallKind::kHostAlloc, "cudaHostAlloc", stack(op), bytes, address, 0);
  }
  void unlock(std::uint64_t address) { call(trace::CallKind::kHostFree, "cudaFreeHost", stack(""), 0, address, 0); }
  void upload(std::uint64_t address, std::uint64_t bytes, const std::string& name = "cudaMemcpyAsync") {
    call(trace::CallKind::kCopy, name, stack("copy_"), bytes, 1, address);
  }
  std::vector<Finding> findings() {
    program_.work(at_ns_);
    program_.steps(5, [&](int) { program_.kernel(100 * kUs); });
    return program_.findings("pinned_rounding");
  }

 private:
  void call(trace::CallKind kind, const std::string& name, std::uint32_t stack, std::uint64_t bytes, std::uint64_t dst,
            std::uint64_t src) {
    program_.builder().call({.kind = kind,
                             .start_ns = at_ns_,
                             .end_ns = at_ns_ + 5 * kUs,
                             .correlation = ++correlation_,
                             .stack = stack,
                             .name = name,
                             .bytes = bytes,
                             .dst = dst,
                             .src = src});
    at_ns_ += 10 * kUs;
  }

  StepProgram program_;
  std::int64_t at_ns_ = 0;
  std::uint32_t correlation_ = 1'000'000;
};

TEST(PinnedRounding, IsToldWithWhatCopiesUsed) {
  Program program;
  program.lock(kBase, 2 * kGiB);
  program.upload(kBase, 1'100'000'000);
  program.upload(kBase + 1'000'000'000, 150'000'000);
  const auto findings = program.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].site, "train.py:17");
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
  EXPECT_EQ(findings[0].title,
            "PyTorch rounds what it page-locks (pins) up to powers of two: 997 MB of host memory are locked and not "
            "used");
  EXPECT_EQ(findings[0].evidence,
            "1 block of 2.15 GB, a power of two each; copies used 1.15 GB of it, and 997 MB stayed unused");
  EXPECT_EQ(findings[0].saving_ns, std::nullopt);
}

TEST(PinnedRounding, CountsBlocksThatExistAtOneTime) {
  Program program;
  program.lock(kBase, kGiB);
  program.upload(kBase, 600 * kMiB);
  program.lock(kBase + 8 * kGiB, kGiB);
  program.upload(kBase + 8 * kGiB, 700 * kMiB);
  program.unlock(kBase);
  program.lock(kBase, kGiB);
  program.upload(kBase, 800 * kMiB);
  const auto findings = program.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].evidence.substr(0, findings[0].evidence.find(',')), "2 blocks of 2.15 GB");
  EXPECT_NE(findings[0].evidence.find("copies used 1.36 GB"), std::string::npos) << findings[0].evidence;
}

TEST(PinnedRounding, IsSilentBelowAQuarterOfAGibibyte) {
  Program exact;
  exact.lock(kBase, kGiB);
  exact.upload(kBase, 768 * kMiB);
  EXPECT_EQ(exact.findings().size(), 1u);
  Program less;
  less.lock(kBase, kGiB);
  less.upload(kBase, 768 * kMiB + 1);
  EXPECT_TRUE(less.findings().empty());
}

TEST(PinnedRounding, IsSilentWhereTheRestIsATenth) {
  Program program;
  program.lock(kBase, 4 * kGiB);
  program.upload(kBase, 3700 * kMiB);
  EXPECT_TRUE(program.findings().empty());
}

// Of a block of which copies used less than half, it cannot be told for what it was made.
TEST(PinnedRounding, IsSilentWhereCopiesDoNotShowTheSize) {
  Program little;
  little.lock(kBase, 2 * kGiB);
  little.upload(kBase, kGiB);
  EXPECT_TRUE(little.findings().empty());
  Program none;
  none.lock(kBase, 2 * kGiB);
  EXPECT_TRUE(none.findings().empty());
  Program rows;
  rows.lock(kBase, 2 * kGiB);
  rows.upload(kBase, 1'100'000'000, "cudaMemcpy2DAsync");
  EXPECT_TRUE(rows.findings().empty());
}

TEST(PinnedRounding, IsNotOfMemoryThatTheProgramLocks) {
  Program by_hand;
  by_hand.lock(kBase, 2 * kGiB, "");
  by_hand.upload(kBase, 1'100'000'000);
  EXPECT_TRUE(by_hand.findings().empty());
  Program exact;
  exact.lock(kBase, 2'200'000'000);
  exact.upload(kBase, 1'100'000'000);
  EXPECT_TRUE(exact.findings().empty());
}

}  // namespace
}  // namespace turnpike::analyze
