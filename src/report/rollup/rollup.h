// A roll-up: what one process did, minute by minute, in a Parquet file of some kilobytes. Those of many processes
// together are one small table for DuckDB and its like. docs/rollup.md describes the columns.
//
// Its sums are those of the report: the same places, the same costs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/analyze.h"
#include "analyze/model/link_state.h"
#include "analyze/sums/run_sums.h"
#include "report/rollup/step_rows.h"
#include "report/rollup/sums.h"

namespace turnpike::report::rollup {

// Adds up one process, of which only a part of its time need be in memory at once.
class RollUp {
 public:
  // Keeps a reference. Complete: it names what the records of all parts refer to.
  explicit RollUp(const trace::Process& process);

  // Whether it is known what a step is, or can be told from this timeline.
  bool has_steps(const analyze::Timeline& timeline) const;
  // The parts in the order of time. `timeline`: also what lies around the part, as far as one thing explains another,
  // such as a call and its copy.
  void add(const analyze::Timeline& timeline, const Part& part);
  // The bytes of the file. `run`: the name of the run that the process belongs to.
  std::string finish(const std::string& run);

 private:
  std::int64_t minute_or_first(std::int64_t time_ns) const;
  void watch(const analyze::Timeline& timeline, const Part& part);
  void count_losses(const analyze::Timeline& timeline, const Part& part);
  void add_losses();

  const trace::Process& process_;
  const analyze::HostNodes host_nodes_;
  analyze::RunSums sums_;
  Tables tables_;
  StepRows steps_;
  std::vector<trace::DeviceRecord> gpus_;
  std::optional<analyze::Interval> span_;
  std::uint64_t missing_count_ = 0;
  std::uint64_t unmatched_count_ = 0;
};

// Of a process that is in memory as a whole.
std::string rollup_of(const analyze::LoadedProcess& loaded, const std::string& run);

}  // namespace turnpike::report::rollup
