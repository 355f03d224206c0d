// On every recording of tests/golden: the stretches without kernels add up to what the verdict says, and re-timed steps
// to what findings say that they save.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/whatif/retimed_step.h"

namespace turnpike::analyze {
namespace {

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TURNPIKE_GOLDEN_RUNS)) {
    if (entry.path().extension() == ".tpk") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Nanoseconds by cause, of all devices, in the span of the verdict.
struct Sums {
  std::array<std::int64_t, kIdleCauses.size()> by_cause{};
  std::int64_t span_ns = 0;

  double pct(IdleCause cause) const {
    return 100.0 * static_cast<double>(by_cause[static_cast<std::size_t>(cause)]) / static_cast<double>(span_ns);
  }
};

void add_device(Sums& sums, IdleTimes& idle, std::uint32_t device) {
  const Interval& span = idle.span();
  sums.span_ns += span.end_ns - span.start_ns;
  std::int64_t reached_ns = std::numeric_limits<std::int64_t>::min();
  for (const IdleInterval& one : idle.of(device)) {
    EXPECT_LT(one.time.start_ns, one.time.end_ns);
    EXPECT_GE(one.time.start_ns, reached_ns);
    reached_ns = one.time.end_ns;
    const std::int64_t inside_ns = std::min(reached_ns, span.end_ns) - std::max(one.time.start_ns, span.start_ns);
    if (inside_ns > 0) sums.by_cause[static_cast<std::size_t>(one.cause)] += inside_ns;
  }
}

void expect_shares(const Sums& sums, const Verdict& verdict) {
  ASSERT_TRUE(verdict.idle);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kCopy), verdict.idle->copies_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kSync), verdict.idle->syncs_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kInput), verdict.idle->input_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kLaunch), verdict.idle->launch_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kUnknown), verdict.idle->quiet_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kCopiesOnly), *verdict.exposed_transfer_pct);
}

void expect_rows(const Sums& sums, const Report& report) {
  Sums of_rows;
  for (const IdleSite& row : report.idle) {
    of_rows.by_cause[static_cast<std::size_t>(row.cause)] += report.steps ? row.in_steps_ns : row.time_ns;
  }
  EXPECT_EQ(of_rows.by_cause, sums.by_cause);
}

class GoldenRun : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenRun, HasTheVerdictsSharesOfIdleTime) {
  Sums sums;
  const auto report = analyze_run({GetParam()}, own_files(), {}, {}, [&](const ProcessView& view) {
    if (view.idle == nullptr) return;  // a process without kernels
    for (const std::uint32_t device : view.idle->devices()) add_device(sums, *view.idle, device);
  });
  ASSERT_TRUE(report);
  expect_shares(sums, report->verdict);
  expect_rows(sums, *report);
}

TEST_P(GoldenRun, HasStepsThatSaveWhatFindingsSay) {
  const auto report = analyze_run({GetParam()}, own_files(), {}, {}, [&](const ProcessView& view) {
    if (view.found == nullptr) return;  // a process without kernels
    ASSERT_EQ(view.found->changes.size(), view.found->findings.size());
    for (std::size_t i = 0; i < view.found->findings.size(); ++i) {
      const Finding& finding = view.found->findings[i];
      if (!finding.saving_step_ns) continue;
      const auto step = retimed_step(*view.model, view.found->changes[i]);
      ASSERT_TRUE(step) << finding.rule;
      EXPECT_EQ(std::llround(view.model->measured_step_ns() - step->predicted_step_ns), *finding.saving_step_ns);
      // One step is not the mean of all: by how much it differs is a part of the step as it was recorded.
      const auto shown_ns = static_cast<double>(step->work.end_ns - step->work.start_ns);
      EXPECT_NEAR(shown_ns, step->predicted_step_ns, 0.25 * view.model->measured_step_ns()) << finding.rule;
    }
  });
  ASSERT_TRUE(report);
}

std::string name_of_run(const ::testing::TestParamInfo<std::filesystem::path>& run) {
  std::string name = run.param.parent_path().filename().string() + "_" + run.param.stem().string();
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Idle, GoldenRun, ::testing::ValuesIn(recordings()), name_of_run);

}  // namespace
}  // namespace turnpike::analyze
