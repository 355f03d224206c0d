// The parts of the report's first screen, in their order; first_screen.cpp puts them together.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/report.h"
#include "report/text/page.h"

namespace turnpike::report {

// The run, its program, its machine, and what the recording lacks.
void print_screen_head(const analyze::Report& report, Page& page);
// What limits the program, in one sentence.
void print_screen_verdict(const analyze::Report& report, Page& page);
// Where a step goes: a bar for each part, the largest first, with its lines of the program.
void print_screen_time(const analyze::Report& report, Page& page);
// What to do, in at most so many lines. Findings that have no room are counted.
void print_screen_findings(const analyze::Report& report, std::size_t most_lines, Page& page);
// What crosses in a step.
void print_screen_transfers(const analyze::Report& report, Page& page);
// What else to ask for.
void print_screen_more(const analyze::Report& report, Page& page);

// A place as the first screen shows it: whole, or its end after "...". A line of the program keeps its number and the
// end of its file's name.
std::string screen_place(const std::string& site, std::size_t width);

// What crosses in a usual step, with the medians of the report, or in the whole run: "a step: up 4.10 kB in 1; CPU
// blocked 2.10 ms".
std::string transfers_text(const analyze::Report& report);

// The first sentence of an advice, without its full stop: what to do, with the code to write.
std::string first_sentence(const std::string& advice);

}  // namespace turnpike::report
