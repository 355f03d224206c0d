// turnpike export: a run as a file for another tool.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/runs_argument.h"
#include "cli/same_file.h"
#include "ingest/run_reader.h"
#include "report/chrome/chrome.h"
#include "trace/reader.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

constexpr const char* kExamples = R"(Examples:
  turnpike export train.tpk --to chrome              writes train.chrome.json: open it at ui.perfetto.dev
  turnpike export train.tpk --to perfetto -o t.json  the same under another name
  turnpike export train.tpk --to chrome -o - | gzip  to standard output

Exit code: 0, 2 wrong usage, 3 a run cannot be read, 4 the file cannot be written.)";

struct Arguments {
  Paths runs;
  std::string tool;
  std::string output;
};

int fail(const std::string& message, int code) {
  say("turnpike export", message);
  return code;
}

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

// One index for each process of each file.
Result<std::vector<report::ChromeIndex>> indexed(const Paths& files) {
  std::vector<report::ChromeIndex> indexes;
  for (const fs::path& file : files) {
    ProgressBar bar("reading " + printable(file.filename().string()));
    std::deque<report::ChromeIndex> of_file;  // stay where they are while they are filled
    auto processes =
        ingest::read_file(file, [&]() -> trace::RecordSink& { return of_file.emplace_back(); }, bar.callback());
    if (!processes) return processes.error();
    for (std::size_t i = 0; i < processes->size(); ++i) {
      of_file[i].finish(std::move((*processes)[i]));
      indexes.push_back(std::move(of_file[i]));
    }
  }
  return indexes;
}

Status write_events(const Paths& files, const std::vector<report::ChromeIndex>& indexes, OutputFile& output) {
  report::ChromeExporter exporter(indexes, [&](std::string_view bytes) { output.write(bytes); });
  std::size_t next_process = 0;
  for (std::size_t i = 0; i < files.size() && !output.has_failed(); ++i) {
    ProgressBar bar("writing " + printable(files[i].filename().string()));
    std::vector<std::unique_ptr<trace::RecordSink>> passes;
    const auto next_pass = [&]() -> trace::RecordSink& {
      return *passes.emplace_back(exporter.second_pass(next_process++));
    };
    const auto processes = ingest::read_file(files[i], next_pass, bar.callback());
    if (!processes) return processes.error();
  }
  exporter.close();
  return {};
}

void tell(const fs::path& path, const OutputFile& output) {
  std::fprintf(stderr, "Wrote %s (%.1f MB). Open it at https://ui.perfetto.dev or chrome://tracing.\n",
               printable(path.string()).c_str(), static_cast<double>(output.size_bytes()) / 1e6);
}

int export_run(const Arguments& arguments) {
  const fs::path path = arguments.output.empty() ? default_output(arguments.runs.front()) : fs::path(arguments.output);
  if (auto harmless = check_is_no_input(path, arguments.runs); !harmless) return fail(harmless.error().message, kUsage);
  const auto files = files_of(arguments.runs);
  if (!files) return fail(files.error().message, kUnreadableInput);
  const auto indexes = indexed(*files);
  if (!indexes) return fail(indexes.error().message, kUnreadableInput);
  auto output = OutputFile::create(path);
  if (!output) return fail(output.error().message, kFailed);
  if (auto read = write_events(*files, *indexes, *output); !read) return fail(read.error().message, kUnreadableInput);
  if (auto written = output->commit(); !written) return fail(written.error().message, kFailed);
  if (path != "-") tell(path, *output);
  return kFine;
}

}  // namespace

void add_export(CLI::App& app, int& status) {
  CLI::App* const command = app.add_subcommand("export", "Export a run for a trace viewer");
  const auto arguments = std::make_shared<Arguments>();
  add_runs_argument(*command, arguments->runs);
  command->add_option("--to", arguments->tool, "The viewer: chrome or perfetto (the file is the same)")
      ->required()
      ->check(CLI::IsMember({"chrome", "perfetto"}))
      ->type_name("TOOL");
  command
      ->add_option("-o,--output", arguments->output,
                   "The file to write; - for standard output (default: NAME.chrome.json here)")
      ->type_name("FILE")
      ->check(check_is_named);
  command->footer(kExamples);
  command->callback([arguments, &status] { status = export_run(*arguments); });
}

}  // namespace turnpike::cli
