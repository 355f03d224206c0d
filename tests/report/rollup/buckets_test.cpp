#include "report/rollup/buckets.h"

#include <gtest/gtest.h>

namespace turnpike::report::rollup {
namespace {

TEST(Buckets, RatesHaveTwoBucketsForEachDoubling) {
  EXPECT_EQ(rate_bucket(1'000'000, 64'000'000), 0u);  // 1/64 GB/s
  EXPECT_EQ(rate_bucket(1'000'000, 32'000'000), 2u);
  EXPECT_EQ(rate_bucket(1'000'000, 1'000'000), 12u);  // 1 GB/s
  EXPECT_EQ(rate_bucket(1'500'000, 1'000'000), 13u);
  EXPECT_EQ(rate_bucket(32'000'000, 1'000'000), 22u);
}

TEST(Buckets, WaitsHaveOneBucketForEachDoubling) {
  EXPECT_EQ(wait_bucket(256), 0u);
  EXPECT_EQ(wait_bucket(511), 0u);
  EXPECT_EQ(wait_bucket(512), 1u);
  EXPECT_EQ(wait_bucket(1 << 20), 12u);
}

TEST(Buckets, OwnPartsHaveManyBucketsForEachDoubling) {
  EXPECT_EQ(own_bucket(0), 0);
  EXPECT_EQ(own_bucket(1), 0);
  EXPECT_EQ(own_bucket(2), 128);
  EXPECT_EQ(own_bucket(1 << 20), 20 * 128);
  EXPECT_EQ(own_bucket((1 << 20) - 1), 20 * 128 - 1);
  // Two parts of a step that differ by 0.6 % are never in one bucket.
  EXPECT_LT(own_bucket(90'000'000), own_bucket(90'540'000));
}

TEST(Buckets, TheFirstAndTheLastTakeWhatLiesBeyond) {
  EXPECT_EQ(rate_bucket(1, 1'000'000'000), 0u);
  EXPECT_EQ(rate_bucket(1'000'000'000'000, 1), kBuckets - 1);
  EXPECT_EQ(wait_bucket(1), 0u);
  EXPECT_EQ(wait_bucket(std::int64_t{1} << 60), kBuckets - 1);
}

}  // namespace
}  // namespace turnpike::report::rollup
