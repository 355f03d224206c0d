// Finds the range around a call, and takes its text apart.
#include "analyze/model/labels.h"

#include <algorithm>
#include <charconv>

#include "analyze/model/symbols.h"

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
  const auto colon = text.rfind(':', space);
  if (space == std::string_view::npos || colon == std::string_view::npos) {
    place.site = text;
    return place;
  }
  std::uint32_t line = 0;
  const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + space, line);
  if (error != std::errc() || end != text.data() + space) {
    place.site = text;
    return place;
  }
  const std::string_view path = text.substr(0, colon);
  place.file = path;
  place.line = line;
  place.op = text.substr(space + 1);
  place.site = std::string(file_name_of(path)) + ':' + std::to_string(line);
  return place;
}

}  // namespace turnpike::analyze
