// Reads a budget: TOML in, limits or all that is wrong with the file out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "analyze/budget/budget.h"
#include "base/result.h"

namespace turnpike::analyze {

// A budget larger than this is none.
inline constexpr std::size_t kMaxBudgetBytes = 1'000'000;

// `path` is only named. The Error has a line for each mistake, "turnpike.toml:3:13: ...", at most 20. Unknown keys are
// mistakes, and so is a file that limits nothing: a check that cannot fail is none.
Result<Budget> parse_budget(std::string_view text, const std::string& path);

// The same for a file.
Result<Budget> read_budget(const std::filesystem::path& path);

// What the file's table [guard] and its [[allow]] say, a line "KEY=VALUE" for each rule and site. It need set no limit,
// but must have the table.
Result<std::string> read_guard_rules(const std::filesystem::path& path);

}  // namespace turnpike::analyze
