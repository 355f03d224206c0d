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
  std::string before;                // as it stands in the file, without its indent
  std::optional<std::string> after;  // nullopt: the line goes
};

// The line of code that the rewritten one needs besides; nullptr: none.
const char* import_for(const LineChange& change);

// What to write in place of a line, given the rule and the advice of a finding there. nullopt unless the line is one of
// the few shapes whose rewrite is sure; nothing is guessed. `above`: the line before it.
std::optional<LineChange> rewritten(const analyze::Finding& finding, const std::string& line, const std::string& above);

// By finding of the report; nullopt where the line cannot be read, has changed since the run, belongs to a library or
// has another shape. Reads source files.
using LineChanges = std::vector<std::optional<LineChange>>;
LineChanges line_changes(const analyze::Report& report);

}  // namespace turnpike::report
