// The report as a document: complete without script, for mail, print, screen readers and grep.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "analyze/report.h"
#include "report/findings/line_change.h"
#include "report/html/source_excerpts.h"

namespace turnpike::report::html {

struct StaticReport {
  const analyze::Report& report;
  const std::string& headline;
  const std::string& details;
  const std::vector<std::string>& missing;  // what the recording and the page lack, in sentences
  const LineChanges& changes;               // by finding
  const std::vector<Excerpt>& excerpts;
  const std::string& no_source;  // why there is no source; "" where there is
  const std::string& picture;    // HTML
};

// The inside of <main>.
std::string html_of(const StaticReport& parts);

// Its parts, for a shorter document of them. Each is whole, or "" where there is nothing to say.
std::string verdict_html(const StaticReport& parts);
std::string findings_html(const StaticReport& parts,
                          std::size_t max_findings = std::numeric_limits<std::size_t>::max());
std::string source_html(const StaticReport& parts);

}  // namespace turnpike::report::html
