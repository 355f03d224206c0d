// One value in the place of many, for the lags of a draft's edges.
#include "analyze/graph/draft.h"

#include <algorithm>
#include <numeric>

namespace turnpike::analyze {

std::int64_t usual_or(std::vector<std::int64_t>& values, std::int64_t otherwise, Lags lags) {
  if (values.empty()) return otherwise;
  if (lags == Lags::kTypical) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0}) / static_cast<std::int64_t>(values.size());
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace turnpike::analyze
