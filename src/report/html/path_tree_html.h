// The call paths as a tree of the document that opens and closes without script.
#pragma once

#include <string>

#include "analyze/report.h"

namespace turnpike::report::html {

// A section; "" where no path has a cost. Parts with less than a tenth of all cost are folded.
std::string path_tree_html(const analyze::CallPaths& paths);

}  // namespace turnpike::report::html
