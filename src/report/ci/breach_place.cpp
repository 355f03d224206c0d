#include "report/ci/breach_place.h"

#include <algorithm>
#include <filesystem>

namespace turnpike::report {

std::optional<CodeLine> place_of_breach(const analyze::LimitResult& limit, const analyze::Budget& budget,
                                        const Repository& repository) {
  for (const analyze::Culprit& culprit : limit.culprits) {
    if (auto line = repository.line_of(culprit.item)) return line;
  }
  std::error_code failed;
  const auto path = repository.relative(std::filesystem::absolute(budget.path, failed).string());
  if (!path) return std::nullopt;
  return CodeLine{*path, std::max<std::uint32_t>(limit.line, 1)};
}

}  // namespace turnpike::report
