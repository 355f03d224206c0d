// turnpike report: what happened in a run, what it cost, where.
#include <unistd.h>

#include <memory>
#include <string_view>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/runs_argument.h"
#include "cli/same_file.h"
#include "cli/terminal.h"
#include "cli/write_page.h"
#include "report/ci/findings_github.h"
#include "report/ci/findings_sarif.h"
#include "report/findings/finding_data.h"
#include "report/json/json.h"
#include "report/markdown/report_markdown.h"
#include "report/text/incomplete.h"
#include "report/text/path_views.h"
#include "report/text/terminal.h"

namespace turnpike::cli {
namespace {

constexpr const char* kReportExamples = R"(Examples:
  turnpike report                        of the newest run in this folder
  turnpike report train.tpk              one screen: what limits the program, and what to do
  turnpike report train.tpk --transfers  the transfers by line
  turnpike report train.tpk --all        everything, as text
  turnpike report train.tpk --top 50     more source lines
  turnpike report train.tpk --tree       the ways to the transfers, through libraries too
  turnpike report train.tpk --by library what each package's transfers cost
  turnpike report train.tpk --json       for other programs
  turnpike report train.tpk --format markdown    for a comment on a pull request
  turnpike report train.tpk --html train.html    a page for browsers, in one file
  turnpike report rank0.tpk rank1.tpk    several runs as one
  turnpike report trace.json.gz          a trace of torch.profiler
  turnpike report profile.sqlite         an export of Nsight Systems (nsys export --type sqlite)

Exit code: 0, 2 wrong usage, 3 a run cannot be read, 4 the report cannot be written.)";

struct ReportArguments {
  std::vector<std::filesystem::path> runs;
  bool is_json = false;
  std::string format;  // "" for text
  bool is_strict = false;
  bool no_colour = false;
  bool is_tree = false;
  std::string key;
  std::string under;
  report::Sections sections;
  bool shows_all = false;
  std::optional<std::size_t> top;
  std::string page;  // the file; "" for none
  PageArguments page_options;
};

report::Sections sections_of(const ReportArguments& arguments) {
  if (arguments.shows_all) return report::every_section();
  return arguments.top ? report::with_tables(arguments.sections) : arguments.sections;
}

bool is_of_paths(const ReportArguments& arguments) {
  return arguments.is_tree || !arguments.key.empty() || !arguments.under.empty();
}

// As other than text.
std::string formatted(const analyze::Report& report, std::string_view format) {
  const auto repository = report::Repository::here();
  const auto data = report::data_of_findings(report, &repository);
  if (format == "markdown") return report::to_markdown(report, data);
  if (format == "sarif") return report::to_sarif(report, data);
  if (format == "github") return report::to_github(report, data);
  return report::to_json(report, data);
}

std::string text_of(const analyze::Report& report, const ReportArguments& arguments) {
  if (!arguments.format.empty()) return formatted(report, arguments.format);
  const report::TextOptions options{.width = usable_width(STDOUT_FILENO, kPageWidth),
                                    .has_colour = !arguments.no_colour && has_colour(STDOUT_FILENO),
                                    .top = arguments.top.value_or(report::kTableRows)};
  if (!is_of_paths(arguments)) return report::to_text(report, options, sections_of(arguments));
  analyze::CallPaths paths = report.paths;
  if (!arguments.under.empty()) paths = report::paths_under(std::move(paths), arguments.under);
  const std::string head = report::incomplete_head(report.source.inputs, options.width, options.has_colour);
  if (arguments.is_tree) return head + report::to_tree_text(paths, options);
  return head +
         report::to_table_text(paths, report::path_key_named(arguments.key).value_or(report::PathKey::kPath), options);
}

// What --under accepts must lie on a path: a typo must not look like a program without transfers.
Status check_under(const analyze::Report& report, const ReportArguments& arguments) {
  if (arguments.under.empty() || !report::paths_under(report.paths, arguments.under).costs.empty()) return {};
  return Error{"--under " + arguments.under +
               ": no transfer or synchronisation was made there. `turnpike report RUN --tree` shows where they were "
               "made; name a line (train.py:44) or a library (torchvision)"};
}

int report_as_page(const std::vector<std::filesystem::path>& runs, const ReportArguments& arguments) {
  if (auto harmless = check_is_no_input(arguments.page, runs); !harmless)
    return fail("turnpike report", harmless.error().message, kUsage);
  const auto page = read_page(runs, arguments.page_options, "turnpike report");
  if (!page) return fail("turnpike report", page.error().message, kUnreadableInput);
  const Status written = write_page(arguments.page, [&](const report::html::Output& output) { page->write(output); });
  if (!written) return fail("turnpike report", written.error().message, kFailed);
  return exit_code_of(page->inputs(), arguments.is_strict);
}

int report(ReportArguments arguments) {
  if (arguments.is_json) arguments.format = "json";
  if (arguments.format == "text") arguments.format.clear();
  const auto runs = runs_or_newest(arguments.runs, "turnpike report");
  if (!runs) return fail("turnpike report", runs.error().message, kUsage);
  if (!arguments.page.empty()) return report_as_page(*runs, arguments);
  const auto report = open_run(*runs, "turnpike report");
  if (!report) return fail("turnpike report", report.error().message, kUnreadableInput);
  if (const Status under = check_under(*report, arguments); !under)
    return fail("turnpike report", under.error().message, kUsage);
  auto output = OutputFile::create("-");
  output->write(text_of(*report, arguments));
  const Status written = output->commit();
  if (!written) return fail("turnpike report", written.error().message, kFailed);
  return exit_code_of(report->source.inputs, arguments.is_strict);
}

// The parts of the text, and all of them.
std::vector<Option> add_sections(Command command, const std::shared_ptr<ReportArguments>& arguments) {
  std::vector<Option> options;
  for (const auto& [section, name, meaning] : report::all_sections()) {
    const auto take = [arguments, section = section] { arguments->sections.insert(section); };
    options.push_back(command.add_flag(std::string("--") + name, take, meaning));
  }
  options.push_back(command.add_flag("--all", arguments->shows_all, "Show everything"));
  return options;
}

}  // namespace

void add_report(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("report", "Show what a run's transfers cost and which lines cause them");
  const auto arguments = std::make_shared<ReportArguments>();
  add_runs_argument(command, arguments->runs);
  const std::vector<Option> sections = add_sections(command, arguments);
  Option json = command.add_flag("--json", arguments->is_json, "Print JSON with everything, for other programs");
  Option format = command
                      .add_option("--format", arguments->format,
                                  "Print another form of the report (default: text):\n"
                                  "json: as --json\n"
                                  "markdown: the findings with their changes, for a comment on a pull request\n"
                                  "sarif: the findings as SARIF 2.1.0, for code review and editors\n"
                                  "github: the findings as annotations of lines in GitHub Actions")
                      .type_name("FORMAT")
                      .one_of({"text", "json", "markdown", "sarif", "github"})
                      .excludes(json);
  std::vector<std::string> keys;
  std::string meanings;
  for (const auto& [key, name, meaning] : report::all_path_keys()) {
    keys.emplace_back(name);
    meanings += std::string("\n") + name + ": " + meaning;
  }
  Option tree = command.add_flag("--tree", arguments->is_tree, "Show the ways to the transfers as a tree");
  Option by = command.add_option("--by", arguments->key, "A table with one row for each:" + meanings)
                  .type_name("KEY")
                  .one_of(keys);
  Option under =
      command
          .add_option(
              "--under", arguments->under,
              "Only what a line (train.py:44) or a library (torchvision) led to;\nwith --tree or --by, else by path")
          .type_name("PLACE")
          .check(check_is_named);
  tree.excludes(by);
  for (Option option : {tree, by, under}) option.excludes(json).excludes(format);
  for (Option section : sections) section.excludes(json).excludes(format).excludes(tree).excludes(by).excludes(under);
  add_strict_option(command, arguments->is_strict);
  command.add_option("--top", arguments->top, "Show the tables by line, with N rows each (default: 15)")
      .type_name("N")
      .check(check_is_count);
  command.add_flag("--no-colour,--no-color", arguments->no_colour, "No colour, even on a terminal (also: NO_COLOR=1)");
  Option page =
      command.add_option("--html", arguments->page, "Write a page for browsers instead; - for standard output")
          .type_name("FILE")
          .check(check_is_named)
          .excludes(json)
          .excludes(format)
          .excludes(tree)
          .excludes(by)
          .excludes(under);
  for (Option section : sections) section.excludes(page);
  for (Option option : add_page_options(command, arguments->page_options)) option.needs(page);
  command.footer(kReportExamples);
  command.callback([arguments, &status] { status = report(*arguments); });
}

}  // namespace turnpike::cli
