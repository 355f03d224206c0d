// The text report with everything that an option can show.
#pragma once

#include <string>

#include "report/text/terminal.h"

namespace turnpike::report {

inline std::string whole_text(const analyze::Report& report, const TextOptions& options) {
  return to_text(report, options, every_section());
}

}  // namespace turnpike::report
