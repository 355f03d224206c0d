// turnpike check: whether a run keeps to a budget.
#include "analyze/budget/check.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "analyze/budget/budget_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/runs_argument.h"
#include "cli/same_file.h"
#include "cli/terminal.h"
#include "report/ci/github.h"
#include "report/ci/sarif.h"
#include "report/json/check_json.h"
#include "report/text/budget_text.h"
#include "report/text/check_text.h"

namespace turnpike::cli {
namespace {

constexpr const char* kCheckCommand = "turnpike check";

constexpr const char* kCheckExamples = R"(Examples:
  turnpike check --init train.tpk                    write turnpike.toml from train.tpk, with some room
  turnpike check train.tpk                           is it within turnpike.toml?
  turnpike check train.tpk --budget ci/gpu.toml      another budget file
  turnpike check train.tpk --sarif turnpike.sarif    for code review and editors, beside the text

A budget:
  [per_step]             # means over the steps after warm-up; [per_run] limits the whole run
  h2d_count = 2          # CPU to GPU; also d2h, d2d, p2p, h2h, memset; _bytes, _blocked, _exposed
  d2h_bytes = "4 B"
  syncs = 1
  blocked = "0.2 ms"     # time in which the CPU was blocked

  [[allow]]              # what does not count
  site = "train.py:save_checkpoint"
  reason = "once in a while"

  [[limit]]              # a limit for some lines only
  site = "model.py:*"
  direction = "d2h"
  count = 0
  optional = true        # otherwise the check fails if no line matches; also in [[allow]], [findings]

In GitHub Actions, check also annotates the lines that exceed a limit (unless --no-github).

Exit code: 0 within the budget, 1 over it or a limit cannot be checked, 2 wrong usage or budget file,
3 a run cannot be read, 4 the result cannot be written.)";

struct CheckArguments {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path budget = "turnpike.toml";
  std::filesystem::path sarif;
  bool is_init = false;
  bool is_json = false;
  bool is_strict = false;
  bool is_github = false;
  bool no_github = false;
  bool no_colour = false;
};

Status write_file(const std::filesystem::path& path, const std::string& text) {
  auto output = OutputFile::create(path);
  if (!output) return output.error();
  output->write(text);
  return output->commit();
}

std::vector<std::string> texts_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> texts;
  for (const auto& path : paths) texts.push_back(path.string());
  return texts;
}

int init(const CheckArguments& arguments) {
  std::error_code failed;
  if (std::filesystem::exists(std::filesystem::symlink_status(arguments.budget, failed))) {
    return fail(
        kCheckCommand,
        arguments.budget.string() + " is there already and stays as it is. Remove it, or name another with --budget.",
        kFailed);
  }
  if (auto harmless = check_is_no_input(arguments.budget, arguments.runs); !harmless)
    return fail(kCheckCommand, harmless.error().message, kUsage);
  const auto report = open_run(arguments.runs, kCheckCommand);
  if (!report) return fail(kCheckCommand, report.error().message, kUnreadableInput);
  for (const std::string& reason : report->source.unusable) {
    say(kCheckCommand, "a process could not be recorded: " + reason);
  }
  if (report->source.inputs.is_incomplete() || !report->source.unusable.empty()) {
    return fail(kCheckCommand,
                "no budget is written: limits of a part of a run are no limits of the run. Record it again.",
                kUnreadableInput);
  }
  const Status written =
      write_file(arguments.budget, report::budget_for(*report, joined(texts_of(arguments.runs), ", ")));
  if (!written) return fail(kCheckCommand, written.error().message, kFailed);
  say(kCheckCommand, "wrote " + arguments.budget.string() +
                         ". Read it, tighten it, and run `turnpike check RUN` wherever you record.");
  return kFine;
}

std::string text_of(const analyze::CheckResult& result, const analyze::Report& report, const analyze::Budget& budget,
                    const CheckArguments& arguments) {
  if (arguments.is_json) return report::to_json(result, report, budget);
  std::string text = report::to_text(result, report, budget,
                                     {.width = usable_width(STDOUT_FILENO, kPageWidth),
                                      .has_colour = !arguments.no_colour && has_colour(STDOUT_FILENO)});
  const bool is_github = arguments.is_github || (report::is_in_github_actions() && !arguments.no_github);
  if (!is_github) return text;
  return text + report::to_github(result, budget, report::Repository::here());
}

// "" when the options go together. CLI11 could tell, but would crowd the help with it.
std::string conflict_of(const CheckArguments& arguments) {
  if (arguments.is_json && arguments.is_github) return "--json and --github: standard output holds one of them.";
  if (arguments.is_github && arguments.no_github) return "--github and --no-github: which?";
  const bool has_result = arguments.is_json || arguments.is_github || !arguments.sarif.empty();
  return arguments.is_init && has_result ? "--init writes a budget and checks nothing: leave --json, --github and "
                                           "--sarif out."
                                         : "";
}

int check(CheckArguments arguments) {
  if (const std::string conflict = conflict_of(arguments); !conflict.empty())
    return fail(kCheckCommand, conflict, kUsage);
  auto runs = runs_or_newest(arguments.runs, kCheckCommand);
  if (!runs) return fail(kCheckCommand, runs.error().message, kUsage);
  arguments.runs = std::move(*runs);
  if (arguments.is_init) return init(arguments);
  if (!arguments.sarif.empty()) {
    std::vector<std::filesystem::path> inputs = arguments.runs;
    inputs.push_back(arguments.budget);
    if (auto harmless = check_is_no_input(arguments.sarif, inputs); !harmless) {
      return fail(kCheckCommand, harmless.error().message, kUsage);
    }
  }
  const auto budget = analyze::read_budget(arguments.budget);
  if (!budget) return fail(kCheckCommand, budget.error().message, kUsage);
  const auto report = open_run(arguments.runs, kCheckCommand);
  if (!report) return fail(kCheckCommand, report.error().message, kUnreadableInput);
  const analyze::CheckResult result = analyze::check(*report, *budget);
  auto output = OutputFile::create("-");
  output->write(text_of(result, *report, *budget, arguments));
  if (const Status written = output->commit(); !written) return fail(kCheckCommand, written.error().message, kFailed);
  if (!arguments.sarif.empty()) {
    const auto repository = report::Repository::here();
    const Status written = write_file(arguments.sarif, report::to_sarif(result, *budget, repository));
    if (!written) return fail(kCheckCommand, written.error().message, kFailed);
  }
  if (const int code = exit_code_of(report->source.inputs, arguments.is_strict); code != kFine) return code;
  return result.is_passed() ? kFine : kCheckFailed;
}

}  // namespace

void add_check(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("check", "Fail if a run exceeds its budget (for CI)");
  const auto arguments = std::make_shared<CheckArguments>();
  add_runs_argument(command, arguments->runs);
  command.add_option("--budget", arguments->budget, "The file with the limits (default: turnpike.toml)")
      .type_name("FILE")
      .check(check_is_named);
  command.add_flag("--init", arguments->is_init, "Write a first budget file, which RUN satisfies");
  command.add_flag("--json", arguments->is_json, "Print JSON, for other programs");
  add_strict_option(command, arguments->is_strict);
  command.add_flag("--github", arguments->is_github, "Print GitHub annotations outside of GitHub Actions too");
  command.add_flag("--no-github", arguments->no_github, "Print no annotations in GitHub Actions");
  command.add_option("--sarif", arguments->sarif, "Also write what exceeds the budget, as SARIF 2.1.0")
      .type_name("FILE")
      .check(check_is_named);
  command.add_flag("--no-colour,--no-color", arguments->no_colour, "No colour, even on a terminal (also: NO_COLOR=1)");
  command.footer(kCheckExamples);
  command.callback([arguments, &status] { status = check(*arguments); });
}

}  // namespace turnpike::cli
