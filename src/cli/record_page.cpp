#include "cli/record_page.h"

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "cli/browser.h"
#include "cli/message.h"
#include "cli/write_page.h"
#include "report/html/page_parts.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* kRecordCommand = "turnpike record";

// As RunDirectory numbers runs: never a file that exists, unless it may be replaced.
fs::path page_beside(const RecordedRun& run) {
  // "runs/" is a name, too; "." and ".." stand for one.
  fs::path named = run.path.has_filename() ? run.path : run.path.parent_path();
  if (named.filename() == "." || named.filename() == "..") {
    named = fs::absolute(named / "").lexically_normal().parent_path();
  }
  const fs::path stem = named.extension() == ".tpk" ? fs::path(named).replace_extension() : named;
  fs::path page = stem.string() + ".html";
  std::error_code failed;
  for (int number = 2; !run.is_forced && fs::exists(fs::symlink_status(page, failed)); ++number) {
    page = stem.string() + "-" + std::to_string(number) + ".html";
  }
  return page;
}

// Only a file, no link, that says itself that Turnpike wrote it.
Status check_is_replaceable_page(const fs::path& page) {
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(page, failed);
  if (!fs::exists(status)) return {};
  std::string start(report::html::kStartOfPageBytes, '\0');
  if (fs::is_regular_file(status)) {
    std::ifstream file(page, std::ios::binary);
    file.read(start.data(), static_cast<std::streamsize>(start.size()));
    start.resize(static_cast<std::size_t>(file.gcount()));
    if (report::html::is_start_of_page(start)) return {};
  }
  return Error{"cannot replace " + page.string() +
               ": it is no page that Turnpike wrote. Move it away, or have the page written with `turnpike report " +
               "--html`."};
}

}  // namespace

// Whatever fails here, the program's own exit code stays.
void show_page_of(const RecordedRun& run) try {
  const fs::path page = page_beside(run);
  if (const auto replaceable = check_is_replaceable_page(page); !replaceable) {
    return say(kRecordCommand, "--open: " + replaceable.error().message);
  }
  const auto read = read_page({run.path}, {}, kRecordCommand);
  const auto saved = read ? save_page(page.string(), [&](const auto& output) { read->write(output); }) : read.error();
  if (!saved) return say(kRecordCommand, "--open: " + saved.error().message);
  if (!run.is_quiet) std::fprintf(stderr, "  the page is %s\n", printable(page.string()).c_str());
  if (has_display()) open_browser(fs::absolute(page).string());
} catch (const std::exception& failure) {
  say(kRecordCommand, std::string("--open: ") + failure.what());
}

}  // namespace turnpike::cli
