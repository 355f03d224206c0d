// Pages for browsers: what report, diff and view do alike.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyze/report.h"
#include "base/result.h"
#include "cli/command_line.h"
#include "report/html/page.h"

namespace turnpike::cli {

struct PageArguments {
  bool no_source = false;
  bool redacts_paths = false;
  std::size_t max_events = report::html::PageOptions().max_events;
};

// --no-source, --redact-paths, --events.
std::vector<Option> add_page_options(Command command, PageArguments& arguments);

report::html::PageOptions options_of(const PageArguments& arguments);

// How many files of processes the runs have.
std::size_t file_count(const std::vector<std::filesystem::path>& runs);

// Writes the page to a file, whole or not at all; "-": to standard output. Its size in bytes.
Result<std::uint64_t> save_page(const std::string& path, const std::function<void(const report::html::Output&)>& write);
// The same, and says where the file lies.
Status write_page(const std::string& path, const std::function<void(const report::html::Output&)>& write);

// A page that is ready to be written.
class ReadPage {
 public:
  ReadPage(analyze::Report report, std::unique_ptr<report::html::Page> page)
      : report_(std::move(report)), page_(std::move(page)) {}
  void write(const report::html::Output& output) const { page_->write(report_, output); }
  const analyze::InputRemarks& inputs() const { return report_.source.inputs; }

 private:
  analyze::Report report_;
  std::unique_ptr<report::html::Page> page_;
};

// Reads runs as one, as open_run does.
Result<ReadPage> read_page(const std::vector<std::filesystem::path>& runs, const PageArguments& arguments,
                           const char* command);

}  // namespace turnpike::cli
