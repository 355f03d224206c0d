// Whether figures lack something, in a sentence: the same in the text, in JSON, on the page and on standard error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "analyze/report.h"

namespace turnpike::report {

// "10768 bytes are damaged or cut off; figures are too low", of the losses by name that are parts of a file which could
// not be read. Empty: there are none.
std::string incomplete_reason(const std::map<std::string, std::uint64_t>& losses);

// "INCOMPLETE: " with the reason, of what an analysis was given. Empty: it is complete.
std::string incomplete_sentence(const analyze::InputRemarks& inputs);

// The same as the first lines of a page of text of that width. Empty: it is complete.
std::string incomplete_head(const analyze::InputRemarks& inputs, std::size_t width, bool has_colour);

// "4 records were lost; figures are too low", of those that never came into the file. Empty: none.
std::string lost_records_sentence(const std::map<std::string, std::uint64_t>& losses);

// What to say where the report has nothing: `none`, or that it is unknown because a part could not be read or
// recorded.
std::string none_words(const analyze::Report& report, const char* none);

}  // namespace turnpike::report
