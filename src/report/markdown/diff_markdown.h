// Two runs side by side as Markdown: what a comment on a pull request has room for.
#pragma once

#include <string>

#include "analyze/compare/compare.h"
#include "analyze/report.h"

namespace turnpike::report {

// What changed in sentences, the doubts, what a step takes and does, the changed places (at most `top`), findings that
// came and went. `before` and `after` are what `comparison` was made of.
std::string to_markdown(const analyze::Comparison& comparison, const analyze::Report& before,
                        const analyze::Report& after, std::size_t top);

}  // namespace turnpike::report
