// turnpike dump: the raw records of a run, one per line.
#include "report/dump/dump.h"

#include <signal.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyze/analyze.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/runs_argument.h"
#include "trace/reader.h"

namespace turnpike::cli {
namespace {

struct DumpOptions {
  std::vector<std::filesystem::path> runs;
  std::vector<std::string> kinds;
  bool is_strict = false;
};

// A reader that has seen enough (`| head`) is no failure.
extern "C" void leave_quietly(int) {
  _exit(kFine);
}

int dump(const std::vector<std::filesystem::path>& files, const DumpOptions& options,
         const analyze::FileReader& reader) {
  const report::ReadTrace read = [&reader](const auto& file, trace::RecordSink& sink) -> Result<trace::Process> {
    auto processes = reader.read(file, [&sink]() -> trace::RecordSink& { return sink; }, {});
    if (!processes) return processes.error();
    return std::move(processes->front());
  };
  const std::set<std::string, std::less<>> kinds(options.kinds.begin(), options.kinds.end());
  int status = kFine;
  for (const auto& file : files) {
    const Status dumped = report::dump_file(file, kinds, stdout, read);
    if (dumped.is_ok()) continue;
    say("turnpike dump", dumped.error().message);
    status = kUnreadableInput;
    if (std::ferror(stdout)) {
      __fpurge(stdout);  // so that it does not come again when the process ends
      std::clearerr(stdout);
      return kFailed;
    }
  }
  return status;
}

int dump_newest(const DumpOptions& options) {
  ::signal(SIGPIPE, leave_quietly);
  const auto runs = runs_or_newest(options.runs, "turnpike dump");
  if (!runs) return fail("turnpike dump", runs.error().message, kUsage);
  const auto files = trace::run_files(runs->front());
  if (!files) {
    say("turnpike dump", files.error().message);
    return kUnreadableInput;
  }
  return with_files(
      "turnpike dump", options.is_strict,
      [&](const analyze::FileReader& reader) { return dump(*files, options, reader); }, analyze::own_files());
}

}  // namespace

void add_dump(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("dump", "Print the raw records of a run, one per line");
  const auto options = std::make_shared<DumpOptions>();
  command
      .add_option("RUN", options->runs,
                  "A run's directory, or one trace file of it\n(default: the newest *.tpk in this folder)")
      .at_most_one()
      .check(check_is_named)
      .type_name("");
  const auto kinds = report::dump_kinds();
  std::vector<std::string> known(kinds.begin(), kinds.end());
  std::sort(known.begin(), known.end());
  command.add_option("--kind", options->kinds, "Only these lines, e.g. call,memcpy; also: metadata, stack, loss, ...")
      .delimiter(',')
      .one_of(known);
  add_strict_option(command, options->is_strict);
  command.footer(
      "Exit code: 0, 2 wrong usage, 3 a file cannot be read, 4 the lines cannot be written. A closed pipe\n"
      "(| head) is not an error.");
  command.callback([options, &status] { status = dump_newest(*options); });
}

}  // namespace turnpike::cli
