#include "cli/open_run.h"

#include <cstdio>

#include "analyze/analyze.h"
#include "cli/foreign_input.h"
#include "cli/progress.h"
#include "report/link_rates.h"

namespace turnpike::cli {

Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command) {
  if (auto own = check_are_turnpike_runs(runs); !own) return own.error();
  ProgressBar bar("reading");
  auto report = analyze::analyze_run(runs, bar.callback());
  if (!report) return report;
  if (auto rates = report::add_link_rates(*report); !rates) {
    std::fprintf(stderr, "%s: %s\n", command, rates.error().message.c_str());
  }
  return report;
}

}  // namespace turnpike::cli
