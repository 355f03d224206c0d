// Which place of one run is which place of another, although lines were inserted and removed in between.
#pragma once

#include <optional>
#include <vector>

#include "analyze/compare/figures.h"

namespace turnpike::analyze {

// Indices into the two lists; at least one is set. nullopt: the other run has no such place.
struct Match {
  std::optional<std::size_t> before;
  std::optional<std::size_t> after;
};

// Every item stands in exactly one match. Three rounds, each over what the rounds before left:
//  1. the same file name (without folders), function, operator, direction, memory kinds and phase;
//  2. the same but for the memory kinds: a copy from what is page-locked now;
//  3. the same file name, line, function and direction: another operator or phase.
// Several places of one round that are alike in all of it keep the order of their lines; where one run has more of
// them, those whose counts and sizes fit worst are without a partner. A backward pass without lines of Python goes by
// its forward line.
// Time: O(n log n), and O(b a) for b and a places that are alike, at most kMaxAligned; beyond it they go by order
// alone.
inline constexpr std::size_t kMaxAligned = 1'000'000;
std::vector<Match> match_items(const std::vector<Item>& before, const std::vector<Item>& after);

}  // namespace turnpike::analyze
