// One self-contained file for browsers: the report as a document, and the program and data of its timeline.
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

// Processes are added one by one and can be dropped then, as with RunLanes.
class Page {
 public:
  // `process_count`: how many will be added; they share the room for events.
  Page(PageOptions options, std::size_t process_count);
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  void add(const analyze::ProcessView& view) { run_.add(view); }
  // The whole file. `report` is of all processes that were added. The same run makes the same bytes.
  void write(analyze::Report report, const Output& output) const;

 private:
  EncodedLanes all_lanes(const analyze::Report& report, Strings& strings) const;
  analyze::Interval window(std::int64_t base_ns, std::int64_t span_ns) const;
  std::vector<std::string> left_out() const;

  PageOptions options_;
  PageData data_;
  RunLanes run_;
};

}  // namespace turnpike::report::html
