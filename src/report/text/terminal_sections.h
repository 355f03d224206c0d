// The parts of the text report that options show, in their order; terminal.cpp puts them together.
#pragma once

#include <optional>
#include <string>

#include "analyze/report.h"
#include "report/text/page.h"
#include "report/text/sections.h"

namespace turnpike::report {

// More than the first screen's head: versions, what was recorded and how, how steps were found.
void print_header(const analyze::Report& report, Page& page);
// How far the host is ahead, and what its threads did.
void print_host(const analyze::Verdict& verdict, Page& page);
// NVTX ranges, where there are others than the steps.
void print_ranges(const analyze::Report& report, Page& page);
void print_memory(const analyze::Report& report, Page& page);
// What to do, ranked by what it would gain.
void print_findings(const analyze::Report& report, Page& page);
void print_totals(const analyze::Report& report, Page& page);
void print_sites(const analyze::Report& report, std::size_t top, Page& page);
void print_syncs(const analyze::Report& report, std::size_t top, Page& page);
void print_losses(const analyze::Report& report, Page& page);
// What the words and figures mean that are shown beside these sections.
void print_explanations(const analyze::Report& report, const Sections& sections, Page& page);

// "train.py:82 > lightning: loops/fit_loop.py:202": a place, with the line of the library where one made the call.
std::string place_words(const std::string& site, const std::optional<std::string>& library_site);
// "CPU > GPU": the direction in words short enough for a table.
const char* words_for(analyze::Direction direction);

}  // namespace turnpike::report
