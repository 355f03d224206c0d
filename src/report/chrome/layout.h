// Which process and row of the viewer each track of each recorded process is drawn on, and what they are called.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "report/chrome/index.h"
#include "report/chrome/trace_event_writer.h"

namespace turnpike::report {

// The threads of a process stand under the process; the streams of its devices under one process per device, since
// viewers know nothing of devices. Processes keep their ids, except one whose id is taken (ranks of several machines).
class ChromeLayout {
 public:
  // `indexes` are finished, and outlive this.
  explicit ChromeLayout(const std::vector<ChromeIndex>& indexes);

  TraceRow row(std::size_t index, std::uint32_t track, std::uint32_t lane) const;
  void write_names(TraceEventWriter& writer) const;

 private:
  struct Named {
    TraceRow row;
    std::string name;
  };

  void add_process(const ChromeIndex& index, std::size_t number);
  std::uint32_t free_pid(std::uint32_t wanted);
  void add_track(const ChromeIndex& index, const Track& track, std::uint32_t track_number, std::uint32_t pid,
                 std::vector<std::vector<TraceRow>>& rows);

  std::vector<std::vector<std::vector<TraceRow>>> rows_;  // by index, track, lane
  std::vector<Named> processes_;
  std::vector<Named> threads_;
  std::set<std::uint32_t> used_pids_;
  std::uint32_t next_pid_;
  std::uint32_t next_tid_;
};

}  // namespace turnpike::report
