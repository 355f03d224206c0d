// The comparison of two runs as text.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/compare/compare.h"
#include "report/text/terminal.h"

namespace turnpike::report {

// One paragraph: what a step takes, the largest changes, what limits the run. Untrusted names in it are not cleaned.
std::string summary_of(const analyze::Comparison& comparison, const analyze::Report& before,
                       const analyze::Report& after);

// `before` and `after` are what `comparison` was made of.
std::string to_text(const analyze::Comparison& comparison, const analyze::Report& before, const analyze::Report& after,
                    const TextOptions& options);

}  // namespace turnpike::report
