#include "cli/open_run.h"

#include <cstdio>

#include "analyze/analyze.h"
#include "cli/progress.h"
#include "ingest/run_reader.h"
#include "report/link_rates.h"

namespace turnpike::cli {

Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command) {
  ProgressBar bar("reading");
  auto report = analyze::analyze_run(runs, {.kind_of = ingest::kind_of, .read = ingest::read_file}, bar.callback());
  if (!report) return report;
  if (auto rates = report::add_link_rates(*report); !rates) {
    std::fprintf(stderr, "%s: %s\n", command, rates.error().message.c_str());
  }
  return report;
}

}  // namespace turnpike::cli
