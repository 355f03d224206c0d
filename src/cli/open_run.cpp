#include "cli/open_run.h"

#include <cstdio>

#include "analyze/analyze.h"
#include "cli/progress.h"
#include "ingest/run_reader.h"
#include "report/link_rates.h"

namespace turnpike::cli {

Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command) {
  const auto rates = report::kept_link_rates();
  if (!rates) std::fprintf(stderr, "%s: %s\n", command, rates.error().message.c_str());
  ProgressBar bar("reading");
  auto report = analyze::analyze_run(runs, {.kind_of = ingest::kind_of, .read = ingest::read_file},
                                     rates ? *rates : analyze::LinkRates(), bar.callback());
  if (report && rates) report::add_link_rates(*report, *rates);
  return report;
}

}  // namespace turnpike::cli
