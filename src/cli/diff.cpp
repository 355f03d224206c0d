// turnpike diff: two runs side by side.
#include <unistd.h>

#include <memory>
#include <utility>

#include "analyze/compare/compare.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/runs_argument.h"
#include "cli/same_file.h"
#include "cli/terminal.h"
#include "cli/write_page.h"
#include "report/html/diff_page.h"
#include "report/json/diff_json.h"
#include "report/markdown/diff_markdown.h"
#include "report/text/diff_text.h"

namespace turnpike::cli {
namespace {

constexpr const char* kDiffCommand = "turnpike diff";

constexpr const char* kDiffExamples = R"(Examples:
  turnpike diff before.tpk after.tpk           did the change help, and where?
  turnpike diff before.tpk after.tpk --json    for other programs
  turnpike diff before.tpk after.tpk --format markdown
                                               for a comment on a pull request
  turnpike diff before.tpk after.tpk --html diff.html
                                               a page for browsers, in one file: both median steps
                                               above each other, and every place that changed

Record the program, change it, record it again:
  turnpike record -o before.tpk -- python train.py --steps 100
  turnpike record -o after.tpk  -- python train.py --steps 100

Lines that moved within a file are matched. Figures are per step if both runs have steps.

Exit code: 0, 2 wrong usage, 3 a run cannot be read, 4 the result cannot be written. Differences
are not an error; to fail on them, use `turnpike check`.)";

struct DiffArguments {
  std::filesystem::path before;
  std::filesystem::path after;
  bool is_json = false;
  std::string format;  // "" for text
  bool is_strict = false;
  bool no_colour = false;
  std::size_t top = 15;
  std::string page;  // the file; "" for none
  PageArguments page_options;
};

std::string text_of(const analyze::Report& before, const analyze::Report& after, const DiffArguments& arguments) {
  const analyze::Comparison comparison = analyze::compare(before, after);
  if (arguments.is_json || arguments.format == "json") return report::to_json(comparison, before, after);
  if (arguments.format == "markdown") return report::to_markdown(comparison, before, after, arguments.top);
  return report::to_text(comparison, before, after,
                         {.width = usable_width(STDOUT_FILENO, kPageWidth),
                          .has_colour = !arguments.no_colour && has_colour(STDOUT_FILENO),
                          .top = arguments.top});
}

int exit_code_of_both(const analyze::InputRemarks& before, const analyze::InputRemarks& after,
                      const DiffArguments& arguments) {
  const int code = exit_code_of(before, arguments.is_strict);
  return code == kFine ? exit_code_of(after, arguments.is_strict) : code;
}

int diff_as_page(const DiffArguments& arguments) {
  if (auto harmless = check_is_no_input(arguments.page, {arguments.before, arguments.after}); !harmless) {
    return fail(kDiffCommand, harmless.error().message, kUsage);
  }
  report::html::DiffPage page(options_of(arguments.page_options), file_count({arguments.before}),
                              file_count({arguments.after}));
  auto before =
      open_run({arguments.before}, kDiffCommand, [&](const analyze::ProcessView& view) { page.add_before(view); });
  if (!before) return fail(kDiffCommand, before.error().message, kUnreadableInput);
  auto after =
      open_run({arguments.after}, kDiffCommand, [&](const analyze::ProcessView& view) { page.add_after(view); });
  if (!after) return fail(kDiffCommand, after.error().message, kUnreadableInput);
  const int code = exit_code_of_both(before->source.inputs, after->source.inputs, arguments);
  const Status written = write_page(arguments.page, [&](const report::html::Output& output) {
    page.write(std::move(*before), std::move(*after), output);
  });
  return written ? code : fail(kDiffCommand, written.error().message, kFailed);
}

int diff(const DiffArguments& arguments) {
  if (!arguments.page.empty()) return diff_as_page(arguments);
  const auto before = open_run({arguments.before}, kDiffCommand);
  if (!before) return fail(kDiffCommand, before.error().message, kUnreadableInput);
  const auto after = open_run({arguments.after}, kDiffCommand);
  if (!after) return fail(kDiffCommand, after.error().message, kUnreadableInput);
  auto output = OutputFile::create("-");
  output->write(text_of(*before, *after, arguments));
  if (const Status written = output->commit(); !written) return fail(kDiffCommand, written.error().message, kFailed);
  return exit_code_of_both(before->source.inputs, after->source.inputs, arguments);
}

}  // namespace

void add_diff(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("diff", "Show what changed between two runs");
  const auto arguments = std::make_shared<DiffArguments>();
  command.add_option("BEFORE", arguments->before, "The run before the change, as `turnpike report` takes it")
      .required()
      .check(check_is_named)
      .type_name("");
  command.add_option("AFTER", arguments->after, "The run after it").required().check(check_is_named).type_name("");
  Option json = command.add_flag("--json", arguments->is_json, "Print JSON with everything, for other programs");
  Option format = command
                      .add_option("--format", arguments->format,
                                  "Print another form (default: text):\njson: as --json\n"
                                  "markdown: for a comment on a pull request")
                      .type_name("FORMAT")
                      .one_of({"text", "json", "markdown"})
                      .excludes(json);
  add_strict_option(command, arguments->is_strict);
  command.add_option("--top", arguments->top, "How many changed lines to show (default: 15)")
      .type_name("N")
      .check(check_is_count);
  command.add_flag("--no-colour,--no-color", arguments->no_colour, "No colour, even on a terminal (also: NO_COLOR=1)");
  Option page =
      command
          .add_option("--html", arguments->page,
                      "Write a page for browsers instead, with both runs on one time axis;\n- for standard output")
          .type_name("FILE")
          .check(check_is_named)
          .excludes(json)
          .excludes(format);
  for (Option option : add_page_options(command, arguments->page_options)) option.needs(page);
  command.footer(kDiffExamples);
  command.callback([arguments, &status] { status = diff(*arguments); });
}

}  // namespace turnpike::cli
