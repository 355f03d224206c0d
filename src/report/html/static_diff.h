// The comparison of two runs as a document: complete without script.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/compare/compare.h"
#include "report/html/redact.h"
#include "report/html/sites.h"
#include "report/html/step_picture.h"

namespace turnpike::report::html {

// The source lines of a place, where they can be read and are as they ran.
struct CodeChange {
  std::optional<std::string> before{};
  std::optional<std::string> after{};
};

struct StaticDiff {
  const analyze::Comparison& comparison;
  const analyze::Report& before;
  const analyze::Report& after;
  const std::string& headline;
  const std::string& details;
  const std::vector<std::string>& missing;  // what the recordings and the page lack, in sentences
  const std::vector<CodeChange>& code;      // by item of the comparison; empty: no source is shown
};

std::vector<CodeChange> code_of_changes(const analyze::Comparison& comparison, const analyze::Report& before,
                                        const analyze::Report& after);

// What stands above the pictures of the steps: the sentence, what to mind, the runs, a bar of a step of each.
std::string top_of(const StaticDiff& parts);
// The median step of each run, one above the other on one scale.
std::string pictures_of(const StepPicture& before, const StepPicture& after, const Sites& sites);
// What changed, place by place and in all.
std::string tables_of(const StaticDiff& parts);

}  // namespace turnpike::report::html
