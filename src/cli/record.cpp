// turnpike record: runs a command with the recorder in it.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "cli/launch.h"
#include "cli/message.h"
#include "cli/record_summary.h"
#include "cli/recorder_environment.h"
#include "cli/run_directory.h"
#include "cli/shared_status.h"
#include "cli/status_line.h"

namespace turnpike::cli {
namespace {

// As shells say it.
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

constexpr const char* kAbout = "Run a command and record every transfer between CPU and GPU in it and its children";

constexpr const char* kExamples =
    R"(The program needs no change. Its output, results, signals and exit code stay the same.

Examples:
  turnpike record -- python train.py --epochs 1        records into train.tpk
  turnpike record -o before.tpk -- python train.py     records into before.tpk, for `turnpike diff`
  turnpike record -- torchrun --nproc-per-node 2 train.py
                                                       all ranks, one file per process
  turnpike record --delay 30 --duration 10 -- python serve.py
                                                       ten seconds, once the program is warm
  turnpike record --capture-range nvtx:step -- python train.py
                                                       only what runs inside the NVTX range "step"
  turnpike record -- jupyter lab                       all notebooks (or use `turnpike.record` in a cell)
  turnpike record -- ./build/inference model.pt        C++ and CUDA programs too
Then: turnpike report train.tpk

Exit code: COMMAND's own; 2 wrong usage, and nothing ran; 126 COMMAND cannot be executed; 127 it was not found.
To use another libturnpike_record.so than the installed one, set TURNPIKE_RECORD_LIBRARY.)";

class RecordHelp : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: turnpike record [OPTIONS] -- COMMAND...\n";
  }
};

struct Arguments {
  std::string run;  // "": named after the command
  bool is_forced = false;
  record::Options options;
};

int fail(const std::string& message, int code = kUsage) {
  say("turnpike record", message);
  return code;
}

// Runs the command and shows how it goes.
Result<Ending> run_watched(const std::vector<std::string>& command, const std::vector<Variable>& variables,
                           const SharedStatus& status, bool is_quiet) {
  if (is_quiet) return launch(command, variables, {});
  StatusLine line(STDERR_FILENO);
  const auto start = std::chrono::steady_clock::now();
  const auto show = [&] {
    const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
    const std::string text = status_line_text(status.read(), elapsed);
    if (!text.empty()) line.show(text);
  };
  return launch(command, variables, {show, [&] { line.erase(); }});
}

int start_failure(const std::vector<std::string>& command, int code) {
  if (code == ENOENT) return fail(command.front() + ": command not found", kNotFound);
  return fail(command.front() + ": cannot be executed: " + std::strerror(code), kCannotExecute);
}

void print_summary(const TurnpikeStatus& status, const RunDirectory& directory) {
  // The program may have left the cursor at the end of a line.
  const char* separator = isatty(STDERR_FILENO) != 0 ? "\n" : "";
  const std::string run = directory.recorded_path().string();
  std::fputs((separator + printable(summary_text(status, run, directory.has_recordings()))).c_str(), stderr);
  if (directory.is_replacement()) say("turnpike", directory.path().string() + " stays as it was.");
}

Result<RunDirectory> run_directory_for(const Arguments& arguments, const std::vector<std::string>& command) {
  if (!arguments.run.empty()) return RunDirectory::make_at(arguments.run, arguments.is_forced);
  const std::string name = default_run_name(command);
  return arguments.is_forced ? RunDirectory::make_at(name + ".tpk", true) : RunDirectory::make_new(name);
}

// An Error unless the command was given, behind "--", and nothing stands before that which is not an option.
Status check_usage(const CLI::App& app, const std::vector<std::string>& command) {
  const auto strays = app.remaining();
  if (!strays.empty() && strays.front().starts_with("-")) {
    return Error{"there is no option " + strays.front() +
                 " (turnpike record --help lists them; COMMAND's go behind --)"};
  }
  if (!strays.empty() || command.empty()) {
    return Error{"put the command to run behind --, as in: turnpike record -- " +
                 (strays.empty() ? "python train.py" : CLI::detail::join(strays, " "))};
  }
  return {};
}

int run_recorded(const CLI::App& app, const Arguments& arguments, const std::vector<std::string>& command) {
  if (auto usage = check_usage(app, command); !usage) return fail(usage.error().message);
  if (auto free = check_no_other_injection(); !free) return fail(free.error().message);
  const auto library = find_record_library();
  if (!library) return fail(library.error().message);
  const auto status = SharedStatus::make();
  if (!status) return fail(status.error().message);
  auto directory = run_directory_for(arguments, command);
  if (!directory) return fail(directory.error().message);

  record::Options options = arguments.options;
  options.run_directory = std::filesystem::absolute(directory->recorded_path()).string();
  const auto variables = recorder_environment(options, *library, status->path());
  const auto ending = run_watched(command, variables, *status, options.is_quiet);
  if (!ending || ending->start_error != 0) {
    directory->remove_if_empty();
    return ending ? start_failure(command, ending->start_error) : fail(ending.error().message);
  }
  if (auto placed = directory->take_place(); !placed) fail(placed.error().message);
  if (!options.is_quiet) print_summary(status->read(), *directory);
  directory->remove_if_empty();
  if (ending->signal != 0) die_by(ending->signal);
  return ending->exit_code;
}

std::string check_capture_range(const std::string& text) {
  return record::capture_range_of(text) ? "" : "'" + text + "' is neither cuda-profiler-api nor nvtx:NAME";
}

// At least the millisecond that is passed on; NaN is no number of seconds.
std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const bool is_number = CLI::detail::lexical_cast(text, seconds);
  return is_number && seconds >= 0.001 && seconds <= 1e9 ? "" : "'" + text + "' is no number of seconds from 0.001 on";
}

// Adds an option of the recorder to `turnpike record`: one call for each type of its value.
struct OptionAdder {
  CLI::App& app;
  const record::Option& option;
  record::Options& options;

  void operator()(bool record::Options::* field) const {
    app.add_flag_callback(
        option.argument, [&to = options.*field, given = !(record::Options().*field)] { to = given; }, option.help);
  }
  void operator()(record::Detail record::Options::* field) const {
    add<std::string>([&to = options.*field](const std::string& text) { to = record::detail_of(text).value(); })
        ->check(CLI::IsMember({record::name_of(record::Detail::kFull), record::name_of(record::Detail::kTransfers)})
                    .description(""));
  }
  void operator()(record::CaptureRange record::Options::* field) const {
    add<std::string>([&to = options.*field](const std::string& text) {
      to = record::capture_range_of(text).value();
    })->check(check_capture_range);
  }
  void operator()(std::chrono::milliseconds record::Options::* field) const {
    add<double>([&to = options.*field](double seconds) {
      to = std::chrono::milliseconds(std::llround(seconds * 1000));
    })->check(check_seconds);
  }

 private:
  template <typename Value>
  CLI::Option* add(const std::function<void(const Value&)>& take) const {
    return app.add_option_function<Value>(option.argument, take, option.help)->type_name(option.value_name);
  }
};

std::string check_run(const std::string& text) {
  return text.empty() ? "a run needs a name" : "";
}

}  // namespace

std::vector<std::string> take_recorded_command(int& argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "record") != 0) return {};
  for (int at = 2; at < argc; ++at) {
    if (std::strcmp(argv[at], "--") != 0) continue;
    std::vector<std::string> command(argv + at + 1, argv + argc);
    argc = at;
    return command;
  }
  return {};
}

void add_record(CLI::App& app, int& status, std::vector<std::string> command) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("record", kAbout);
  sub->formatter(std::make_shared<RecordHelp>());
  sub->allow_extras();  // for a better message than CLI11's
  sub->footer(kExamples);
  sub->add_option("-o,--output", arguments->run, "The run to write, a directory (default: COMMAND's script + .tpk)")
      ->type_name("RUN")
      ->check(check_run);
  sub->add_flag("--force", arguments->is_forced, "Replace the recording that is in RUN, once the new one is there");
  for (const record::Option& option : record::all_options()) {
    std::visit(OptionAdder{*sub, option, arguments->options}, option.field);
  }
  sub->callback(
      [sub, arguments, &status, command = std::move(command)] { status = run_recorded(*sub, *arguments, command); });
}

}  // namespace turnpike::cli
