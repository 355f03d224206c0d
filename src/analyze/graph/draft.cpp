// One value in the place of many, for the lags of a draft's edges.
#include "analyze/graph/draft.h"

#include <numeric>

#include "base/statistics.h"

namespace turnpike::analyze {

std::int64_t usual_or(const std::vector<std::int64_t>& values, std::int64_t otherwise, Lags lags) {
  if (values.empty()) return otherwise;
  if (lags == Lags::kTypical) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0}) / static_cast<std::int64_t>(values.size());
  }
  return median(values).value_or(otherwise);
}

}  // namespace turnpike::analyze
