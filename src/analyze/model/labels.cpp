// Finds the range around a call, and takes its text apart.
#include "analyze/model/labels.h"

#include <algorithm>

#include "analyze/model/symbols.h"
#include "base/file_line.h"

namespace turnpike::analyze {

bool is_label(const trace::Process& process, const Range& range) {
  return range.domain != trace::kNoId && process.string(range.domain) == kLabelDomain;
}

Labels::Labels(const trace::Process& process, const Timeline& timeline) {
  for (const Range& range : timeline.ranges) {
    if (is_label(process, range)) of_thread_[range.thread].push_back(range);
  }
}

std::uint32_t Labels::of(const Call& call) const {
  const auto found = of_thread_.find(call.thread);
  if (found == of_thread_.end() || !call.has_times()) return trace::kNoId;
  const std::vector<Range>& ranges = found->second;
  const auto after = std::partition_point(ranges.begin(), ranges.end(),
                                          [&](const Range& range) { return range.start_ns <= call.start_ns; });
  if (after == ranges.begin()) return trace::kNoId;
  const Range& range = *std::prev(after);
  return call.end_ns <= range.end_ns ? range.name : trace::kNoId;
}

Place place_of_label(std::string_view text) {
  Place place;
  const auto space = text.rfind(' ');
  const auto line = space == std::string_view::npos ? std::nullopt : parse_file_line(text.substr(0, space));
  if (!line || line->file.empty()) {
    place.site = text;
    return place;
  }
  place.file = line->file;
  place.line = line->line;
  place.op = text.substr(space + 1);
  place.site = std::string(file_name_of(line->file)) + ':' + std::to_string(line->line);
  return place;
}

}  // namespace turnpike::analyze
