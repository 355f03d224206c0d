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

// Two pieces of fresh memory in one chunk, of which the second begins within a large page.
TEST(MovePlan, AThreadStopsWhereALargePageEnds) {
  constexpr std::uintptr_t kFirst = (std::uintptr_t{64} << 20) + 4096;
  constexpr std::uintptr_t kSecond = (std::uintptr_t{96} << 20) + 100;
  Plan plan;
  plan.is_fresh = true;
  plan.pieces = {{.host = memory_at(kFirst), .device = 1 << 30, .size_bytes = 2 * kMiB},
                 {.host = memory_at(kSecond), .device = (1 << 30) + 2 * kMiB, .size_bytes = 6 * kMiB}};
  // Of the first its end, of the second what lies 300 bytes behind its beginning.
  plan.parts = {{0, kMiB, 0, kMiB}, {1, 300, kMiB, 5 * kMiB}};
  plan.chunks = {{.device = 1 << 30, .size_bytes = 6 * kMiB, .first_part = 0, .end_part = 2}};
  const Chunk& chunk = plan.chunks[0];
  EXPECT_EQ(grain_end(plan, chunk, 0), kMiB - 4096) << "the border is a page before the piece ends";
  EXPECT_EQ(grain_end(plan, chunk, kMiB - 4096), kMiB - 4096 + kMiB / 2) << "little is left: the usual";
  EXPECT_EQ(grain_end(plan, chunk, kMiB / 2), kMiB) << "the piece ends as the usual grain does";
  EXPECT_EQ(grain_end(plan, chunk, kMiB), 3 * kMiB - 400);
  EXPECT_EQ(grain_end(plan, chunk, 3 * kMiB - 400), 5 * kMiB - 400);
  EXPECT_EQ(grain_end(plan, chunk, 5 * kMiB - 400), 6 * kMiB) << "here ends the piece";
  plan.is_fresh = false;
  EXPECT_EQ(grain_end(plan, chunk, kMiB), kMiB + kMiB / 2);
  EXPECT_EQ(grain_end(plan, chunk, 6 * kMiB - 10), 6 * kMiB);
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

// The sizes of the chunks of one piece, in KiB; what is left over in the last place is rounded up.
std::vector<std::size_t> chunks_kib(std::size_t size_bytes, std::size_t slot_bytes, Cut cut = Cut::kForItself) {
  const Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = size_bytes};
  const Plan plan = make_plan({&piece, 1}, slot_bytes, cut);
  expect_complete(plan);
  std::vector<std::size_t> sizes;
  for (const Chunk& chunk : plan.chunks) sizes.push_back((chunk.size_bytes + 1023) / 1024);
  return sizes;
}

std::vector<std::size_t> joined(std::vector<std::size_t> first, std::size_t count, std::size_t each,
                                const std::vector<std::size_t>& last) {
  first.insert(first.end(), count, each);
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

TEST(MovePlan, ChunksGrowByHalfAndHalveToTheEnd) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(chunks_kib(1, kSlotBytes), (Sizes{1}));
  EXPECT_EQ(chunks_kib(kMiB / 4, kSlotBytes), (Sizes{256}));
  EXPECT_EQ(chunks_kib(kMiB / 4 + 1, kSlotBytes), (Sizes{256, 1}));
  EXPECT_EQ(chunks_kib(2 * kMiB, kSlotBytes), (Sizes{256, 384, 576, 832}));
  // A 32nd of it at most, but 1 MiB at least.
  EXPECT_EQ(chunks_kib(16 * kMiB, kSlotBytes), joined({256, 384, 576, 864}, 13, 1024, {992}));
  EXPECT_EQ(chunks_kib(64 * kMiB, kSlotBytes), joined({256, 384, 576, 864, 1296, 1944}, 28, 2048, {1436, 1024, 412}));
  // Never more than a slot; and whole pages.
  EXPECT_EQ(chunks_kib(2 * kMiB, kMiB / 2), (Sizes{256, 384, 512, 512, 384}));
  EXPECT_EQ(chunks_kib(64 * 1024, 20 * 1024), (Sizes{20, 20, 20, 4}));
  EXPECT_EQ(chunks_kib(10 * kMiB, kSlotBytes, Cut::kBehindOthers), (Sizes{4096, 4096, 2048}));
}

TEST(MovePlan, FreshMemoryIsCutFromEightMebibytesOn) {
  Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 8 * kMiB};
  Plan plan = make_plan({&piece, 1}, kSlotBytes, Cut::kForFreshPages);
  EXPECT_TRUE(plan.is_fresh);
  EXPECT_EQ(plan.chunks.size(), 4U);
  EXPECT_FALSE(make_plan({&piece, 1}, kSlotBytes).is_fresh);
  EXPECT_FALSE(make_plan({&piece, 1}, kSlotBytes, Cut::kBehindOthers).is_fresh);
  piece.size_bytes -= 1;
  plan = make_plan({&piece, 1}, kSlotBytes, Cut::kForFreshPages);
  EXPECT_FALSE(plan.is_fresh);
  EXPECT_EQ(plan.chunks.front().size_bytes, kMiB / 4);
}

TEST(MovePlan, ALargeUploadIsStreamedForItsFirstSixteenMebibytes) {
  Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 128 * kMiB - 1};
  expect_streamed_before(make_plan({&piece, 1}, kSlotBytes), 64 * kMiB);
  piece.size_bytes = 64 * kMiB;
  EXPECT_TRUE(std::ranges::all_of(make_plan({&piece, 1}, kSlotBytes).chunks, &Chunk::is_streamed));
}

TEST(MovePlan, AThreadTakesHalfAMebibyteOfAChunk) {
  const Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 64 * kMiB};
  const Plan plan = make_plan({&piece, 1}, kSlotBytes);
  EXPECT_EQ(grain_end(plan, plan.chunks[0], 0), kMiB / 4);  // all of it
  const Chunk& chunk = plan.chunks[6];
  ASSERT_EQ(chunk.size_bytes, 2 * kMiB);
  EXPECT_EQ(grain_end(plan, chunk, 0), kMiB / 2);
  EXPECT_EQ(grain_end(plan, chunk, kMiB / 2), kMiB);
  EXPECT_EQ(grain_end(plan, chunk, 2 * kMiB - kMiB / 2), 2 * kMiB);
  EXPECT_EQ(grain_end(plan, chunk, 2 * kMiB - 1), 2 * kMiB);
}

TEST(MovePlan, PiecesShareACopyWhereTheyFollowEachOther) {
  const auto piece = [](std::uintptr_t host, DeviceAddress device, std::size_t size_bytes, bool joins) {
    return Piece{.host = memory_at(host), .device = device, .size_bytes = size_bytes, .joins_previous = joins};
  };
  const std::vector<Piece> pieces{piece(1 << 24, 4096, 100, false), piece(2 << 24, 4196, 50, true),
                                  piece(3 << 24, 4246, 10, false),  // behind it, but not to share
                                  piece(4 << 24, 8192, 10, true),   // to share, but not behind it
                                  piece(5 << 24, 8202, 10, true),   piece(6 << 24, 8212, 10, true)};
  const Plan plan = make_plan(pieces, kSlotBytes);
  expect_complete(plan);
  ASSERT_EQ(plan.chunks.size(), 3U);
  EXPECT_EQ(plan.chunks[0].size_bytes, 150U);
  EXPECT_EQ(plan.chunks[1].size_bytes, 10U);
  EXPECT_EQ(plan.chunks[2].size_bytes, 30U);
  EXPECT_EQ(plan.packed_pieces, 5U);
  EXPECT_EQ(plan.bytes, 190U);
  EXPECT_EQ(plan.staged_bytes, 190U);
  EXPECT_EQ(plan.chunk_bytes, kSlotBytes);
  EXPECT_EQ(part_at(plan, plan.chunks[0], 149), 1U);
  EXPECT_EQ(part_at(plan, plan.chunks[2], 9), 3U);
  EXPECT_EQ(part_at(plan, plan.chunks[2], 10), 4U);
  EXPECT_EQ(part_at(plan, plan.chunks[2], 29), 5U);
}

TEST(MovePlan, PageLockedPiecesCrossDirectlyUnlessTheyAreGathered) {
  const Layout layout{.sizes = {25}, .strides_bytes = {8}, .item_bytes = 4};
  const std::vector<Piece> pieces{
      {.device = 1, .size_bytes = 0, .is_pinned = true},
      {.host = memory_at(1 << 24), .device = 4096, .size_bytes = 100, .is_pinned = true},
      {.host = memory_at(2 << 24), .device = 8192, .size_bytes = 100, .is_pinned = true, .layout = &layout},
      {.device = 8292, .size_bytes = 28, .is_pinned = true, .joins_previous = true, .is_padding = true},
      {.host = memory_at(3 << 24), .device = 8320, .size_bytes = 60, .joins_previous = true}};
  const Plan plan = make_plan(pieces, kSlotBytes);
  EXPECT_EQ(plan.direct, (std::vector<std::uint32_t>{1}));
  ASSERT_EQ(plan.chunks.size(), 1U);
  EXPECT_EQ(plan.chunks[0].size_bytes, 188U);
  EXPECT_EQ(plan.bytes, 260U);  // without the padding
  EXPECT_EQ(plan.staged_bytes, 160U);
  EXPECT_EQ(plan.packed_pieces, 3U);
  EXPECT_TRUE(plan.is_strided);
}

TEST(MovePlan, ItemsOfALayoutAreNotTorn) {
  const Layout layout{.sizes = {200000}, .strides_bytes = {24}, .item_bytes = 12};
  const Piece piece{.host = memory_at(1 << 24), .device = 1 << 30, .size_bytes = 2400000, .layout = &layout};
  const Plan plan = make_plan({&piece, 1}, kSlotBytes);
  expect_complete(plan);
  EXPECT_EQ(plan.chunks.front().size_bytes, 262140U);
  for (const Part& part : plan.parts) EXPECT_EQ(part.size_bytes % 12, 0U);
}

TEST(MovePlan, SaysWhichPiecesCannotBeCopied) {
  const Piece nowhere{.device = 4096, .size_bytes = 100};
  Status status = check_pieces({&nowhere, 1}, true);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            "a piece of 100 bytes has no memory on the host: its storage was freed, or never filled");
  const Piece padding{.device = 4096, .size_bytes = 100, .is_padding = true};
  EXPECT_TRUE(check_pieces({&padding, 1}, true));
  status = check_pieces({&padding, 1}, false);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "only an upload can have padding between its pieces");
  const Piece nothing{.device = 4096};
  const Piece one{.host = memory_at(1 << 24), .device = 4096, .size_bytes = 1};
  EXPECT_TRUE(check_pieces({&nothing, 1}, false));
  EXPECT_TRUE(check_pieces({&one, 1}, false));
  EXPECT_TRUE(check_pieces({}, false));
}

}  // namespace
}  // namespace turnpike::move
