// turnpike report: what happened in a run, what it cost, where.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/newest_run.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/runs_argument.h"
#include "cli/terminal.h"
#include "report/json/json.h"
#include "report/text/terminal.h"

namespace turnpike::cli {
namespace {

constexpr std::size_t kPageWidth = 100;

constexpr const char* kExamples = R"(Examples:
  turnpike report                        of the newest run in this folder
  turnpike report train.tpk              the report as text
  turnpike report train.tpk --top 50     more source lines
  turnpike report train.tpk --json       for other programs
  turnpike report rank0.tpk rank1.tpk    several runs as one
  turnpike report trace.json.gz          a trace of torch.profiler
  turnpike report profile.sqlite         an export of Nsight Systems (nsys export --type sqlite)

Exit code: 0, 2 wrong usage, 3 a run cannot be read, 4 the report cannot be written.)";

struct Arguments {
  std::vector<std::filesystem::path> runs;
  bool is_json = false;
  bool no_colour = false;
  std::size_t top = 15;
};

int fail(const std::string& message, int code) {
  say("turnpike report", message);
  return code;
}

std::string text_of(const analyze::Report& report, const Arguments& arguments) {
  if (arguments.is_json) return report::to_json(report);
  return report::to_text(report, {.width = usable_width(STDOUT_FILENO, kPageWidth),
                                  .has_colour = !arguments.no_colour && has_colour(STDOUT_FILENO),
                                  .top = arguments.top});
}

// The newest run in the working directory where none is named, which is said.
Result<std::vector<std::filesystem::path>> runs_of(const Arguments& arguments) {
  if (!arguments.runs.empty()) return arguments.runs;
  const auto newest = newest_run_here();
  if (!newest) {
    return Error{
        "this folder has no run (*.tpk). Name one, or record one: turnpike record -- python "
        "train.py\nSee `turnpike report --help`."};
  }
  say("turnpike report", newest->string() + ", the newest run in this folder");
  return std::vector{*newest};
}

int report(const Arguments& arguments) {
  const auto runs = runs_of(arguments);
  if (!runs) return fail(runs.error().message, kUsage);
  const auto report = open_run(*runs, "turnpike report");
  if (!report) return fail(report.error().message, kUnreadableInput);
  auto output = OutputFile::create("-");
  output->write(text_of(*report, arguments));
  const Status written = output->commit();
  return written ? exit_code_of(report->source.inputs) : fail(written.error().message, kFailed);
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  CLI::App* const command = app.add_subcommand("report", "Show what a run's transfers cost and which lines cause them");
  const auto arguments = std::make_shared<Arguments>();
  add_runs_argument(*command, arguments->runs, true);
  command->add_flag("--json", arguments->is_json, "Print JSON with everything, for other programs");
  command->add_option("--top", arguments->top, "How many source lines to show (default: 15)")
      ->type_name("N")
      ->check(check_is_count);
  command->add_flag("--no-colour,--no-color", arguments->no_colour, "No colour, even on a terminal (also: NO_COLOR=1)");
  command->footer(kExamples);
  command->callback([arguments, &status] { status = report(*arguments); });
}

}  // namespace turnpike::cli
