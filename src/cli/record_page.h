// What `turnpike record --open` does once the program has ended.
#pragma once

#include <filesystem>

namespace turnpike::cli {

struct RecordedRun {
  const std::filesystem::path& path;
  bool is_forced;  // an older page of ours may be replaced, as the recording may
  bool is_quiet;
};

// Writes the page of a run beside it (train.tpk: train.html, or train-2.html where that exists), says where, and opens
// it where there is a display. Says what fails: the recording stands in any case.
void show_page_of(const RecordedRun& run);

}  // namespace turnpike::cli
