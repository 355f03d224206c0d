// Two runs side by side: what a step takes, what moved, what came, what went, and what makes comparing them doubtful.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "analyze/compare/figures.h"
#include "analyze/report.h"

namespace turnpike::analyze {

enum class ChangeKind { kGained, kLost, kChanged, kSame };
const char* name_of(ChangeKind kind);  // gained, lost, changed, same

// A place in both runs, or in one of them.
struct ItemChange {
  ChangeKind kind = ChangeKind::kSame;
  std::optional<Item> before;
  std::optional<Item> after;

  const Item& any() const { return after ? *after : *before; }
  bool has_moved() const;  // to another line
};

// What a place costs: time in which the host was held, plus time in which the device copied without computing.
// nullopt: neither is known.
std::optional<double> cost_ns(const Figures& figures);
// Of a place; 0 where it is not in one of the runs; nullopt when a cost is unknown.
std::optional<double> cost_change_ns(const ItemChange& change);

struct FindingChange {
  std::optional<Finding> before;  // nullopt: gained
  std::optional<Finding> after;   // nullopt: solved

  const Finding& any() const { return after ? *after : *before; }
};

// One run in the unit of the comparison.
struct Side {
  // The median of a step, on the devices with is_device_step, or the span of the run.
  std::optional<double> duration_ns;
  std::array<Figures, kDirectionCount> totals;
  Figures syncs;                     // blocked_ns: without what belongs to transfers
  std::optional<double> blocked_ns;  // by transfers and synchronisations, each wait once
};

struct Comparison {
  Unit unit = Unit::kRun;  // kStep where both runs have whole steps
  // In one of the runs the host runs ahead of the devices, and what a step takes on these is known of both.
  bool is_device_step = false;
  Side before;
  Side after;
  std::vector<ItemChange> items;  // what changed the cost most first; the same last
  std::vector<FindingChange> findings;
  std::vector<std::string> doubts;  // sentences
};

Comparison compare(const Report& before, const Report& after);

// No transfer, no synchronisation, no kernel.
bool is_without_work(const Report& report);

// What of two runs lets a difference between them have other reasons than the program, in sentences.
std::vector<std::string> doubts_about(const Report& before, const Report& after);

}  // namespace turnpike::analyze
