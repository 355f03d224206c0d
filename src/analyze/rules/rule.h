// What a rule is: it looks at one process and names places where something should be done otherwise, with the change
// that would show what that gains. One file each; docs/rules has a page for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/graph/process_model.h"
#include "analyze/whatif/what_if.h"

namespace turnpike::analyze {

// The calls of the graph's stretch that belong to one place: the same line, operator and side of autograd.
struct SiteCalls {
  const StackFacts* facts;
  std::vector<std::uint32_t> calls;  // as indices of the graph's, rising
  // Whether most of its copies up, or down, are of a group of RuleInput's.
  bool is_up_grouped = false;
  bool is_down_grouped = false;
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

struct Candidate {
  std::string site;  // as in Site; empty where it is about the step as a whole
  Severity severity = Severity::kWarning;
  std::string title;     // what is the matter, in one line, without the place
  std::string evidence;  // the numbers that show it, per step
  std::string advice;    // two sentences at most, with the code to write
  // What the advice comes to. Empty: no gain in time is claimed. A candidate with changes whose gain is too small to
  // matter is dropped.
  std::vector<NamedChange> changes;
};

struct Rule {
  const char* name;
  void (*find)(const RuleInput&, std::vector<Candidate>&);
};

}  // namespace turnpike::analyze
