// How long each line of source had the CPU wait or copies run, no moment twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/model/intervals.h"
#include "analyze/report.h"

namespace turnpike::analyze {

// Of one process, by the rows of a table of places.
class RowTimes {
 public:
  struct Times {
    std::vector<Interval> waits{};
    std::vector<Interval> copies{};
    std::optional<std::int64_t> gpu_idle_ns{};  // during the waits

    void add_wait(const Interval& wait, std::optional<std::int64_t> idle_ns);
  };

  Times& of_row(std::uint32_t row) {
    if (row >= times_.size()) times_.resize(row + 1);
    return times_[row];
  }
  const std::vector<Times>& all() const { return times_; }

 private:
  std::vector<Times> times_;
};

// Of all processes, by line.
class LineTable {
 public:
  // What a process adds to a line, place by place; finish_process() sums it up.
  void add(const Where& where, const RowTimes::Times& times);
  void finish_process();
  // Most time first. Empties the table.
  std::vector<LineTime> take_ranked();

 private:
  using Key = std::pair<std::string, std::uint32_t>;  // file and line

  std::map<Key, RowTimes::Times> of_process_;
  std::map<Key, LineTime> lines_;
};

}  // namespace turnpike::analyze
