// Makes a directory, and tells the processes by its number.
#include "cli/kept_runs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "cli/message.h"
#include "record/kept_run.h"
#include "trace/reader.h"
#include "trace/record_sink.h"

namespace turnpike::cli {
namespace {

namespace fs = std::filesystem;

// Why the processes of a run say that it was kept.
std::set<std::string> reasons_of(const fs::path& run) {
  std::set<std::string> reasons;
  const auto files = trace::run_files(run);
  if (!files) return reasons;
  for (const fs::path& file : *files) {
    trace::RecordSink nothing;
    const auto process = trace::read_file(file, nothing);
    if (!process) continue;
    const auto reason = process->metadata.find(trace::kKeptMetadata);
    if (reason != process->metadata.end()) reasons.insert(reason->second);
  }
  return reasons;
}

}  // namespace

KeptRuns::KeptRuns(fs::path run, const SharedStatus& status) : run_(std::move(run)), status_(status) {
  constexpr std::uint64_t kMostNames = 1000;
  for (std::uint64_t number = 1; number <= kMostNames; ++number) {
    fs::path path = record::kept_run_path(run_.string(), number);
    std::error_code ignored;
    if (fs::exists(path, ignored)) older_.push_back(std::move(path));
  }
}

void KeptRuns::ask() {
  const std::uint64_t number = record::claim_kept_run(run_.string(), status_.read().keep_number);
  if (number == 0) {
    say("turnpike", "cannot make a directory for what is kept: " + std::string(std::strerror(errno)));
  } else {
    status_.raise_keep_number(number);
  }
}

std::vector<fs::path> KeptRuns::settle() const {
  std::vector<fs::path> kept;
  const std::uint64_t newest = status_.read().keep_number;
  for (std::uint64_t number = 1; number <= newest; ++number) {
    fs::path path = record::kept_run_path(run_.string(), number);
    std::error_code ignored;
    if (std::find(older_.begin(), older_.end(), path) != older_.end() || !fs::exists(path, ignored)) continue;
    if (::rmdir(path.c_str()) != 0) kept.push_back(std::move(path));
  }
  return kept;
}

std::string kept_text(const std::vector<fs::path>& runs) {
  std::string text;
  for (const fs::path& run : runs) {
    std::string why;
    for (const std::string& reason : reasons_of(run)) why += (why.empty() ? ": " : "; ") + reason;
    text += "  kept " + run.filename().string() + why + "\n";
  }
  return text;
}

}  // namespace turnpike::cli
