#include "report/chrome/layout.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "report/text/text_width.h"

namespace turnpike::report {
namespace {

// Above every id that Linux gives (2^22) and below 2^31, which viewers take.
constexpr std::uint32_t kFirstMadePid = 10'000'000;
constexpr std::uint32_t kFirstMadeTid = 100'000'000;
constexpr std::size_t kMaxNameWidth = 80;
// Between the arguments of a command line (docs/format.md).
constexpr char kArgumentSeparator = '\x1f';

// What the process ran, else the name of its file.
std::string process_name(const trace::Process& process) {
  const auto program = process.metadata.find("program");
  std::string name =
      program == process.metadata.end() ? std::filesystem::path(process.path).stem().string() : program->second;
  std::replace(name.begin(), name.end(), kArgumentSeparator, ' ');
  const auto rank = process.metadata.find("rank");
  const std::string of_rank = rank == process.metadata.end() ? "" : ", rank " + rank->second;
  return shortened_middle(cleaned(name), kMaxNameWidth) + " (process " + std::to_string(process.pid) + of_rank + ")";
}

std::string thread_name(const ChromeIndex& index, std::uint32_t thread) {
  const std::string name = index.thread_name(thread);
  return thread == index.process().pid ? name + " (main)" : name;
}

std::string track_name(const ChromeIndex& index, const Track& track) {
  switch (track.kind) {
    case TrackKind::kThread:
      return thread_name(index, track.owner);
    case TrackKind::kRanges:
      return "NVTX of " + thread_name(index, track.owner);
    case TrackKind::kIdle:
      return (track.owner == trace::kUnknownId ? "GPU ?" : "GPU " + std::to_string(track.owner)) + " waits for";
    case TrackKind::kStream:
      return index.stream_name(track.owner, track.stream);
    case TrackKind::kMigrations:
      return "managed memory";
  }
  return "";
}

bool is_on_device(const Track& track) {
  return track.kind == TrackKind::kIdle || track.kind == TrackKind::kStream || track.kind == TrackKind::kMigrations;
}

}  // namespace

ChromeLayout::ChromeLayout(const std::vector<ChromeIndex>& indexes)
    : next_pid_(kFirstMadePid), next_tid_(kFirstMadeTid) {
  for (std::size_t i = 0; i < indexes.size(); ++i) add_process(indexes[i], i);
}

std::uint32_t ChromeLayout::free_pid(std::uint32_t wanted) {
  const bool is_usable = wanted != 0 && wanted < kFirstMadePid;
  return is_usable && used_pids_.insert(wanted).second ? wanted : next_pid_++;
}

void ChromeLayout::add_process(const ChromeIndex& index, std::size_t number) {
  const trace::Process& process = index.process();
  const std::uint32_t pid = free_pid(process.pid);
  processes_.push_back({{pid, 0}, process_name(process)});
  rows_.emplace_back(index.tracks().size());
  std::map<std::uint32_t, std::uint32_t> pids_of_devices;
  for (const auto& [track, track_number] : index.tracks()) {
    if (!is_on_device(track)) {
      add_track(index, track, track_number, pid, rows_[number]);
      continue;
    }
    const auto [device, is_new] = pids_of_devices.try_emplace(track.owner, next_pid_);
    if (is_new) {
      ++next_pid_;
      processes_.push_back(
          {{device->second, 0}, index.device_name(track.owner) + ", used by " + process_name(process)});
    }
    add_track(index, track, track_number, device->second, rows_[number]);
  }
}

void ChromeLayout::add_track(const ChromeIndex& index, const Track& track, std::uint32_t track_number,
                             std::uint32_t pid, std::vector<std::vector<TraceRow>>& rows) {
  const std::string name = track_name(index, track);
  for (std::uint32_t lane = 0; lane < index.lanes().lane_counts()[track_number]; ++lane) {
    // Only a thread has an id that means something to the user.
    const bool is_thread = track.kind == TrackKind::kThread && lane == 0 && track.owner < kFirstMadeTid;
    const TraceRow row{pid, is_thread ? track.owner : next_tid_++};
    rows[track_number].push_back(row);
    threads_.push_back({row, lane == 0 ? name : name + " (" + std::to_string(lane + 1) + ")"});
  }
}

TraceRow ChromeLayout::row(std::size_t index, std::uint32_t track, std::uint32_t lane) const {
  return rows_[index][track][lane];
}

void ChromeLayout::write_names(TraceEventWriter& writer) const {
  for (std::uint32_t i = 0; i < processes_.size(); ++i)
    writer.name_process(processes_[i].row.pid, processes_[i].name, i);
  for (std::uint32_t i = 0; i < threads_.size(); ++i) writer.name_thread(threads_[i].row, threads_[i].name, i);
}

}  // namespace turnpike::report
