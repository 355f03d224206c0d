// The comparison of two runs as text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyze/compare/compare.h"
#include "report/text/terminal.h"

namespace turnpike::report {

// What a step takes, the largest changes, what limits the run: a sentence each. Untrusted names in them are not
// cleaned.
std::vector<std::string> summary_sentences(const analyze::Comparison& comparison, const analyze::Report& before,
                                           const analyze::Report& after);
// The same as one paragraph.
std::string summary_of(const analyze::Comparison& comparison, const analyze::Report& before,
                       const analyze::Report& after);

// `before` and `after` are what `comparison` was made of.
std::string to_text(const analyze::Comparison& comparison, const analyze::Report& before, const analyze::Report& after,
                    const TextOptions& options);

}  // namespace turnpike::report
