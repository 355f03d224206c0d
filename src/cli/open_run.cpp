// Hands the readers of all kinds of runs to the analysis.
#include "cli/open_run.h"

#include <cstdio>

#include "cli/progress.h"
#include "ingest/run_reader.h"
#include "report/link_rates.h"

namespace turnpike::cli {
namespace {

analyze::FileReader all_kinds() {
  return {.kind_of = ingest::kind_of, .read = ingest::read_file};
}

}  // namespace

Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command) {
  const analyze::LinkRates rates = measured_link_rates(command);
  ProgressBar bar("reading");
  auto report = analyze::analyze_run(runs, all_kinds(), rates, bar.callback());
  if (report && rates) report::add_link_rates(*report, rates);
  return report;
}

Result<analyze::LoadedRun> load_run(const std::vector<std::filesystem::path>& runs, const char* command) {
  ProgressBar bar("reading");
  auto run = analyze::load_run(runs, all_kinds(), bar.callback());
  if (!run) return run;
  for (const Error& error : run->unreadable) std::fprintf(stderr, "%s: %s\n", command, error.message.c_str());
  return run;
}

analyze::LinkRates measured_link_rates(const char* command) {
  auto rates = report::kept_link_rates();
  if (rates) return std::move(*rates);
  std::fprintf(stderr, "%s: %s\n", command, rates.error().message.c_str());
  return {};
}

}  // namespace turnpike::cli
