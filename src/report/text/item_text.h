// Places of diff and check in words.
#pragma once

#include <string>

#include "analyze/compare/figures.h"

namespace turnpike::report {

// Where a person would look: "train.py:23", with " (bwd)" behind the forward line of a backward pass; the function
// where there is no line. Untrusted: clean it before it is shown.
std::string place_text(const analyze::Item& item);
// "CPU > GPU", or "sync".
std::string kind_text(const analyze::Item& item);
// "upload", "synchronisation".
std::string noun_of(const analyze::Item& item);
// "aten::to in train". Untrusted.
std::string code_text(const analyze::Item& item);
// "pageable > device"; "" for a synchronisation.
std::string memory_text(const analyze::Item& item);

}  // namespace turnpike::report
