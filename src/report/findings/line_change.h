// The advice of a finding as a change of one line of the program, where a rule can write it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::report {

struct LineChange {
  std::string file;
  std::uint32_t line = 0;
  std::string indent{};              // of the line, which is in neither of the two below
  std::string before;                // as it stands in the file
  std::optional<std::string> after;  // nullopt: the line goes
};

// The imports that the rewritten line needs, as lines of code.
std::vector<std::string> imports_for(const LineChange& change);

// What to write in place of a line, by the edit that the rule names. nullopt unless the line is one of the few shapes
// whose rewrite is sure; nothing is guessed. `above`: the line before it.
std::optional<LineChange> rewritten(const analyze::Finding& finding, const std::string& line, const std::string& above);

// By finding of the report; nullopt where the line cannot be read, has changed since the run, belongs to a library or
// has another shape. Reads source files.
using LineChanges = std::vector<std::optional<LineChange>>;
LineChanges line_changes(const analyze::Report& report);

}  // namespace turnpike::report
