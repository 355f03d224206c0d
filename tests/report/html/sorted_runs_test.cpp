#include "report/html/sorted_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace turnpike::report::html {
namespace {

TEST(SortedRuns, AgreeWithOneSortedList) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    SortedRuns runs;
    std::vector<std::int64_t> all;
    const std::size_t run_count = random() % 4;
    for (std::size_t run = 0; run < run_count; ++run) {
      const std::size_t count = random() % (round % 20 == 0 ? 3000 : 20);
      std::vector<std::int64_t> times_ns;
      for (std::size_t i = 0; i < count; ++i) {
        // Few values, and those at the ends of what there are.
        const std::int64_t ends[] = {std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()};
        const std::uint64_t value = random() % 12;
        all.push_back(value < 2 ? ends[value] : static_cast<std::int64_t>(value) - 6);
        times_ns.push_back(all.back());
      }
      // As records have it; else as those of damaged files.
      if (random() % 4 > 0) std::sort(times_ns.begin(), times_ns.end());
      runs.add_run([times_ns](std::size_t from, const auto& take) {
        for (std::size_t i = from; i < times_ns.size() && take(i, times_ns[i]); ++i) continue;
      });
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(runs.size(), all.size());
    // To ask for all of a large list takes minutes under a sanitizer.
    const std::size_t stride = std::max<std::size_t>(1, all.size() / 200);
    for (std::size_t rank = 0; rank < all.size(); rank += stride) {
      ASSERT_EQ(runs.at(rank), all[rank]);
      const auto before = std::lower_bound(all.begin(), all.end(), all[rank]) - all.begin();
      ASSERT_EQ(runs.count_before(all[rank]), static_cast<std::size_t>(before));
    }
  }
}

}  // namespace
}  // namespace turnpike::report::html
