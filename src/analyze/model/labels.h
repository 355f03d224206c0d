// The lines for which Turnpike's own engine copies: its threads issue the copies, inside NVTX ranges that name the
// line.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyze/model/place.h"
#include "analyze/model/timeline.h"
#include "trace/process.h"

namespace turnpike::analyze {

// The domain of these ranges. Their texts are "train.py:71 tp.prefetch", with the path as the program would open it.
inline constexpr std::string_view kLabelDomain = "turnpike";

bool is_label(const trace::Process& process, const Range& range);

class Labels {
 public:
  Labels(const trace::Process& process, const Timeline& timeline);

  // The text of the range that a call was made in, as a string id; kNoId: in none.
  std::uint32_t of(const Call& call) const;

 private:
  std::unordered_map<std::uint32_t, std::vector<Range>> of_thread_;  // by start; they do not overlap
};

// What a label says; a text of another form is the site.
Place place_of_label(std::string_view text);

}  // namespace turnpike::analyze
