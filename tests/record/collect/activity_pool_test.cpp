// Buffers that CUPTI had when it was detached.
#include "record/collect/activity_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace turnpike::record {
namespace {

TEST(ActivityPool, TakesAllBuffersBack) {
  ActivityPool pool;
  ASSERT_TRUE(pool.prepare());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kActivityBufferCount; ++i) std::memset(pool.request(&bytes), 0xa5, bytes);
  EXPECT_TRUE(pool.is_exhausted());
  std::uint8_t* overflow = pool.request(&bytes);
  EXPECT_TRUE(pool.is_overflow(overflow));
  ASSERT_TRUE(pool.complete(overflow, 0));
  pool.reset();
  std::vector<ActivityPool::Filled> filled;
  pool.take_filled(filled);
  EXPECT_TRUE(filled.empty());
  std::set<std::uint8_t*> buffers;
  for (std::size_t i = 0; i < kActivityBufferCount; ++i) {
    std::uint8_t* buffer = pool.request(&bytes);
    EXPECT_FALSE(pool.is_overflow(buffer));
    EXPECT_TRUE(std::all_of(buffer, buffer + bytes, [](std::uint8_t byte) { return byte == 0; }));
    buffers.insert(buffer);
  }
  EXPECT_EQ(buffers.size(), kActivityBufferCount);
}

}  // namespace
}  // namespace turnpike::record
