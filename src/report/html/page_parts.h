// What every page has around its document: the head with its policy, the data, the program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "report/html/contents.h"
#include "report/html/encoded_lanes.h"

namespace turnpike::report::html {

// Whether a file that starts with these bytes is a page of ours, of whatever version.
inline constexpr std::size_t kStartOfPageBytes = 1024;
bool is_start_of_page(std::string_view bytes);

// Up to where the document begins. `title` is untrusted.
void write_head(const std::string& title, const Output& output);
// `report`: JSON. Up to the end of the file.
void write_data(const std::string& report, const Contents& contents, const EncodedLanes& lanes, const Output& output);

}  // namespace turnpike::report::html
