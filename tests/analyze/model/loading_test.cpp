// Where samples found the host in a data loader.
#include "analyze/model/loading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Sampled {
  ProcessBuilder builder;
  std::uint32_t loader = builder.stack({builder.python("fetch", "torch/utils/data/_utils/fetch.py", 50)});
  std::uint32_t other = builder.line("train.py", 9);

  void sample(std::int64_t at_ms, std::uint32_t stack, std::uint32_t thread = kMainThread) {
    builder.sample(at_ms * kMs, stack, thread);
  }
  std::vector<Interval> loading() {
    const LoadedProcess loaded = builder.take();
    Stacks stacks(loaded.process, loaded.timeline);
    return find_loading(loaded.timeline, stacks, {kMainThread});
  }
};

TEST(Loading, LastsFromItsFirstSampleToTheNextOther) {
  Sampled sampled;
  for (std::int64_t at : {0, 5}) sampled.sample(at, sampled.other);
  for (std::int64_t at : {10, 15, 20}) sampled.sample(at, sampled.loader);
  for (std::int64_t at : {25, 30}) sampled.sample(at, sampled.other);
  EXPECT_THAT(sampled.loading(), ElementsAre(Interval{10 * kMs, 25 * kMs}));
}

TEST(Loading, EndsSoonAfterSamplesEnd) {
  Sampled sampled;
  for (std::int64_t at : {10, 15, 20}) sampled.sample(at, sampled.loader);
  for (std::int64_t at : {500, 505}) sampled.sample(at, sampled.other);
  EXPECT_THAT(sampled.loading(), ElementsAre(Interval{10 * kMs, 30 * kMs}));
}

TEST(Loading, EndsSoonAfterItsLastSample) {
  Sampled sampled;
  for (std::int64_t at : {10, 15, 20}) sampled.sample(at, sampled.loader);
  EXPECT_THAT(sampled.loading(), ElementsAre(Interval{10 * kMs, 30 * kMs}));
}

TEST(Loading, IsOfThreadsOfTheHost) {
  Sampled sampled;
  for (std::int64_t at : {10, 15, 20}) sampled.sample(at, sampled.loader, kMainThread + 1);
  EXPECT_THAT(sampled.loading(), IsEmpty());
}

TEST(Loading, OfNothingIsNone) {
  Sampled sampled;
  EXPECT_THAT(sampled.loading(), IsEmpty());
}

}  // namespace
}  // namespace turnpike::analyze
