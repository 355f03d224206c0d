// Several findings at one line: which of them is told, and what becomes of the others.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/rules/step_program.h"

namespace turnpike::analyze {
namespace {

constexpr std::uint32_t kLine = 17;

std::vector<Finding> findings_of(StepProgram& program) {
  const LoadedProcess processes[] = {program.builder().take()};
  std::vector<Finding> findings = analyze_processes(processes).findings;
  std::erase_if(findings, [](const Finding& finding) { return finding.site != "train.py:17"; });
  return findings;
}

const Finding* of_rule(const std::vector<Finding>& findings, const std::string& rule) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.rule == rule; });
  return found == findings.end() ? nullptr : &*found;
}

// Uploads at one line in each step; `work_ns` of the host go before.
template <typename CopyOfStep>
StepProgram uploading(const CopyOfStep& copy_of, std::int64_t work_ns = 0) {
  StepProgram program;
  const std::uint32_t stack = program.stack(kLine, {"copy_", "to_dtype_layout"});
  program.steps(8, [&](int step) {
    StepCopy copy = copy_of(step);
    copy.stack = stack;
    program.work(work_ns);
    program.upload(copy);
    program.kernel(50 * kUs);
  });
  return program;
}

TEST(Findings, OfTwoAnswersToOneQuestionTheOneThatGainsMoreLeads) {
  StepProgram program = uploading([](int) { return StepCopy{.wait = Wait::kInCall, .address = 0x1000, .content = 7}; });
  const auto findings = findings_of(program);
  ASSERT_EQ(findings.size(), 2u);
  const Finding* leader = of_rule(findings, "repeated_upload");
  const Finding* other = of_rule(findings, "blocking_copy");
  ASSERT_TRUE(leader && other);
  EXPECT_GT(leader->saving_pct.value_or(0), other->saving_pct.value_or(100));
  EXPECT_EQ(leader->superseded_by, std::nullopt);
  EXPECT_EQ(other->superseded_by, "repeated_upload");
  EXPECT_NE(leader->evidence.find("; also seen here, with nothing left to gain then: " + other->title + " ("),
            std::string::npos)
      << leader->evidence;
  EXPECT_EQ(other->evidence.find("also seen here"), std::string::npos);
}

// Without the rate of the link nobody knows what pinning gains; but copies that are not made any more need none.
TEST(Findings, WithoutAKnownGainAreLedByWhatTakesTheirCopiesAway) {
  StepProgram program = uploading([](int) {
    return StepCopy{.bytes = 4 * kMiB,
                    .host = trace::MemoryKind::kPageable,
                    .wait = Wait::kInCall,
                    .address = 0x1000,
                    .content = 7};
  });
  const auto findings = findings_of(program);
  const Finding* pageable = of_rule(findings, "pageable_async_copy");
  ASSERT_TRUE(pageable);
  EXPECT_EQ(pageable->saving_pct, std::nullopt);
  EXPECT_EQ(pageable->superseded_by, "repeated_upload");
}

TEST(Findings, StandBesideEachOtherWhereEachGainsSomething) {
  StepProgram program = uploading(
      [](int step) {
        return StepCopy{.host = trace::MemoryKind::kPageable,
                        .wait = Wait::kInCall,
                        .address = 0x1000,
                        .content = 7u + static_cast<std::uint64_t>(step)};
      },
      4000 * kUs);
  const auto findings = findings_of(program);
  ASSERT_TRUE(of_rule(findings, "late_loader"));
  ASSERT_TRUE(of_rule(findings, "pageable_async_copy"));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.superseded_by, std::nullopt) << finding.rule;
    EXPECT_EQ(finding.evidence.find("also seen here"), std::string::npos) << finding.evidence;
  }
}

TEST(Findings, WarnOfWrongResultsBesideAllElse) {
  StepProgram program;
  const std::uint32_t stack = program.stack(kLine, {"copy_"});
  program.steps(8, [&](int) {
    program.kernel(400 * kUs);
    program.download({.stack = stack, .address = 0x2000});
  });
  const auto findings = findings_of(program);
  const Finding* error = of_rule(findings, "unsafe_read");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->superseded_by, std::nullopt);
  EXPECT_TRUE(of_rule(findings, "copy_on_compute_stream"));
}

}  // namespace
}  // namespace turnpike::analyze
