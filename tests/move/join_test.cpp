// Small pieces that lie next to each other on the device are joined, and never beyond what is theirs.
#include "move/join.h"

#include <gtest/gtest.h>

#include "engine_run.h"

namespace turnpike::move {
namespace {

constexpr std::size_t kBlock = 512;

Piece piece(DeviceAddress device, std::size_t size_bytes, bool is_pinned = false) {
  static std::byte host{};
  return {.host = &host, .device = device, .size_bytes = size_bytes, .is_pinned = is_pinned};
}

DeviceRange one_allocation(DeviceAddress) {
  return {0, DeviceAddress{1} << 40};
}

std::size_t count_joined(const std::vector<Piece>& pieces) {
  return static_cast<std::size_t>(std::count_if(
      pieces.begin(), pieces.end(), [](const Piece& one) { return one.joins_previous && !one.is_padding; }));
}

TEST(Join, FillsTheRestOfABlockWithPadding) {
  const auto pieces = joined({piece(2048, 100), piece(2560, 512)}, kBlock, one_allocation);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_TRUE(pieces[1].is_padding);
  EXPECT_EQ(pieces[1].device, 2148U);
  EXPECT_EQ(pieces[1].size_bytes, 412U);
  EXPECT_TRUE(pieces[1].joins_previous);
  EXPECT_TRUE(pieces[2].joins_previous);
}

TEST(Join, OrdersByPlaceAndNeedsNoPaddingBetweenFullBlocks) {
  const auto pieces = joined({piece(1024, 512), piece(512, 512), piece(1536, 7)}, kBlock, one_allocation);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].device, 512U);
  EXPECT_EQ(count_joined(pieces), 2U);
}

TEST(Join, LeavesWhatMayBeSomebodyElses) {
  // A block lies between; the gap is smaller than a block but crosses the border of one; the order is broken.
  EXPECT_EQ(count_joined(joined({piece(512, 100), piece(1536, 100)}, kBlock, one_allocation)), 0U);
  EXPECT_EQ(count_joined(joined({piece(512, 100), piece(768, 100)}, kBlock, one_allocation)), 0U);
  // Nothing is known of the allocator: only what follows without a gap.
  EXPECT_EQ(count_joined(joined({piece(512, 100), piece(1024, 100)}, 1, one_allocation)), 0U);
  EXPECT_EQ(count_joined(joined({piece(512, 512), piece(1024, 100)}, 1, one_allocation)), 1U);
}

// A question to the driver takes a microsecond: one for each allocation, and none where nothing can be joined.
TEST(Join, AsksOnceForEachAllocation) {
  std::vector<DeviceAddress> asked;
  const auto allocations = [&](DeviceAddress address) {
    asked.push_back(address);
    return address < 4096 ? DeviceRange{512, 4096} : DeviceRange{4096, 8192};
  };
  EXPECT_EQ(count_joined(joined({piece(512, 512), piece(1024, 512), piece(1536, 512)}, kBlock, allocations)), 2U);
  EXPECT_EQ(asked, (std::vector<DeviceAddress>{512}));
  asked.clear();
  // The last piece before the border is not joined with the pieces after it.
  EXPECT_EQ(
      count_joined(joined({piece(3072, 512), piece(3584, 512), piece(4096, 512), piece(4608, 512), piece(5120, 512)},
                          kBlock, allocations)),
      3U);
  EXPECT_EQ(asked, (std::vector<DeviceAddress>{3072, 4096}));
  asked.clear();
  EXPECT_EQ(count_joined(joined({piece(512, 100), piece(8192, 100), piece(512, 512, true)}, kBlock, allocations)), 0U);
  EXPECT_TRUE(asked.empty());
}

TEST(Join, NeverCrossesAllocations) {
  const auto allocations = [](DeviceAddress address) {
    return address < 4096 ? DeviceRange{512, 4096} : DeviceRange{4096, 8192};
  };
  const auto pieces = joined({piece(3072, 1024), piece(4096, 512), piece(4608, 512)}, kBlock, allocations);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_FALSE(pieces[1].joins_previous);
  EXPECT_TRUE(pieces[2].joins_previous);
  const auto unknown = [](DeviceAddress) { return DeviceRange{}; };
  EXPECT_EQ(count_joined(joined({piece(512, 512), piece(1024, 512)}, kBlock, unknown)), 0U);
}

TEST(Join, LeavesPinnedPiecesAlone) {
  const auto pieces = joined({piece(512, 512), piece(1024, 512, true), piece(1536, 512)}, kBlock, one_allocation);
  EXPECT_EQ(count_joined(pieces), 0U);
  EXPECT_EQ(pieces.size(), 3U);
}

TEST(Join, EngineKnowsPinnedMemoryAndAllocations) {
  EngineRun run(1);
  const DeviceAddress device = run.simulation.device_memory(0, 4096);
  std::byte* const pinned = run.simulation.pinned_memory(64);
  std::vector<std::byte> pageable(64);
  std::vector<Piece> pieces{{.host = pinned + 8, .device = device, .size_bytes = 8},
                            {.host = pageable.data(), .device = device, .size_bytes = 8, .is_pinned = true}};
  ASSERT_TRUE(run.engine->find_pinned(0, pieces));
  EXPECT_TRUE(pieces[0].is_pinned);
  EXPECT_FALSE(pieces[1].is_pinned);
  const auto range = run.engine->allocation_at(0, device + 100);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, device);
  EXPECT_EQ(range->end, device + 4096);
  EXPECT_FALSE(run.engine->allocation_at(0, reinterpret_cast<DeviceAddress>(pageable.data())));
  run.simulation.free_memory(pinned);
  run.simulation.free_memory(device);
  run.end();
}

}  // namespace
}  // namespace turnpike::move
