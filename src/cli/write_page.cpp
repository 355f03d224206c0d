#include "cli/write_page.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "cli/message.h"
#include "cli/open_run.h"
#include "cli/output_file.h"
#include "cli/runs_argument.h"
#include "trace/reader.h"

namespace turnpike::cli {
std::vector<Option> add_page_options(Command command, PageArguments& arguments) {
  return {command.add_flag("--no-source", arguments.no_source, "Leave the source code out of the page"),
          command.add_flag("--redact-paths", arguments.redacts_paths,
                           "Cut paths to what tells files apart, and leave out names of machines"),
          command
              .add_option("--events", arguments.max_events,
                          "So many events at most in the page; transfers and waits are always in it\n"
                          "(default: 1000000)")
              .type_name("N")
              .check(check_is_count)};
}

report::html::PageOptions options_of(const PageArguments& arguments) {
  return {
      .has_source = !arguments.no_source, .redacts_paths = arguments.redacts_paths, .max_events = arguments.max_events};
}

// Nearly always each holds one process.
std::size_t file_count(const std::vector<std::filesystem::path>& runs) {
  std::size_t count = 0;
  for (const std::filesystem::path& run : runs) {
    const auto files = trace::run_files(run);
    count += files ? files->size() : 1;
  }
  return count;
}

Result<std::uint64_t> save_page(const std::string& path,
                                const std::function<void(const report::html::Output&)>& write) {
  auto output = OutputFile::create(path);
  if (!output) return output.error();
  write([&](std::string_view bytes) { output->write(bytes); });
  if (auto written = output->commit(); !written) return written.error();
  return output->size_bytes();
}

Status write_page(const std::string& path, const std::function<void(const report::html::Output&)>& write) {
  const auto size_bytes = save_page(path, write);
  if (!size_bytes) return size_bytes.error();
  if (path == "-") return {};
  std::fprintf(stderr, "Wrote %s (%.1f MB). Open it in a browser.\n", printable(path).c_str(),
               static_cast<double>(*size_bytes) / 1e6);
  return {};
}

Result<ReadPage> read_page(const std::vector<std::filesystem::path>& runs, const PageArguments& arguments,
                           const char* command) {
  auto page = std::make_unique<report::html::Page>(options_of(arguments), file_count(runs));
  auto report = open_run(runs, command, [&](const analyze::ProcessView& view) { page->add(view); });
  if (!report) return report.error();
  return ReadPage(std::move(*report), std::move(page));
}

}  // namespace turnpike::cli
