// What a rule is: it looks at one process and names places where something should be done otherwise, with the change
// that would show what that gains. One file each; docs/rules has a page for each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/whatif/what_if.h"

namespace turnpike::analyze {

// The copies of one direction that a place made, over the stretch.
struct CopyCount {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t device_ns = 0;
  std::int64_t host_ns = 0;  // in the calls that were held, and in the synchronisations behind them
  std::uint64_t pageable_count = 0;
};

// The calls of the graph's stretch that belong to one place.
struct SiteCalls {
  const StackFacts* facts;           // of the first of them; the others have the same place, if not the same stack
  std::vector<std::uint32_t> calls;  // as indices of the graph's, rising
  // Whether most of its copies up, or down, are of a group of RuleInput's.
  bool is_up_grouped = false;
  bool is_down_grouped = false;
  // Its calls that copy up after the CPU read something from the GPU since the one before them in the step: what they
  // copy may follow from that.
  std::size_t uploads_after_results = 0;
  // By direction, for copies_of() and count_copies(): nearly every rule asks for them.
  std::array<Selection, kDirectionCount> copies{};
  std::array<CopyCount, kDirectionCount> counts{};
};

// Lines of one function whose small copies follow each other directly, many at a time.
struct CopyGroup {
  Direction direction;
  std::vector<const StackFacts*> places;  // two or more, in the order of the program
  Selection calls;                        // rising
};

// What all rules look at.
struct RuleInput {
  const ProcessModel& model;
  // Every place with copies, memsets, synchronisations or allocations. Launches belong to no place: they carry no
  // stack.
  std::vector<SiteCalls> sites;
  std::vector<CopyGroup> copy_groups;
};

// How much of the predicted saving the advice can be expected to reach: a prediction is of a change done perfectly.
struct Reach {
  double low = 1;  // of the saving
  double high = 1;
  double leaves_ns = 0;  // of a step: what the advice leaves of what the change takes away
  double adds_ns = 0;    // of a step: what it may take away besides, at most
  double costs_ns = 0;   // of a step: what the advice may take itself, at most
  std::string reason{};  // why it may be less or more, as a clause; empty: the advice is the change
};

// Another way to the same, which reaches another part of the saving.
struct OtherAdvice {
  std::string text;
  Reach reach;
};

struct Candidate {
  Where where{};  // its site is empty where it is about the step as a whole
  Severity severity = Severity::kWarning;
  std::string title;     // what is the matter, in one line, without the place
  std::string evidence;  // the numbers that show it, per step
  std::string advice;    // two sentences at most, with the code to write
  LineEdit edit{};       // what the advice makes of the line, where it is one of a few forms
  // What the advice comes to. Empty: no gain in time is claimed. A candidate with changes whose gain is too small to
  // matter is dropped.
  std::vector<NamedChange> changes;
  Reach reach{};
  std::vector<OtherAdvice> others{};
};

struct Rule {
  const char* name;
  void (*find)(const RuleInput&, std::vector<Candidate>&);
};

}  // namespace turnpike::analyze
