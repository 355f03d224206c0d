// Where transfers are cut.
#include "move/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "move/fresh_pages.h"

namespace turnpike::move {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kSlotBytes = 4 * kMiB;

// Memory that nobody reads: only its address counts.
void* memory_at(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

std::uintptr_t host_of(const Plan& plan, const Chunk& chunk, std::size_t at) {
  const Part& part = plan.parts[part_at(plan, chunk, at)];
  return reinterpret_cast<std::uintptr_t>(plan.pieces[part.piece].host) + part.piece_offset + at - part.chunk_offset;
}

// The bytes of the pieces, each once and in their order, in chunks that fit into a slot.
void expect_complete(const Plan& plan) {
  std::uint32_t piece = 0;
  std::size_t offset = 0;
  for (const Chunk& chunk : plan.chunks) {
    EXPECT_LE(chunk.size_bytes, plan.chunk_bytes);
    std::size_t at = 0;
    for (std::uint32_t i = chunk.first_part; i < chunk.end_part; ++i) {
      const Part& part = plan.parts[i];
      EXPECT_EQ(part.piece, piece);
      EXPECT_EQ(part.piece_offset, offset);
      EXPECT_EQ(part.chunk_offset, at);
      EXPECT_EQ(chunk.device + at, plan.pieces[piece].device + offset);
      at += part.size_bytes;
      offset += part.size_bytes;
      if (offset == plan.pieces[piece].size_bytes) {
        ++piece;
        offset = 0;
      }
    }
    EXPECT_EQ(at, chunk.size_bytes);
  }
  EXPECT_EQ(piece, plan.pieces.size());
}

TEST(MovePlan, AnUploadBeginsAndEndsWithSmallChunks) {
  const Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 256 * kMiB};
  const Plan plan = make_plan({&piece, 1}, kSlotBytes);
  expect_complete(plan);
  EXPECT_EQ(plan.chunks.front().size_bytes, kMiB / 4);
  EXPECT_LE(plan.chunks.back().size_bytes, kMiB);
  EXPECT_EQ(std::ranges::max(plan.chunks, {}, &Chunk::size_bytes).size_bytes, kSlotBytes);
}

TEST(MovePlan, AnUploadBehindOthersFillsItsSlots) {
  const Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 63 * kMiB};
  const Plan plan = make_plan({&piece, 1}, kSlotBytes, Cut::kBehindOthers);
  expect_complete(plan);
  ASSERT_EQ(plan.chunks.size(), 16U);
  EXPECT_EQ(plan.chunks.front().size_bytes, kSlotBytes);
  EXPECT_EQ(plan.chunks.back().size_bytes, 3 * kMiB);
  EXPECT_TRUE(std::ranges::none_of(plan.chunks, &Chunk::is_streamed));
}

// Of all chunks those that begin before `end`, and no others.
void expect_streamed_before(const Plan& plan, std::size_t end) {
  std::size_t begin = 0;
  for (const Chunk& chunk : plan.chunks) {
    EXPECT_EQ(chunk.is_streamed, begin < end) << begin;
    begin += chunk.size_bytes;
  }
}

TEST(MovePlan, TheBeginningOfAnUploadIsStreamed) {
  Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 127 * kMiB};
  expect_streamed_before(make_plan({&piece, 1}, kSlotBytes), 64 * kMiB);
  piece.size_bytes = 128 * kMiB;
  expect_streamed_before(make_plan({&piece, 1}, kSlotBytes), 16 * kMiB);
}

TEST(MovePlan, FreshMemoryIsCutWhereItsLargePagesEnd) {
  for (const std::uintptr_t begin : {std::uintptr_t{64} << 20, (std::uintptr_t{64} << 20) + 4096 + 64}) {
    for (const std::size_t size_bytes : {8 * kMiB, 64 * kMiB, 1024 * kMiB + 12345}) {
      const Piece piece{.host = memory_at(begin), .device = 1 << 30, .size_bytes = size_bytes};
      const Plan plan = make_plan({&piece, 1}, kSlotBytes, Cut::kForFreshPages);
      expect_complete(plan);
      for (const Chunk& chunk : plan.chunks) {
        std::size_t at = 0;
        while (at < chunk.size_bytes) {
          // A thread's part begins where a page begins, and ends where one ends.
          const bool is_first = at == 0 && chunk.device == piece.device;
          EXPECT_TRUE(is_first || host_of(plan, chunk, at) % kLargePageBytes == 0) << at << " of " << chunk.size_bytes;
          const std::size_t end = grain_end(plan, chunk, at);
          ASSERT_GT(end, at);
          EXPECT_LE(end - at, kLargePageBytes);
          at = end;
        }
      }
    }
  }
}

TEST(MovePlan, SmallPiecesOfFreshMemoryShareAGrain) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < 1000; ++i) {
    pieces.push_back({.host = memory_at((1 << 24) + i * 3 * 16384),
                      .device = (1 << 30) + i * 16384,
                      .size_bytes = 16384,
                      .joins_previous = i > 0});
  }
  const Plan plan = make_plan(pieces, kSlotBytes, Cut::kForFreshPages);
  expect_complete(plan);
  EXPECT_LT(plan.chunks.size(), 20U);
  EXPECT_GT(grain_end(plan, plan.chunks.front(), 0), 16384U);
}

TEST(MovePlan, SlotsThatAreSmallerThanAPageAreNoHindrance) {
  const Piece piece{.host = memory_at((1 << 24) + 64), .device = 1 << 30, .size_bytes = 16 * kMiB + 1};
  for (const std::size_t slot_bytes : {std::size_t{4096}, kMiB / 2, 3 * kMiB}) {
    expect_complete(make_plan({&piece, 1}, slot_bytes, Cut::kForFreshPages));
  }
}

TEST(MovePlan, SaysWhetherItemsAreGatheredOneByOne) {
  const Layout layout{.sizes = {25}, .strides_bytes = {8}, .item_bytes = 4};
  std::vector<Piece> pieces{{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 100}};
  EXPECT_FALSE(make_plan(pieces, kSlotBytes).is_strided);
  pieces.push_back({.host = memory_at(1 << 25), .device = (1 << 30) + 4096, .size_bytes = 100, .layout = &layout});
  EXPECT_TRUE(make_plan(pieces, kSlotBytes).is_strided);
}

TEST(MovePlan, ThePartOfAByte) {
  const std::vector<Piece> pieces{
      {.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 100},
      {.host = memory_at(1 << 25), .device = (1 << 30) + 100, .size_bytes = 50, .joins_previous = true}};
  const Plan plan = make_plan(pieces, kSlotBytes);
  ASSERT_EQ(plan.chunks.size(), 1U);
  EXPECT_EQ(part_at(plan, plan.chunks[0], 0), 0U);
  EXPECT_EQ(part_at(plan, plan.chunks[0], 99), 0U);
  EXPECT_EQ(part_at(plan, plan.chunks[0], 100), 1U);
}

}  // namespace
}  // namespace turnpike::move
