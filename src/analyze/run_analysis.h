// A report in the making: processes are added one by one, and can be dropped once they are in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "analyze/findings.h"
#include "analyze/graph/process_model.h"
#include "analyze/link_rates.h"
#include "analyze/model/steps.h"
#include "analyze/model/timeline.h"
#include "analyze/process_view.h"
#include "analyze/rank_waits.h"
#include "analyze/report.h"
#include "analyze/sums/idle_table.h"
#include "analyze/sums/process_analysis.h"
#include "analyze/sums/site_table.h"
#include "analyze/sums/verdict.h"
#include "trace/process.h"

namespace turnpike::analyze {

class RunAnalysis {
 public:
  // `rates`: what the links of the run's machines can do. Both may be empty.
  explicit RunAnalysis(LinkRates rates = {}, ProcessWatcher watch = {})
      : rates_(std::move(rates)), watch_(std::move(watch)) {}

  void add(const trace::Process& process, const Timeline& timeline);
  // `name`: as in trace::LossInfo, or one that only the analysis knows.
  void count_loss(const std::string& name, std::uint64_t count);
  // `source_kind`: as Source::kind. The caller fills in source.paths. Empties the analysis.
  Report finish(const std::string& source_kind = "turnpike");

 private:
  void add_losses(const trace::Process& process, const Timeline& timeline);
  // `window`: of the steps, or the whole run without them.
  void add_device_time(const DeviceTimes& times, const IntervalSet& span, const std::optional<FoundSteps>& steps);
  // `steps`: as whole_steps() gives them; none where there are none.
  void add_model(const ProcessModel& model, const DeviceTimes& times, std::span<const Interval> steps,
                 FoundFindings found);
  void add_ranges(std::vector<RangeVerdict> ranges);
  void add_memory(std::optional<MemoryUse> use);
  void offer_steps(std::optional<FoundSteps> found);
  void add_findings(FoundFindings found);
  void check_leaders();
  Verdict verdict() const;

  LinkRates rates_;
  RunLinks links_;
  ProcessWatcher watch_;
  Report report_;
  RunSums sums_;
  std::optional<Interval> span_;
  std::optional<FoundSteps> steps_;
  std::uint64_t whole_steps_ = 0;  // of all processes
  // Of processes with steps over these; of those without over their whole span, which counts only where none has steps.
  DeviceTime time_of_steps_;
  DeviceTime time_of_runs_;
  IdleTable idle_;
  VerdictScope scope_;
  // What is told of one process only: of the one that launched most.
  std::uint64_t most_launches_ = 0;
  Verdict details_;
  bool are_kernels_known_ = true;
  RankEffects ranks_;
};

}  // namespace turnpike::analyze
