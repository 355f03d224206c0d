// What a loss of a report means to the user, by its name.
#pragma once

#include <string>
#include <string_view>

#include "analyze/report.h"

namespace turnpike::report {

// "" for a name that this version does not know. Untrusted: it may have words of the recording `source`.
std::string loss_sentence(std::string_view name, const analyze::Source& source);

}  // namespace turnpike::report
