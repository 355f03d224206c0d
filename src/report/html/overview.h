// The report as a part of another document, for notebooks: no script, no timeline, and small, since each save of a
// notebook carries it.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/report.h"

namespace turnpike::report::html {

inline constexpr std::size_t kMaxOverviewBytes = 300'000;

// The whole page, where it has been written.
struct WrittenPage {
  std::string path;     // "": it has not
  std::string address;  // of a link to it
};

// A <div> of kMaxOverviewBytes at most. What does not fit is left out and named. Holds no source code, since notebooks
// are shared. Needs no style to be read: what shows it may remove that.
std::string overview_html(const analyze::Report& report, const WrittenPage& page);

}  // namespace turnpike::report::html
