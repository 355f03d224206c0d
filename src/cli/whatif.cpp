// turnpike whatif: what a step would take if the program did its transfers otherwise.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "analyze/whatif_run.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/runs_argument.h"
#include "cli/terminal.h"
#include "report/json/item_json.h"
#include "report/text/incomplete.h"
#include "report/text/page.h"

namespace turnpike::cli {
namespace {

constexpr const char* kWhatIfCommand = "turnpike whatif";

constexpr const char* kWhatIfExamples = R"(Examples:
  turnpike whatif train.tpk                                   re-time the run as recorded
  turnpike whatif train.tpk --edit remove_sync@train.py:34    without the read-back at this line
  turnpike whatif train.tpk --edit pin --edit prefetch        two changes, at every line
  turnpike whatif rank0.json.gz rank1.json.gz --edit pin      on two ranks that wait for each other)";

constexpr const char* kWhatIfExitCodes =
    R"(Exit code: 0, 2 wrong usage or a change that does not apply at its line, 3 a run cannot be read, 4 the answer
cannot be written.)";

std::string footer() {
  std::string text = std::string(kWhatIfExamples) + "\n\nChanges:\n";
  for (const analyze::Change change : analyze::all_changes()) {
    text += fmt::format("  {:<17}  {}\n", analyze::name_of(change), analyze::meaning_of(change));
  }
  return text + "\n" + kWhatIfExitCodes;
}

struct WhatIfArguments {
  std::vector<std::filesystem::path> runs;
  std::vector<std::string> edits;
  std::optional<double> link_gbps;
  bool is_json = false;
  bool is_strict = false;
};

// "remove_sync@train.py:34"
Result<analyze::AskedChange> parse(const std::string& text) {
  const auto at = text.find('@');
  const std::string name = text.substr(0, at);
  const auto change = analyze::change_named(name);
  if (!change) return Error{"There is no change \"" + name + "\". `turnpike whatif --help` lists them."};
  return analyze::AskedChange{*change, at == std::string::npos ? std::string() : text.substr(at + 1)};
}

std::string to_json(const analyze::WhatIfAnswer& answer, const std::vector<std::string>& edits,
                    const analyze::InputRemarks& inputs) {
  const auto rounded = [](double value) { return std::llround(value); };
  nlohmann::json json = {{"steps", answer.step_count},
                         {"measured_step_ns", rounded(answer.measured_step_ns)},
                         {"retimed_step_ns", rounded(answer.retimed_step_ns)},
                         {"typical_step_ns", rounded(answer.typical_step_ns)},
                         {"contradicted", answer.contradicted_count},
                         {"ranks", answer.rank_count},
                         {"collectives", answer.meeting_count},
                         {"collectives_lost", answer.has_lost_collectives},
                         {"has_steps", answer.has_steps},
                         {"reliable", answer.is_reliable},
                         {"predicted_step_ns", nullptr},
                         {"edits", nlohmann::json::array()},
                         {"incomplete", report::incomplete_object(inputs)}};
  if (answer.predicted_step_ns) json["predicted_step_ns"] = rounded(*answer.predicted_step_ns);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    json["edits"].push_back({{"edit", edits[i]}, {"calls", answer.changed[i]}});
  }
  return report::written(json);
}

std::string text_of(const analyze::WhatIfAnswer& answer, const std::vector<std::string>& edits,
                    const analyze::InputRemarks& inputs) {
  report::Page page(std::max(usable_width(STDOUT_FILENO, kPageWidth), report::kMinPageWidth), false);
  if (inputs.is_incomplete()) page.paragraph("", report::incomplete_sentence(inputs) + ".");
  const double model_pct = 100 * (answer.typical_step_ns / answer.measured_step_ns - 1);
  const char* whose = answer.rank_count > 1 ? " of the rank that makes the most calls" : "";
  const std::string what = answer.has_steps ? "A step" : "No steps were found, so the whole run is one: it";
  const std::string of =
      answer.has_steps ? fmt::format(" on average (of {}, once it had settled)", answer.step_count) : "";
  page.paragraph("", fmt::format("{}{} takes {:.3f} ms{}; the dependencies alone miss it by {:+.1f} %.", what, whose,
                                 answer.measured_step_ns / 1e6, of, model_pct));
  if (!answer.is_reliable) {
    page.paragraph("",
                   "That is too much to rely on: the recording lacks something that the program waits for. A report "
                   "claims no saving here. Take the prediction as a hint, and measure.");
  }
  if (answer.rank_count > 1) {
    page.paragraph("", fmt::format("{} ranks are re-timed together: they wait for each other in {} collectives.",
                                   answer.rank_count, answer.meeting_count));
  }
  if (answer.has_lost_collectives) {
    page.paragraph("",
                   "Which collectives of these processes belong together cannot be told, so each keeps its duration: "
                   "where ranks wait for each other, less is gained than is said here.");
  }
  for (std::size_t i = 0; i < edits.size(); ++i) {
    page.paragraph("  ", fmt::format("{}: {} calls", edits[i], answer.changed[i]));
  }
  if (edits.empty()) return page.text();
  if (answer.predicted_step_ns) {
    page.paragraph("", fmt::format("With {} it would take {:.3f} ms ({:+.1f} %).",
                                   edits.size() == 1 ? "that" : "all of that", *answer.predicted_step_ns / 1e6,
                                   100 * (*answer.predicted_step_ns / answer.measured_step_ns - 1)));
  } else {
    page.paragraph(
        "", "It cannot be said what that gives: the rate of the link is not known. Measure it: turnpike bench link");
  }
  return page.text();
}

int what_if(const WhatIfArguments& arguments) {
  std::vector<analyze::AskedChange> changes;
  for (const std::string& edit : arguments.edits) {
    auto change = parse(edit);
    if (!change) return fail(kWhatIfCommand, change.error().message, kUsage);
    changes.push_back(std::move(*change));
  }
  const auto runs = runs_or_newest(arguments.runs, kWhatIfCommand);
  if (!runs) return fail(kWhatIfCommand, runs.error().message, kUsage);
  const auto run = load_run(*runs, kWhatIfCommand);
  if (!run) return fail(kWhatIfCommand, run.error().message, kUnreadableInput);
  const analyze::LinkRates rates = arguments.link_gbps
                                       ? [rate = analyze::LinkRate{arguments.link_gbps, arguments.link_gbps}](
                                             const std::string&, const std::string&) { return rate; }
                                       : measured_link_rates(kWhatIfCommand);
  const auto answer = analyze::what_if(run->processes, changes, rates);
  if (!answer) return fail(kWhatIfCommand, answer.error().message, kUnreadableInput);
  for (const std::string& misfit : answer->misfits) fail(kWhatIfCommand, misfit, kUsage);
  if (!answer->misfits.empty()) return kUsage;
  auto output = OutputFile::create("-");
  output->write(arguments.is_json ? to_json(*answer, arguments.edits, run->inputs)
                                  : text_of(*answer, arguments.edits, run->inputs));
  const Status written = output->commit();
  if (!written) return fail(kWhatIfCommand, written.error().message, kFailed);
  return exit_code_of(run->inputs, arguments.is_strict);
}

std::string check_rate(const std::string& text) {
  double gbps = 0;
  const bool is_number = parse_number(text, gbps);
  return is_number && gbps > 0 && std::isfinite(gbps) ? "" : "'" + text + "' is no rate above 0, in GB/s";
}

}  // namespace

void add_whatif(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("whatif", "Predict how long a step would take with different transfers");
  const auto arguments = std::make_shared<WhatIfArguments>();
  add_runs_argument(command, arguments->runs);
  command
      .add_option("--edit", arguments->edits,
                  "A change, at one line: CHANGE@FILE:LINE, or everywhere: CHANGE; may be repeated")
      .type_name("EDIT");
  command
      .add_option("--link-gbps", arguments->link_gbps,
                  "The rate of the link (default: measured by `turnpike bench link`)")
      .type_name("GBPS")
      .check(check_rate);
  command.add_flag("--json", arguments->is_json, "Print JSON, for other programs");
  add_strict_option(command, arguments->is_strict);
  command.footer(footer());
  command.callback([arguments, &status] { status = what_if(*arguments); });
}

}  // namespace turnpike::cli
