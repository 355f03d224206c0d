// The table of contents: what lanes and blocks the page has, and the texts that events refer to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/model/intervals.h"
#include "report/findings/line_change.h"
#include "report/html/block.h"
#include "report/html/process_lanes.h"
#include "report/html/redact.h"
#include "report/html/sites.h"
#include "report/html/source_excerpts.h"
#include "report/html/strings.h"

namespace turnpike::report::html {

// Receives the page piece by piece.
using Output = std::function<void(std::string_view)>;

struct LaneEntry {
  LaneKind kind;
  std::string title;
  std::uint32_t group;
  std::uint32_t depth;
  std::optional<std::uint32_t> device;
  std::optional<std::size_t> fix;    // the finding whose fix it predicts
  std::vector<std::uint32_t> names;  // indices into the strings
  std::vector<BlockHeader> blocks;
  std::vector<std::pair<std::int64_t, std::uint64_t>> curve;
};

struct Contents {
  std::string headline;
  std::string details;
  std::string wait_remark{};           // why the longest wait is no cause; "" where it is one
  std::vector<std::int64_t> bases_ns;  // by group: what its times count from
  std::int64_t span_ns = 0;
  analyze::Interval window{0, 0};  // where the timeline opens; on the page's axis
  std::vector<std::string> groups;
  const Strings& strings;
  const Sites& sites;
  const std::vector<LaneEntry>& lanes;
  const std::vector<Excerpt>& excerpts;
  std::string no_source;                                      // "" where there is source
  std::vector<std::optional<std::size_t>> sites_of_findings;  // indices into the sites
  LineChanges changes;                                        // by finding
  std::vector<std::string> left_out;
  const Redactor& redactor;
  std::optional<std::size_t> after_group{};  // of two runs: the first group of the run after the change
};

// As JSON that may stand in a script element.
void write(const Contents& contents, const Output& output);

}  // namespace turnpike::report::html
