// The commands by which a job in GitHub Actions annotates lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/findings/repository_path.h"

namespace turnpike::report {

// "::error file=train.py,line=3,title=...::message", with a line end. Whatever the texts hold, it is one line and one
// command. `level`: error, warning or notice.
std::string github_command(std::string_view level, const std::optional<CodeLine>& place, std::string_view title,
                           std::string_view message);

}  // namespace turnpike::report
