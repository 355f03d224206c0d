// On every recording of tests/golden: the stretches without kernels add up to what the verdict says, and re-timed steps
// to what findings say that they save.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/model/device_step.h"
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

// Nanoseconds by cause, in steps without pauses, or in the whole run without steps.
struct Sums {
  std::array<std::int64_t, kIdleCauses.size()> by_cause{};
  std::int64_t span_ns = 0;

  std::int64_t& of(IdleCause cause) { return by_cause[static_cast<std::size_t>(cause)]; }
  double pct(IdleCause cause) const {
    return 100.0 * static_cast<double>(by_cause[static_cast<std::size_t>(cause)]) / static_cast<double>(span_ns);
  }
};

struct DeviceSums {
  Sums of_busy_devices;  // which the verdict is about
  Sums of_all_devices;
};

std::int64_t inside_ns(const Interval& time, const Interval& other) {
  return std::max<std::int64_t>(0, std::min(time.end_ns, other.end_ns) - std::max(time.start_ns, other.start_ns));
}

// What the verdict of a process is about.
std::vector<Interval> judged_times(const ProcessView& view) {
  const std::optional<FoundSteps>& steps = view.model->steps();
  if (!steps) return {view.idle->span()};
  const std::vector<Interval> all = whole_steps(view.timeline, *steps);
  std::vector<std::int64_t> sorted_ns;
  for (const Interval& step : all) sorted_ns.push_back(step.end_ns - step.start_ns);
  std::sort(sorted_ns.begin(), sorted_ns.end());
  const std::int64_t usual_ns = (sorted_ns[(sorted_ns.size() - 1) / 2] + sorted_ns[sorted_ns.size() / 2]) / 2;
  std::vector<Interval> usual;
  for (const Interval& step : all) {
    if (step.end_ns - step.start_ns <= 3 * usual_ns) usual.push_back(step);
  }
  return 10 * (all.size() - usual.size()) > all.size() ? all : usual;
}

// From the records, those that run at the same time once.
std::int64_t work_ns(const Timeline& timeline, std::uint32_t device) {
  std::vector<Interval> work;
  const auto add = [&](const auto& record) {
    if (record.device == device && record.has_times()) work.push_back({record.start_ns, record.end_ns});
  };
  for (const Kernel& kernel : timeline.kernels) add(kernel);
  for (const Transfer& transfer : timeline.transfers) {
    if (transfer.direction != Direction::kHostToHost) add(transfer);
  }
  return IntervalSet(std::move(work)).total_ns();
}

Sums sums_of(IdleTimes& idle, std::uint32_t device, const std::vector<Interval>& judged) {
  Sums sums;
  for (const Interval& time : judged) sums.span_ns += time.end_ns - time.start_ns;
  std::int64_t reached_ns = std::numeric_limits<std::int64_t>::min();
  for (const IdleInterval& one : idle.of(device)) {
    EXPECT_LT(one.time.start_ns, one.time.end_ns);
    EXPECT_GE(one.time.start_ns, reached_ns);
    reached_ns = one.time.end_ns;
    for (const Interval& time : judged) sums.of(one.cause) += inside_ns(one.time, time);
  }
  return sums;
}

void add(Sums& sums, const Sums& more) {
  sums.span_ns += more.span_ns;
  for (const IdleCause cause : kIdleCauses) sums.of(cause) += more.by_cause[static_cast<std::size_t>(cause)];
}

void add_process(DeviceSums& sums, const ProcessView& view) {
  const std::vector<Interval> judged = judged_times(view);
  std::int64_t most_ns = 0;
  for (const std::uint32_t device : view.idle->devices()) most_ns = std::max(most_ns, work_ns(view.timeline, device));
  for (const std::uint32_t device : view.idle->devices()) {
    const Sums of_device = sums_of(*view.idle, device, judged);
    add(sums.of_all_devices, of_device);
    if (10 * work_ns(view.timeline, device) >= most_ns) add(sums.of_busy_devices, of_device);
  }
}

void expect_shares(const Sums& sums, const Verdict& verdict) {
  ASSERT_TRUE(verdict.idle);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kCopy), verdict.idle->copies_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kSync), verdict.idle->syncs_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kAllocation), verdict.idle->allocations_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kInput), verdict.idle->input_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kLaunch), verdict.idle->launch_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kUnknown), verdict.idle->quiet_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kBetweenKernels), verdict.idle->between_kernels_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kOtherDevice), verdict.idle->other_devices_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kUnrecorded), verdict.idle->unrecorded_pct);
  EXPECT_DOUBLE_EQ(sums.pct(IdleCause::kCopiesOnly), *verdict.exposed_transfer_pct);
}

void expect_rows(const Sums& sums, const Report& report) {
  Sums of_rows;
  for (const IdleSite& row : report.idle) of_rows.of(row.cause) += report.steps ? row.in_steps_ns : row.time_ns;
  EXPECT_EQ(of_rows.by_cause, sums.by_cause);
}

class GoldenRun : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenRun, HasTheVerdictsSharesOfIdleTime) {
  DeviceSums sums;
  const auto report = analyze_run({GetParam()}, own_files(), {}, {}, [&](const ProcessView& view) {
    if (view.idle == nullptr) return;  // a process without kernels
    add_process(sums, view);
  });
  ASSERT_TRUE(report);
  expect_shares(sums.of_busy_devices, report->verdict);
  expect_rows(sums.of_all_devices, *report);
}

TEST_P(GoldenRun, HasStepsThatSaveWhatFindingsSay) {
  const auto report = analyze_run({GetParam()}, own_files(), {}, {}, [&](const ProcessView& view) {
    if (view.found == nullptr) return;  // a process without kernels
    ASSERT_EQ(view.found->changes.size(), view.found->findings.size());
    for (std::size_t i = 0; i < view.found->findings.size(); ++i) {
      const Finding& finding = view.found->findings[i];
      if (!finding.saving_step_ns) continue;
      const auto step = retimed_step(*view.model, view.found->changes[i]);
      const auto prediction = predict(*view.model, view.found->changes[i], view.found->pauses);
      ASSERT_TRUE(step && prediction) << finding.rule;
      EXPECT_EQ(std::llround(prediction->saving_ns()), *finding.saving_step_ns);
      // One step is not the mean of all: by how much it differs is a part of the step as it was recorded.
      const auto shown_ns = static_cast<double>(step->work.end_ns - step->work.start_ns);
      EXPECT_NEAR(shown_ns, step->predicted_step_ns, 0.25 * view.model->measured_step_ns()) << finding.rule;
    }
  });
  ASSERT_TRUE(report);
}

TEST_P(GoldenRun, IsExplainedByItsDependenciesAlone) {
  const auto report = analyze_run({GetParam()}, own_files(), {}, {}, [&](const ProcessView& view) {
    if (view.model != nullptr) {
      EXPECT_LT(view.model->unexplained_share(), 0.02);
    }
  });
  ASSERT_TRUE(report);
}

// The device that computes most must still do so: no change takes a kernel away, and only collectives may wait less.
double computing_ns(const ProcessView& view, Pauses pauses) {
  std::map<std::uint32_t, std::vector<Interval>> by_device;
  for (const Kernel& kernel : view.timeline.kernels) {
    const bool is_collective = view.process.string(kernel.name).find("nccl") != std::string::npos;
    if (kernel.has_times() && !is_collective) by_device[kernel.device].push_back({kernel.start_ns, kernel.end_ns});
  }
  const Graph& graph = view.model->graph();
  const std::vector<Interval> steps = counted_steps(graph, graph.measured_ns, pauses);
  std::int64_t most_ns = 0;
  for (auto& [device, kernels] : by_device) {
    const IntervalSet computing(std::move(kernels));
    std::int64_t sum_ns = 0;
    for (const Interval& step : steps) {
      sum_ns += computing.covered_ns(step.start_ns + graph.window.start_ns, step.end_ns + graph.window.start_ns);
    }
    most_ns = std::max(most_ns, sum_ns);
  }
  return static_cast<double>(most_ns) / static_cast<double>(steps.size());
}

TEST_P(GoldenRun, ClaimsNoSavingOfWhatTheDeviceMustStillCompute) {
  const auto report = analyze_run({GetParam()}, own_files(), {}, {}, [&](const ProcessView& view) {
    if (view.found == nullptr) return;  // a process without kernels
    const Pauses pauses = view.found->pauses;
    const double step_ns = view.model->measured_step_ns(pauses);
    const double most_ns = step_ns - computing_ns(view, pauses) + 1;
    for (const Finding& finding : view.found->findings) {
      EXPECT_LE(static_cast<double>(finding.saving_step_ns.value_or(0)), most_ns) << finding.rule;
      EXPECT_LE(static_cast<double>(finding.saving_step_expected_ns.value_or(0)), most_ns) << finding.rule;
    }
    EXPECT_LE(view.found->saving_pct_all.value_or(0) / 100 * step_ns, most_ns);
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
