// Directions of copies from CUPTI's kinds, devices and memory kinds.
#include "analyze/model/direction.h"

#include <gtest/gtest.h>

#include <string>

namespace turnpike::analyze {
namespace {

using trace::CopyKind;
using trace::MemoryKind;

trace::MemcpyRecord copy(CopyKind kind, std::uint32_t src_device = trace::kUnknownId,
                         std::uint32_t dst_device = trace::kUnknownId) {
  trace::MemcpyRecord record{};
  record.copy_kind = kind;
  record.src_device = src_device;
  record.dst_device = dst_device;
  return record;
}

TEST(Direction, OfArraysIsThatOfTheirDevice) {
  EXPECT_EQ(direction_of(copy(CopyKind::kHostToArray)), Direction::kHostToDevice);
  EXPECT_EQ(direction_of(copy(CopyKind::kArrayToHost)), Direction::kDeviceToHost);
  EXPECT_EQ(direction_of(copy(CopyKind::kArrayToArray)), Direction::kDeviceToDevice);
  EXPECT_EQ(direction_of(copy(CopyKind::kArrayToDevice)), Direction::kDeviceToDevice);
  EXPECT_EQ(direction_of(copy(CopyKind::kDeviceToArray)), Direction::kDeviceToDevice);
}

TEST(Direction, BetweenTwoDevicesIsPeer) {
  EXPECT_EQ(direction_of(copy(CopyKind::kDeviceToDevice, 0, 1)), Direction::kPeerToPeer);
  EXPECT_EQ(direction_of(copy(CopyKind::kPeerToPeer, 0, 1)), Direction::kPeerToPeer);
  EXPECT_EQ(direction_of(copy(CopyKind::kPeerToPeer)), Direction::kPeerToPeer);
}

TEST(Direction, OnOneDeviceIsNotPeer) {
  EXPECT_EQ(direction_of(copy(CopyKind::kPeerToPeer, 1, 1)), Direction::kDeviceToDevice);
  EXPECT_EQ(direction_of(copy(CopyKind::kDeviceToDevice, trace::kUnknownId, 1)), Direction::kDeviceToDevice);
}

TEST(Direction, OfAnUnknownKindComesFromTheMemory) {
  trace::MemcpyRecord record = copy(CopyKind::kUnknown);
  record.src_kind = MemoryKind::kPageable;
  record.dst_kind = MemoryKind::kDevice;
  EXPECT_EQ(direction_of(record), Direction::kHostToDevice);
  record.dst_kind = MemoryKind::kPinned;
  EXPECT_EQ(direction_of(record), Direction::kHostToHost);
  record.src_kind = MemoryKind::kDeviceStatic;
  EXPECT_EQ(direction_of(record), Direction::kDeviceToHost);
  record.dst_kind = MemoryKind::kArray;
  EXPECT_EQ(direction_of(record), Direction::kDeviceToDevice);
  record.src_kind = MemoryKind::kManaged;
  EXPECT_EQ(direction_of(record), std::nullopt);
}

TEST(Direction, OfMigrationsFollowsTheirKind) {
  EXPECT_EQ(direction_of(trace::MigrationKind::kHostToDevice), Direction::kHostToDevice);
  EXPECT_EQ(direction_of(trace::MigrationKind::kDeviceToHost), Direction::kDeviceToHost);
  EXPECT_EQ(direction_of(trace::MigrationKind::kDeviceToDevice), Direction::kPeerToPeer);
  EXPECT_EQ(direction_of(trace::MigrationKind::kFault), std::nullopt);
}

TEST(Names, AreThoseOfTheContract) {
  const std::string directions[] = {"h2d", "d2h", "d2d", "p2p", "h2h", "memset"};
  for (std::size_t i = 0; i < kDirectionCount; ++i) EXPECT_EQ(name_of(static_cast<Direction>(i)), directions[i]);
  EXPECT_STREQ(name_of(Phase::kForward), "forward");
  EXPECT_STREQ(name_of(Phase::kBackward), "backward");
  EXPECT_STREQ(name_of(Phase::kOptimizer), "optimizer");
  EXPECT_STREQ(name_of(Phase::kLoader), "loader");
  EXPECT_STREQ(name_of(Phase::kOther), "other");
  EXPECT_EQ(name_of(MemoryKind::kPageable), "pageable");
  EXPECT_EQ(name_of(MemoryKind::kManaged), "managed");
  EXPECT_EQ(name_of(MemoryKind::kUnknown), std::nullopt);
}

}  // namespace
}  // namespace turnpike::analyze
