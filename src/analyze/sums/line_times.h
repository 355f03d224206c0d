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

// Of all processes, by line.
class LineTable {
 public:
  // Of a line in one process.
  struct Times {
    std::vector<Interval> waits{};
    std::vector<Interval> copies{};
    std::optional<std::int64_t> gpu_idle_ns{};  // during the waits

    void add_wait(const Interval& wait, std::optional<std::int64_t> idle_ns);
  };

  // The times of this line in the current process, valid until finish_process(); nullptr if the place has no line.
  Times* of(const Where& where);
  void finish_process();
  // Most time first. Empties the table.
  std::vector<LineTime> take_ranked();

 private:
  using Key = std::pair<std::string, std::uint32_t>;  // file and line

  std::map<Key, Times> of_process_;
  std::map<Key, LineTime> lines_;
};

// Caches the line of each row, for one process.
class LinesOfRows {
 public:
  explicit LinesOfRows(LineTable& lines) : lines_(lines) {}

  // `where`: the place of the row. nullptr: it has no line.
  LineTable::Times* of_row(std::uint32_t row, const Where& where) {
    if (row >= times_.size()) times_.resize(row + 1);
    if (!times_[row]) times_[row] = lines_.of(where);
    return *times_[row];
  }

 private:
  LineTable& lines_;
  std::vector<std::optional<LineTable::Times*>> times_;
};

}  // namespace turnpike::analyze
