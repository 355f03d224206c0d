// What a loss of a report means to the user, by its name.
#pragma once

#include <string_view>

namespace turnpike::report {

// "" for a name that this version does not know.
std::string_view loss_sentence(std::string_view name);

}  // namespace turnpike::report
