// turnpike export: a run as files for other tools.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>

#include "analyze/analyze.h"
#include "analyze/model/timeline.h"
#include "cli/commands.h"
#include "cli/export_tables.h"
#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/runs_argument.h"
#include "cli/same_file.h"
#include "report/chrome/chrome.h"
#include "report/table/table.h"
#include "trace/reader.h"
#include "trace/two_sinks.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

constexpr const char* kExportExamples = R"(Examples:
  turnpike export train.tpk --to chrome              writes train.chrome.json: open it at ui.perfetto.dev
  turnpike export train.tpk --to perfetto -o t.json  the same under another name
  turnpike export train.tpk --to chrome -o - | gzip  to standard output
  turnpike export train.tpk --to csv                 every table into the folder train.csv
  turnpike export train.tpk --to csv --table syncs   one table into train.syncs.csv
  turnpike export train.tpk --to parquet             as csv; with the Python package and pyarrow, also: arrow

Exit code: 0, 2 wrong usage, 3 a run cannot be read, 4 the file cannot be written.)";

struct ExportArguments {
  bool is_strict = false;
  Paths runs;
  std::string tool;
  std::string table;
  std::string output;
};

// "train.chrome.json" for "runs/train.tpk/", in the working directory.
fs::path default_output(const fs::path& run) {
  const fs::path plain = run.has_filename() ? run : run.parent_path();
  return plain.filename().replace_extension(".chrome.json");
}

Result<Paths> files_of(const Paths& runs) {
  Paths all;
  for (const fs::path& run : runs) {
    const auto files = trace::run_files(run);
    if (!files) return files.error();
    all.insert(all.end(), files->begin(), files->end());
  }
  return all;
}

// What the first reading of a process fills.
struct FirstPass {
  report::ChromeIndex index;
  analyze::TimelineLoader loader;
  trace::TwoSinks both{index, loader};
};

// One index for each process of each file. The records of one file at a time are in memory.
Result<std::vector<report::ChromeIndex>> indexed(const Paths& files, const analyze::FileReader& reader) {
  std::vector<report::ChromeIndex> indexes;
  for (const fs::path& file : files) {
    ProgressBar bar("reading " + printable(file.filename().string()));
    std::deque<FirstPass> of_file;  // stay where they are while they are filled
    auto processes =
        reader.read(file, [&]() -> trace::RecordSink& { return of_file.emplace_back().both; }, bar.callback());
    if (!processes) return processes.error();
    for (trace::Process& process : *processes) {
      FirstPass& pass = of_file.front();
      report::IdleLanes idle = report::idle_lanes(process, pass.loader.take());
      pass.index.finish(std::move(process), std::move(idle));
      indexes.push_back(std::move(pass.index));
      of_file.pop_front();
    }
  }
  return indexes;
}

Status write_events(const Paths& files, const std::vector<report::ChromeIndex>& indexes,
                    const analyze::FileReader& reader, OutputFile& output) {
  report::ChromeExporter exporter(indexes, [&](std::string_view bytes) { output.write(bytes); });
  std::size_t next_process = 0;
  for (std::size_t i = 0; i < files.size() && !output.has_failed(); ++i) {
    ProgressBar bar("writing " + printable(files[i].filename().string()));
    std::vector<std::unique_ptr<trace::RecordSink>> passes;
    const auto next_pass = [&]() -> trace::RecordSink& {
      return *passes.emplace_back(exporter.second_pass(next_process++));
    };
    const auto processes = reader.read(files[i], next_pass, bar.callback());
    if (!processes) return processes.error();
  }
  exporter.close();
  return {};
}

void say_written(const fs::path& path, const OutputFile& output) {
  std::fprintf(stderr, "Wrote %s (%.1f MB). Open it at https://ui.perfetto.dev or chrome://tracing.\n",
               printable(path.string()).c_str(), static_cast<double>(output.size_bytes()) / 1e6);
}

int export_run(const ExportArguments& arguments, const analyze::FileReader& reader) {
  if (arguments.tool == "csv") return export_csv(arguments.runs, arguments.table, arguments.output, reader);
  if (arguments.tool == "arrow" || arguments.tool == "parquet") {
    return fail(
        "turnpike export",
        "--to " + arguments.tool + " needs Python: `pip install 'turnpike-gpu[tables]'`, and its command turnpike.",
        kUsage);
  }
  if (!arguments.table.empty())
    return fail("turnpike export", "--table goes with --to csv, arrow and parquet.", kUsage);
  const fs::path path = arguments.output.empty() ? default_output(arguments.runs.front()) : fs::path(arguments.output);
  if (auto harmless = check_is_no_input(path, arguments.runs); !harmless)
    return fail("turnpike export", harmless.error().message, kUsage);
  const auto files = files_of(arguments.runs);
  if (!files) return fail("turnpike export", files.error().message, kUnreadableInput);
  const auto indexes = indexed(*files, reader);
  if (!indexes) return fail("turnpike export", indexes.error().message, kUnreadableInput);
  auto output = OutputFile::create(path);
  if (!output) return fail("turnpike export", output.error().message, kFailed);
  if (auto read = write_events(*files, *indexes, reader, *output); !read)
    return fail("turnpike export", read.error().message, kUnreadableInput);
  if (auto written = output->commit(); !written) return fail("turnpike export", written.error().message, kFailed);
  if (path != "-") say_written(path, *output);
  return kFine;
}

int export_strictly(ExportArguments arguments) {
  auto runs = runs_or_newest(arguments.runs, "turnpike export");
  if (!runs) return fail("turnpike export", runs.error().message, kUsage);
  arguments.runs = std::move(*runs);
  return with_files("turnpike export", arguments.is_strict,
                    [&](const analyze::FileReader& reader) { return export_run(arguments, reader); });
}

}  // namespace

void add_export(Command turnpike, int& status) {
  Command command = turnpike.add_subcommand("export", "Export a run for a trace viewer, or as tables");
  const auto arguments = std::make_shared<ExportArguments>();
  add_runs_argument(command, arguments->runs);
  command
      .add_option("--to", arguments->tool,
                  "A viewer: chrome or perfetto (the file is the same);\nor tables: csv, arrow, parquet")
      .required()
      .one_of({"chrome", "perfetto", "csv", "arrow", "parquet"})
      .type_name("TOOL");
  command
      .add_option("-o,--output", arguments->output,
                  "The file to write; - for standard output (default: NAME.chrome.json here); of all tables the folder")
      .type_name("FILE")
      .check(check_is_named);
  const auto& tables = report::table::table_names();
  command
      .add_option("--table", arguments->table,
                  "This table alone: transfers, syncs, sites, kernels, steps, idle,\nallocations")
      .one_of(std::vector<std::string>(tables.begin(), tables.end()))
      .type_name("NAME");
  add_strict_option(command, arguments->is_strict);
  command.footer(kExportExamples);
  command.callback([arguments, &status] { status = export_strictly(*arguments); });
}

}  // namespace turnpike::cli
