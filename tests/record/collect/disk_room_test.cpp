// When a disk counts as nearly full, and a write as refused for want of room.
#include "record/collect/disk_room.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace turnpike::record {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(DiskRoom, KeepsAGibibyteOfALargeDisk) {
  EXPECT_FALSE(is_disk_low(kGiB, 1000 * kGiB));
  EXPECT_TRUE(is_disk_low(kGiB - 1, 1000 * kGiB));
}

TEST(DiskRoom, KeepsAShareOfASmallDisk) {
  EXPECT_FALSE(is_disk_low(kGiB / 20, kGiB));
  EXPECT_TRUE(is_disk_low(kGiB / 20 - 1, kGiB));
}

TEST(DiskRoom, OfADiskThatDoesNotTellItsSizeIsEnough) {
  EXPECT_FALSE(is_disk_low(0, 0));
  EXPECT_FALSE(is_disk_low("/nowhere/run.tpk"));
}

TEST(DiskRoom, IsOutForErrorsThatSaySo) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) EXPECT_TRUE(is_out_of_room(error)) << error;
  for (const int error : {0, EIO, EBADF, ESTALE}) EXPECT_FALSE(is_out_of_room(error)) << error;
}

}  // namespace
}  // namespace turnpike::record
