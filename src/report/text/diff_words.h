// The comparison of two runs in words, as text and page say them alike.
#pragma once

#include <optional>
#include <string>

#include "analyze/compare/compare.h"

namespace turnpike::report {

// "-14 %", "=", "new"; "?" where one is unknown.
std::string change_text(std::optional<double> before, std::optional<double> after);
// "2 -> 1", or once where both read the same.
std::string pair_text(const std::string& before, const std::string& after);
// What limits a run: "transfer"; "?" where it is unknown.
const char* bound_text(std::optional<analyze::Bound> bound);
// "before.tpk, 40 steps, 288 ms, NVIDIA H100".
std::string run_text(const analyze::Report& report);
// "train.py:23 -> :25": the place, and where it was. Untrusted: clean it before it is shown.
std::string where_text(const analyze::ItemChange& change);
// What a place costs; "-" where it is not in the run.
std::string cost_text(const std::optional<analyze::Item>& item);
// One figure of a place; "-" where it is not in the run.
std::string side_text(const std::optional<analyze::Item>& item, std::string (*text)(double),
                      double analyze::Figures::* figure);
// "+1.2 ms".
std::string signed_time(std::optional<double> change_ns);
// "3 places are as before."; "" where none is.
std::string same_text(const analyze::Comparison& comparison);
// "A copy from pageable memory at train.py:23 (pageable_async_copy); predicted: saves 2 ms a step (12 %)". Untrusted.
std::string finding_text(const analyze::FindingChange& change, const analyze::Report& before,
                         const analyze::Report& after);

}  // namespace turnpike::report
