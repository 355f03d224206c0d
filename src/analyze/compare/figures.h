// What the places of a run cost, in a step or in the whole run: the figures that comparisons and limits are about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/report.h"

namespace turnpike::analyze {

enum class Unit { kStep, kRun };

// Figures of a step are means over the whole steps of all processes, without warm-up; a count can be 0.5.
struct Figures {
  double count = 0;
  double bytes = 0;
  // 0 where nothing happened; nullopt: unknown for a part of it.
  std::optional<double> device_time_ns = 0;
  std::optional<double> blocked_ns = 0;
  std::optional<double> exposed_ns = 0;  // a synchronisation has none

  void add(const Figures& other);
};

// A row of the report, of transfers or of synchronisations, with its figures in one unit.
struct Item : CallSite {
  std::optional<Direction> direction{};  // nullopt: a synchronisation
  std::optional<std::string> src_kind{};
  std::optional<std::string> dst_kind{};
  // Of a synchronisation, blocked_ns leaves out what is in the time of the transfer that it waited for: times of items
  // add up.
  Figures figures{};

  bool is_sync() const { return !direction; }
};

// The line that a person would look at, as "train.py:23": the forward line of work that a backward pass made without
// any Python; else the name of the site.
std::string place_of(const Where& where);

// Whether figures of a step can be told.
bool has_whole_steps(const Report& report);

// Every row, in the order of the report: transfers, then synchronisations. Rows that did nothing in the unit are left
// out. kStep needs has_whole_steps.
std::vector<Item> items_of(const Report& report, Unit unit);

}  // namespace turnpike::analyze
