// What programs need of a finding beside its words: a name that lasts, where its line is, and the line as it should be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/report.h"
#include "report/findings/line_change.h"
#include "report/findings/repository_path.h"

namespace turnpike::report {

struct FindingData {
  // "implicit_sync-3f2a91c0": the rule, and a hash of the file's name, the function, the operator and the text of the
  // line. So it stays the same when the line moves, and becomes another one when the line is edited. Findings of one
  // run that would share it are numbered: "implicit_sync-3f2a91c0-2".
  std::string id;
  std::optional<CodeLine> in_repository;  // nullopt: no line is known, or its file is not in the repository
  std::optional<LineChange> change;       // nullopt: see line_changes()
};

// By finding of the report. `repository`: nullptr where no file is to be looked for.
std::vector<FindingData> data_of_findings(const analyze::Report& report, const Repository* repository);

}  // namespace turnpike::report
