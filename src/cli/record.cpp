// turnpike record: runs a command with the recorder in it.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "cli/given_command.h"
#include "cli/kept_runs.h"
#include "cli/launch.h"
#include "cli/link_after_record.h"
#include "cli/message.h"
#include "cli/record_page.h"
#include "cli/record_summary.h"
#include "cli/recorder_environment.h"
#include "cli/recorder_options.h"
#include "cli/run_directory.h"
#include "cli/shared_status.h"
#include "cli/status_line.h"
#include "record/estate/estates.h"

namespace turnpike::cli {
namespace {

constexpr const char* kRecordAbout =
    "Run a command and record every transfer between CPU and GPU in it and its children";

constexpr const char* kRecordExamples =
    R"(The program needs no change. Its output, results, signals and exit code stay the same.

Examples:
  turnpike record -- python train.py --epochs 1        records into train.tpk
  turnpike record -o before.tpk -- python train.py     records into before.tpk, for `turnpike diff`
  turnpike record --open -- python train.py            then shows the report in a browser
  turnpike record -- torchrun --nproc-per-node 2 train.py
                                                       all ranks, one file per process
  turnpike record --delay 30 --duration 10 -- python serve.py
                                                       ten seconds, once the program is warm
  turnpike record --capture-range nvtx:step -- python train.py
                                                       only what runs inside the NVTX range "step"
  turnpike record --last 60 --trigger "step > 1.5 x median" -- python train.py
                                                       a flight recorder: keeps the last minute, and that
                                                       before a slow step, in train-1.tpk
  turnpike record --dormant -- python serve.py         records nothing, until `turnpike attach PID`
  turnpike record -- jupyter lab                       all notebooks (or use `turnpike.record` in a cell)
  turnpike record -- ./build/inference model.pt        C++ and CUDA programs too
Then: turnpike report train.tpk

Exit code: COMMAND's own; 2 wrong usage, and nothing ran; 4 RUN cannot be written, and nothing ran; 126 COMMAND cannot
be executed; 127 it was not found.
To use another libturnpike_record.so than the installed one, set TURNPIKE_RECORD_LIBRARY.)";

struct RecordArguments {
  std::string run;  // "": named after the command
  bool is_forced = false;
  bool opens_page = false;
  bool has_link = true;
  bool is_dormant = false;
  record::Options options;
};

// Writes what processes that have died had not written. Whether any other is still being recorded.
bool settle(std::optional<record::Estates>& estates, const SharedStatus& status) {
  if (!estates) return false;
  const auto settled = estates->settle();
  status.add(settled.added);
  return settled.has_recording;
}

// What is killed with the command may die a moment after it. A process that goes on closes its file itself.
void settle_all(std::optional<record::Estates>& estates, const SharedStatus& status) {
  constexpr int kLooks = 10;
  constexpr std::chrono::milliseconds kPause{20};
  for (int look = 0; settle(estates, status) && look < kLooks; ++look) std::this_thread::sleep_for(kPause);
}

// Runs the command and shows how it goes.
Result<Ending> run_watched(const std::vector<std::string>& command, const std::vector<Variable>& variables,
                           const SharedStatus& status, std::optional<record::Estates>& estates, bool is_quiet,
                           const std::function<bool(int)>& takes_signal) {
  if (is_quiet) return launch(command, variables, {[&] { settle(estates, status); }, {}, takes_signal});
  StatusLine line(STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  const auto show = [&] {
    settle(estates, status);
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    const std::string text = status_line_text(status.read(), elapsed);
    if (!text.empty()) line.show(text);
  };
  return launch(command, variables, {show, [&] { line.erase(); }, takes_signal});
}

// Up to a GPU, or down from it: what a link is for.
bool has_copied(const TurnpikeStatus& status) {
  return status.transfer_count[0] + status.transfer_count[1] > 0;
}

// Files that say why nothing could be recorded replace no recording.
bool has_recorded(const TurnpikeStatus& status) {
  return status.process_count > 0 || status.unusable_count == 0;
}

// What goes together with --last, and what means nothing without it.
Status check_last(Command app, const RecordArguments& arguments) {
  const auto is_given = [&](const char* option) { return app.option(option).is_given(); };
  if (arguments.options.last.count() == 0) {
    for (const char* option : {"--trigger", "--signal"}) {
      if (is_given(option)) {
        return Error{std::string(option) +
                     " says when a recording of the last seconds is kept: give --last, too, as in: "
                     "turnpike record --last 60 " +
                     option + " ..."};
      }
    }
  } else {
    if (arguments.options.last < std::chrono::seconds(1)) {
      return Error{"--last keeps whole seconds of a program: give 1 or more"};
    }
    for (const char* option : {"--duration", "--capture-range"}) {
      if (is_given(option)) {
        return Error{std::string("--last and ") + option + " exclude each other: with " + option +
                     " the end of what is recorded is known, and all of it is kept"};
      }
    }
  }
  if (is_given("--keep") && !is_given("--trigger")) {
    return Error{"--keep says how many runs --trigger keeps: give --trigger, too"};
  }
  return {};
}

// What is recorded, and where, is said by `turnpike attach`.
Status check_dormant(Command app) {
  for (const Option& option : app.options()) {
    const std::string name = option.name();
    if (!option.is_given() || name == "--dormant" || name == "--quiet") continue;
    return Error{"--dormant records nothing yet: leave " + name +
                 " out, and say what to record with `turnpike attach PID`"};
  }
  return {};
}

// In the place of this process: the command has its id, and ends as it does alone.
int become_dormant(Command app, const std::vector<std::string>& command, const std::filesystem::path& library,
                   bool is_quiet) {
  if (auto usage = check_dormant(app); !usage) return fail("turnpike record", usage.error().message, kUsage);
  return start_failure("turnpike record", command, become(command, dormant_environment(library, is_quiet)));
}

int run_recorded(Command app, const RecordArguments& arguments, const std::vector<std::string>& command) {
  if (auto usage = check_command(app, command); !usage) return fail("turnpike record", usage.error().message, kUsage);
  if (auto last = check_last(app, arguments); !last) return fail("turnpike record", last.error().message, kUsage);
  if (auto free = check_no_other_injection(kRecordLibrary); !free) {
    return fail("turnpike record", free.error().message, kUsage);
  }
  const auto library = find_record_library();
  if (!library) return fail("turnpike record", library.error().message, kUsage);
  if (arguments.is_dormant) return become_dormant(app, command, *library, arguments.options.is_quiet);
  const auto status = SharedStatus::make();
  if (!status) return fail("turnpike record", status.error().message, kUsage);
  auto estates = record::Estates::make();
  int failure = kFine;
  auto directory =
      make_run_directory({arguments.run, default_run_name(command), arguments.is_forced}, "turnpike record", failure);
  if (!directory) return failure;

  record::Options options = arguments.options;
  if (options.last.count() > 0 && !app.option("--detail").is_given()) options.detail = record::Detail::kTransfers;
  options.run_directory = std::filesystem::absolute(directory->recorded_path()).string();
  const auto variables =
      recorder_environment(options, *library, status->path(), estates ? std::optional(estates->path()) : std::nullopt);
  KeptRuns kept(options.run_directory, *status);
  const int keep_signal = options.last.count() > 0 ? options.keep_signal.number : 0;
  const auto takes_signal = [&kept, keep_signal](int number) {
    if (number != keep_signal || keep_signal == 0) return false;
    kept.ask();
    return true;
  };
  const auto ending = run_watched(command, variables, *status, estates, options.is_quiet, takes_signal);
  if (!ending || ending->start_error != 0) {
    directory->remove_if_empty();
    return ending ? start_failure("turnpike record", command, ending->start_error)
                  : fail("turnpike record", ending.error().message, kUsage);
  }
  settle_all(estates, *status);
  if (has_recorded(status->read())) {
    if (auto placed = directory->take_place(); !placed) fail("turnpike record", placed.error().message, kUsage);
  }
  const auto kept_runs = kept.settle();
  if (!options.is_quiet) print_summary(status->read(), *directory, kept_text(kept_runs));
  // First, so that the page knows the rate of the link.
  if (ending->signal == 0 && arguments.has_link && has_copied(status->read())) {
    const std::string measured = measure_link_once();
    if (!options.is_quiet && !measured.empty()) say("turnpike", measured);
  }
  if (arguments.opens_page && directory->has_recordings()) {
    show_page_of({.path = directory->recorded_path(), .is_forced = arguments.is_forced, .is_quiet = options.is_quiet});
  }
  directory->remove_if_empty();
  if (ending->signal != 0) die_by(ending->signal);
  return ending->exit_code;
}

std::string check_run(const std::string& text) {
  return text.empty() ? "a run needs a name" : "";
}

}  // namespace

void add_record(Command turnpike, int& status, std::vector<std::string> command) {
  const auto arguments = std::make_shared<RecordArguments>();
  Command sub = turnpike.add_subcommand("record", kRecordAbout);
  sub.usage("turnpike record [OPTIONS] -- COMMAND...");
  sub.allow_extras();  // for a better message than CLI11's
  sub.footer(kRecordExamples);
  sub.add_option("-o,--output", arguments->run, "The run to write, a directory (default: COMMAND's script + .tpk)")
      .type_name("RUN")
      .check(check_run);
  sub.add_flag("--force", arguments->is_forced, "Replace the recording that is in RUN, once the new one is there");
  sub.add_flag("--open", arguments->opens_page,
               "Write the page of the run beside it (train.html) and open it in a browser");
  sub.add_flag(
      "--no-link", [arguments] { arguments->has_link = false; },
      "Do not measure the link afterwards (for a second, once a machine, if no GPU is in use)");
  sub.add_flag("--dormant", arguments->is_dormant,
               "Record nothing until `turnpike attach PID` asks for it: costs nothing before");
  for (const record::Option& option : record::all_options()) add_recorder_option(sub, option, arguments->options);
  sub.callback(
      [sub, arguments, &status, command = std::move(command)] { status = run_recorded(sub, *arguments, command); });
}

}  // namespace turnpike::cli
