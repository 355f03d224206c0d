// Puts the counters of a recording into words.
#include "cli/record_summary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/units.h"
#include "cli/message.h"

namespace turnpike::cli {
namespace {

constexpr std::size_t kHostToDevice = 0;
constexpr std::size_t kDeviceToHost = 1;
// In the order of TurnpikeStatus::transfer_count.
constexpr std::array kDirections = {"host to device",   "device to host", "within a device",
                                    "device to device", "host to host",   "memset"};

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return count_text(count) + " " + (count == 1 ? one : many);
}

std::string processes(std::uint64_t count) {
  return counted(count, "process", "processes");
}

std::string host_time_text(const TurnpikeStatus& status) {
  return status.host_time_ns == 0 ? "0 s" : duration_text(static_cast<std::int64_t>(status.host_time_ns));
}

// As a word that a shell reads back as `text`.
std::string quoted(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

std::string counters_text(const TurnpikeStatus& status) {
  std::string text;
  for (std::size_t at = 0; at < kDirections.size(); ++at) {
    if (status.transfer_count[at] == 0) continue;
    text += fmt::format("  {:<18}{:>10}   {}\n", kDirections[at], count_text(status.transfer_count[at]),
                        size_text(status.transfer_bytes[at]));
  }
  if (text.empty()) text = "  no transfers\n";
  text += fmt::format("  {:<18}{:>10}\n", "synchronisations", count_text(status.sync_count));
  if (status.kernel_count != 0) text += fmt::format("  {:<18}{:>10}\n", "kernels", count_text(status.kernel_count));
  return text + fmt::format("  {:<18}{:>10}\n", "copies and waits", host_time_text(status));
}

std::string nothing_text() {
  return "turnpike: nothing was recorded, because no process initialised CUDA.\n"
         "  If the program does use a GPU, it may have done so in a process that was not started by this command\n"
         "  (a server, a container, ssh), or with an environment of its own.\n";
}

// A recording that stopped is a loss, too, but not of a record.
std::uint64_t lost_records(const TurnpikeStatus& status) {
  return status.loss_count - std::min(status.loss_count, status.stopped_at_size_count + status.stopped_disk_low_count);
}

// What ends before its program, and why.
std::string stop_text(const TurnpikeStatus& status) {
  std::string text;
  if (status.stopped_at_size_count != 0) {
    text += fmt::format(", recording of {} stopped at --max-size", processes(status.stopped_at_size_count));
  }
  if (status.stopped_disk_low_count != 0) {
    text += fmt::format(", recording of {} stopped because the disk is nearly full",
                        processes(status.stopped_disk_low_count));
  }
  return text;
}

}  // namespace

std::string status_line_text(const TurnpikeStatus& status, std::chrono::seconds elapsed) {
  if (status.process_count == 0) return "";
  const auto seconds = elapsed.count();
  std::string text = fmt::format("turnpike {}:{:02}", seconds / 60, seconds % 60);
  if (status.process_count > 1) text += fmt::format(" | {}", processes(status.process_count));
  const auto add = [&](const char* name, std::size_t at) {
    text +=
        fmt::format(" | {} {}, {}", name, count_text(status.transfer_count[at]), size_text(status.transfer_bytes[at]));
  };
  add("to device", kHostToDevice);
  add("to host", kDeviceToHost);
  text += fmt::format(" | copies and waits {}", host_time_text(status));
  if (const auto lost = lost_records(status); lost != 0) text += fmt::format(" | lost {}", count_text(lost));
  return text;
}

std::string summary_text(const TurnpikeStatus& status, const std::string& run, bool has_files) {
  std::string text;
  if (status.process_count != 0) {
    text = fmt::format("turnpike: recorded {} into {} ({})\n", processes(status.process_count), run,
                       size_text(status.written_bytes)) +
           counters_text(status);
  } else if (status.unusable_count == 0 && has_files) {
    text = fmt::format("turnpike: recorded into {}; the counters did not arrive (the program may run in a container)\n",
                       run);
  } else if (status.unusable_count == 0) {
    return nothing_text();
  } else {
    text = "turnpike: nothing was recorded.\n";
  }
  if (const auto lost = lost_records(status); lost != 0) {
    text += fmt::format("  {} lost: the report says which and why\n", counted(lost, "record was", "records were"));
  }
  if (status.unusable_count != 0) {
    text += fmt::format("  {} CUDA but could not be recorded: the report says why\n",
                        counted(status.unusable_count, "process uses", "processes use"));
  }
  return text + fmt::format("  the run is {}{}; next: turnpike report {}\n", run, stop_text(status), quoted(run));
}

void print_summary(const TurnpikeStatus& status, const RunDirectory& directory, const std::string& kept) {
  // The program may have left the cursor at the end of a line.
  const char* separator = isatty(STDERR_FILENO) != 0 ? "\n" : "";
  const std::string run = directory.recorded_path().string();
  const std::string text = summary_text(status, run, directory.has_recordings());
  std::fputs((separator + printable(text + kept)).c_str(), stderr);
}

}  // namespace turnpike::cli
