// turnpike rollup: a small table for each process of a run.
#include "report/rollup/rollup.h"

#include <cctype>
#include <limits>
#include <memory>
#include <set>

#include "analyze/analyze.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/output_folder.h"
#include "cli/progress.h"
#include "cli/runs_argument.h"
#include "cli/same_file.h"
#include "report/rollup/windows.h"
#include "trace/reader.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRollupExamples = R"(Examples:
  turnpike rollup train.tpk                    writes the folder train.rollup, with a Parquet file for each process
  turnpike rollup train.tpk -o /shared/job17   where the data lie, e.g. as the last command of a job
  turnpike fleet /shared/job17                 compares the ranks

docs/rollup.md describes the columns.

Exit code: 0, 2 wrong usage, 3 a file cannot be read (the others are written), 4 a file cannot be written.)";

struct RollupArguments {
  std::vector<fs::path> runs;
  std::string output;
  bool is_strict = false;
};

std::string stem_of(const fs::path& run) {
  return (run.has_filename() ? run : run.parent_path()).stem().string();
}

// What stands in a recording may hold anything, also slashes.
std::string as_part_of_a_name(std::string text) {
  for (char& letter : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
    if (!is_plain) letter = '_';
  }
  return text;
}

// Host and rank tell the processes of a fleet apart where all write into one folder: "train.node7.rank12.433.parquet".
class FileNames {
 public:
  std::string of(const std::string& run, const trace::Process& process) {
    std::string name = run;
    const auto add = [&](const char* key, const char* before) {
      const auto found = process.metadata.find(key);
      if (found != process.metadata.end() && !found->second.empty()) {
        name += "." + (before + as_part_of_a_name(found->second)).substr(0, kMaxPart);
      }
    };
    add("host", "");
    add("rank", "rank");
    name += "." + std::to_string(process.pid);
    std::string unique = name;
    for (int i = 2; !given_.insert(unique).second; ++i) unique = name + "-" + std::to_string(i);
    return unique + ".parquet";
  }

 private:
  static constexpr std::size_t kMaxPart = 64;
  std::set<std::string> given_;
};

struct Written {
  std::size_t processes = 0;
  std::uint64_t bytes = 0;
};

Status write_rollup(const fs::path& path, const std::string& bytes, const std::vector<fs::path>& runs) {
  if (auto harmless = check_is_no_input(path, runs); !harmless) return harmless;
  auto output = OutputFile::create(path);
  if (!output) return output.error();
  output->write(bytes);
  return output->commit();
}

struct RolledUp {
  trace::Process process;
  std::string bytes;
};

// One that is too long to be in memory as a whole is read once more.
Result<std::string> rolled_up_by_windows(const fs::path& file, const trace::Process& process, std::int64_t margin_ns,
                                         const report::rollup::WindowLimits& limits, const std::string& run) {
  ProgressBar bar("rolling up " + printable(file.filename().string()));
  report::rollup::Windows windows(process, margin_ns, limits);
  if (const auto read = trace::read_file(file, windows, bar.callback()); !read) return read.error();
  return windows.finish(run);
}

// The processes of one file. Memory: of a recording at most a window, of files of other tools all of it.
Result<std::vector<RolledUp>> rolled_up(const fs::path& file, const std::string& run,
                                        const analyze::FileReader& reader) {
  const report::rollup::WindowLimits limits;
  const auto kind = reader.kind_of(file);
  const bool is_own = kind && *kind == "turnpike";
  std::vector<std::unique_ptr<report::rollup::Survey>> surveys;
  const auto next_survey = [&]() -> trace::RecordSink& {
    const std::size_t most = is_own ? limits.records : std::numeric_limits<std::size_t>::max();
    return *surveys.emplace_back(std::make_unique<report::rollup::Survey>(most));
  };
  auto processes = [&] {
    ProgressBar bar("reading " + printable(file.filename().string()));
    return reader.read(file, next_survey, bar.callback());
  }();
  if (!processes) return processes.error();
  std::vector<RolledUp> all;
  for (std::size_t i = 0; i < processes->size(); ++i) {
    trace::Process& process = (*processes)[i];
    if (surveys[i]->is_whole()) {
      const analyze::LoadedProcess loaded{std::move(process), surveys[i]->take_timeline()};
      std::string bytes = report::rollup::rollup_of(loaded, run);
      all.push_back({loaded.process, std::move(bytes)});
    } else {
      auto bytes = rolled_up_by_windows(file, process, surveys[i]->margin_ns(process, limits), limits, run);
      if (!bytes) return bytes.error();
      all.push_back({std::move(process), std::move(*bytes)});
    }
  }
  return all;
}

int roll_up(const RollupArguments& arguments, const analyze::FileReader& reader) {
  const fs::path folder =
      arguments.output.empty() ? fs::path(stem_of(arguments.runs.front()) + ".rollup") : fs::path(arguments.output);
  if (auto harmless = check_is_no_input(folder, arguments.runs); !harmless)
    return fail("turnpike rollup", harmless.error().message, kUsage);
  std::vector<std::pair<std::string, fs::path>> files;  // with the name of the run
  int code = kFine;
  for (const fs::path& run : arguments.runs) {
    const auto found = trace::run_files(run);
    if (!found) {
      code = fail("turnpike rollup", found.error().message, kUnreadableInput);
      continue;
    }
    for (const fs::path& file : *found) files.emplace_back(stem_of(run), file);
  }
  if (files.empty()) return code;
  const auto made = OutputFolder::create(folder);
  if (!made) return fail("turnpike rollup", made.error().message, kFailed);
  FileNames names;
  Written written;
  for (const auto& [run, file] : files) {
    const auto processes = rolled_up(file, run, reader);
    if (!processes) {
      code = fail("turnpike rollup", processes.error().message, kUnreadableInput);
      continue;
    }
    for (const auto& [process, bytes] : *processes) {
      const fs::path path = folder / names.of(run, process);
      if (auto done = write_rollup(path, bytes, arguments.runs); !done)
        return fail("turnpike rollup", done.error().message, kFailed);
      ++written.processes;
      written.bytes += bytes.size();
    }
  }
  if (written.processes > 0) {
    say("turnpike rollup", "wrote " + std::to_string(written.processes) +
                               (written.processes == 1 ? " process, " : " processes, ") +
                               std::to_string((written.bytes + 999) / 1000) + " kB, into " + folder.string());
  }
  return code;
}

int roll_up_newest(RollupArguments arguments) {
  auto runs = runs_or_newest(arguments.runs, "turnpike rollup");
  if (!runs) return fail("turnpike rollup", runs.error().message, kUsage);
  arguments.runs = std::move(*runs);
  return with_files("turnpike rollup", arguments.is_strict,
                    [&](const analyze::FileReader& reader) { return roll_up(arguments, reader); });
}

}  // namespace

void add_rollup(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("rollup", "Sum up each process of a run by the minute, as Parquet");
  const auto arguments = std::make_shared<RollupArguments>();
  add_runs_argument(command, arguments->runs);
  command
      .add_option("-o,--output", arguments->output,
                  "The folder to write into; it is made, and files of other names stay\n(default: NAME.rollup here)")
      .type_name("DIR")
      .check(check_is_named);
  add_strict_option(command, arguments->is_strict);
  command.footer(kRollupExamples);
  command.callback([arguments, &status] { status = roll_up_newest(*arguments); });
}

}  // namespace turnpike::cli
