#include "report/text/bound_words.h"

#include <fmt/format.h>

namespace turnpike::report {

std::string words_of_bound(std::optional<analyze::Bound> bound) {
  if (!bound) return "unknown what limits this program";
  if (bound == analyze::Bound::kMixed) return "limited by several things";
  if (bound == analyze::Bound::kUnrecorded) return "limited by work that was not recorded";
  return fmt::format("{}-bound", analyze::name_of(*bound));
}

}  // namespace turnpike::report
