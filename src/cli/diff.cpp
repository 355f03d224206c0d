// turnpike diff: two runs side by side.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "analyze/compare/compare.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/runs_argument.h"
#include "cli/terminal.h"
#include "report/json/diff_json.h"
#include "report/text/diff_text.h"

namespace turnpike::cli {
namespace {

constexpr std::size_t kPageWidth = 100;
constexpr const char* kCommand = "turnpike diff";

constexpr const char* kExamples = R"(Examples:
  turnpike diff before.tpk after.tpk           did the change help, and where?
  turnpike diff before.tpk after.tpk --json    for other programs

Record the program, change it, record it again:
  turnpike record -o before.tpk -- python train.py --steps 100
  turnpike record -o after.tpk  -- python train.py --steps 100

Lines that moved within a file are matched. Figures are per step if both runs have steps.

Exit code: 0, 2 wrong usage, 3 a run cannot be read, 4 the result cannot be written. Differences
are not an error; to fail on them, use `turnpike check`.)";

struct Arguments {
  std::filesystem::path before;
  std::filesystem::path after;
  bool is_json = false;
  bool no_colour = false;
  std::size_t top = 15;
};

int fail(const std::string& message, int code) {
  say(kCommand, message);
  return code;
}

std::string text_of(const analyze::Report& before, const analyze::Report& after, const Arguments& arguments) {
  const analyze::Comparison comparison = analyze::compare(before, after);
  if (arguments.is_json) return report::to_json(comparison, before, after);
  return report::to_text(comparison, before, after,
                         {.width = usable_width(STDOUT_FILENO, kPageWidth),
                          .has_colour = !arguments.no_colour && has_colour(STDOUT_FILENO),
                          .top = arguments.top});
}

int diff(const Arguments& arguments) {
  const auto before = open_run({arguments.before}, kCommand);
  if (!before) return fail(before.error().message, kUnreadableInput);
  const auto after = open_run({arguments.after}, kCommand);
  if (!after) return fail(after.error().message, kUnreadableInput);
  auto output = OutputFile::create("-");
  output->write(text_of(*before, *after, arguments));
  const Status written = output->commit();
  return written ? kFine : fail(written.error().message, kFailed);
}

}  // namespace

void add_diff(CLI::App& app, int& status) {
  CLI::App* const command = app.add_subcommand("diff", "Show what changed between two runs");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("BEFORE", arguments->before, "The run before the change, as `turnpike report` takes it")
      ->required()
      ->check(check_is_named)
      ->type_name("");
  command->add_option("AFTER", arguments->after, "The run after it")->required()->check(check_is_named)->type_name("");
  command->add_flag("--json", arguments->is_json, "Print JSON with everything, for other programs");
  command->add_option("--top", arguments->top, "How many changed lines to show (default: 15)")
      ->type_name("N")
      ->check(check_is_count);
  command->add_flag("--no-colour,--no-color", arguments->no_colour, "No colour, even on a terminal (also: NO_COLOR=1)");
  command->footer(kExamples);
  command->callback([arguments, &status] { status = diff(*arguments); });
}

}  // namespace turnpike::cli
