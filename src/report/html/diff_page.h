// One self-contained file for browsers that compares two runs: a document, and both runs on one time axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/process_view.h"
#include "analyze/report.h"
#include "report/html/page_options.h"
#include "report/html/run_lanes.h"

namespace turnpike::report::html {

// The processes of each run are added one by one and can be dropped then, those of the run before the change first. The
// times of the runs are shifted so that their median steps begin at the same moment; of runs without steps, their first
// events.
class DiffPage {
 public:
  // How many processes will be added; the runs share the room for events.
  DiffPage(PageOptions options, std::size_t before_count, std::size_t after_count);
  DiffPage(const DiffPage&) = delete;
  DiffPage& operator=(const DiffPage&) = delete;

  void add_before(const analyze::ProcessView& view);
  void add_after(const analyze::ProcessView& view);
  // The whole file. The reports are of all processes that were added. The same runs make the same bytes.
  void write(analyze::Report before, analyze::Report after, const Output& output) const;

 private:
  std::vector<std::string> left_out() const;

  PageOptions options_;
  PageData data_;
  RunLanes before_;
  RunLanes after_;
  std::size_t before_groups_ = 0;
};

}  // namespace turnpike::report::html
