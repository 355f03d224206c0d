// What the user of a library can change about a copy or a wait that the library makes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace turnpike::analyze {

// The advice for a finding of `rule` at a line of a library, as Where::library_site names it ("transformers:
// trainer.py:1847"); nullopt where the advice of the rule itself stands.
std::optional<std::string> library_advice(std::string_view rule, std::string_view library_site);

}  // namespace turnpike::analyze
