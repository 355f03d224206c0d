// Hands the readers of all kinds of runs to the analysis.
#include "cli/open_run.h"

#include <memory>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "ingest/run_reader.h"
#include "machine/link_rates.h"
#include "report/text/incomplete.h"

namespace turnpike::cli {
namespace {

void tell(const analyze::InputRemarks& inputs, const char* command) {
  for (const auto& sentences : {inputs.unreadable, inputs.notes}) {
    for (const std::string& sentence : sentences) say(command, sentence);
  }
  if (inputs.is_incomplete()) say(command, report::incomplete_sentence(inputs));
}

}  // namespace

analyze::FileReader all_kinds() {
  return {.kind_of = ingest::kind_of, .read = ingest::read_file};
}

Result<analyze::Report> open_run(const std::vector<std::filesystem::path>& runs, const char* command,
                                 const analyze::ProcessWatcher& watch) {
  const analyze::LinkRates rates = measured_link_rates(command);
  auto report = [&] {
    ProgressBar bar("reading");
    return analyze::analyze_run(runs, all_kinds(), rates, bar.callback(), watch);
  }();
  if (report) tell(report->source.inputs, command);
  return report;
}

Result<analyze::LoadedRun> load_run(const std::vector<std::filesystem::path>& runs, const char* command) {
  auto run = [&] {
    ProgressBar bar("reading");
    return analyze::load_run(runs, all_kinds(), bar.callback());
  }();
  if (run) tell(run->inputs, command);
  return run;
}

int with_files(const char* command, bool is_strict, const std::function<int(const analyze::FileReader&)>& work,
               const analyze::FileReader& reader) {
  const auto remarks = std::make_shared<analyze::InputRemarks>();
  const int code = work(analyze::noting_unread(reader, remarks));
  tell(*remarks, command);
  return code == kFine ? exit_code_of(*remarks, is_strict) : code;
}

int exit_code_of(const analyze::InputRemarks& inputs, bool is_strict) {
  return inputs.is_input_missing || (is_strict && inputs.is_incomplete()) ? kUnreadableInput : kFine;
}

analyze::LinkRates measured_link_rates(const char* command) {
  auto rates = machine::kept_link_rates();
  if (rates) return std::move(*rates);
  say(command, rates.error().message);
  return {};
}

}  // namespace turnpike::cli
