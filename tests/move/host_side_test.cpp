// What the processor does with host memory: bytes between it and a slot, whole pages, known bytes for trials.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>

#include "move/fresh_pages.h"
#include "move/host_copy.h"
#include "move/page_lock.h"
#include "move/trial_memory.h"
#include "simulated/simulation.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;

constexpr std::byte kGuard{0xee};

std::vector<std::byte> numbered(std::size_t size_bytes) {
  return known_bytes(size_bytes, 7);
}

// Gathers `size_bytes` from an address that is `from` off the alignment to one that is `to` off it, and back.
void expect_carried(std::size_t size_bytes, std::size_t from, std::size_t to, Store store, bool is_streamed) {
  SCOPED_TRACE(std::to_string(size_bytes) + " bytes from " + std::to_string(from) + " to " + std::to_string(to));
  std::vector<std::byte> source = numbered(size_bytes + 128);
  const Piece piece{.host = source.data() + from, .device = 1 << 20, .size_bytes = size_bytes};
  Plan plan = make_plan({&piece, 1}, std::size_t{4} << 20);
  ASSERT_EQ(plan.chunks.size(), 1U);
  plan.chunks[0].is_streamed = is_streamed;
  std::vector<std::byte> slot(size_bytes + 256, kGuard);
  std::byte* begin = slot.data() + (-reinterpret_cast<std::uintptr_t>(slot.data()) & 63) + to;
  gather(plan, plan.chunks[0], 0, size_bytes, store, begin);
  EXPECT_EQ(std::memcmp(begin, source.data() + from, size_bytes), 0);
  EXPECT_EQ(begin[size_bytes], kGuard);
  if (begin > slot.data()) {
    EXPECT_EQ(begin[-1], kGuard);
  }
  const std::vector<std::byte> sent = source;
  std::fill(source.begin(), source.end(), kGuard);
  scatter(plan, plan.chunks[0], 0, size_bytes, begin);
  EXPECT_EQ(std::memcmp(source.data() + from, sent.data() + from, size_bytes), 0);
  EXPECT_EQ(source[from + size_bytes], kGuard);
  if (from > 0) {
    EXPECT_EQ(source[from - 1], kGuard);
  }
}

TEST(HostCopy, BringsEveryByteAndNoOtherAtEveryAlignment) {
  for (const std::size_t size_bytes : {1, 63, 64, 4095, 4096, 4097, 4096 + 127, 4096 + 128, 131071, 131072, 131200}) {
    for (const auto& [from, to] : {std::pair{0, 0}, std::pair{1, 63}, std::pair{63, 1}, std::pair{8, 32}}) {
      for (const Store store : {Store::kPlain, Store::kStreaming, Store::kString}) {
        for (const bool is_streamed : {false, true}) {
          expect_carried(size_bytes, static_cast<std::size_t>(from), static_cast<std::size_t>(to), store, is_streamed);
        }
      }
    }
  }
}

TEST(HostCopy, PastTheCachesBringsEveryByteAndNoOther) {
  constexpr std::size_t kBeside = 256;
  for (const bool is_by_64 : {false, true}) {
    if (is_by_64 && !has_registers_of_64_bytes()) continue;
    for (const std::size_t size_bytes : {64, 127, 128, 191, 192, 255, 256, 320, 1000, 4096}) {
      for (const std::size_t to : {0, 1, 32, 63}) {
        SCOPED_TRACE(std::to_string(size_bytes) + " bytes to " + std::to_string(to));
        const std::vector<std::byte> source = numbered(size_bytes + 2 * kBeside);
        std::vector<std::byte> target(size_bytes + 3 * kBeside, kGuard);
        const std::size_t at = kBeside + (-reinterpret_cast<std::uintptr_t>(target.data()) & 63) + to;
        std::vector<std::byte> wanted = target;
        std::copy_n(source.begin() + kBeside, size_bytes, wanted.begin() + static_cast<std::ptrdiff_t>(at));
        copy_past_caches(target.data() + at, source.data() + kBeside, size_bytes, is_by_64);
        EXPECT_EQ(target, wanted);
      }
    }
  }
}

TEST(HostCopy, UsesTheWidestRegistersThatThereAre) {
  std::ifstream processors("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(processors)), std::istreambuf_iterator<char>());
  EXPECT_EQ(has_registers_of_64_bytes(), text.find(" avx512f") != std::string::npos);
}

// Past the caches goes what the link reads and nobody else, where it is so much that it matters.
TEST(HostCopy, BytesGoPastTheCachesWhereTheyAreMany) {
  constexpr std::size_t kLeast = 4096;
  Chunk chunk{};
  for (const bool is_streamed : {true, false}) {
    chunk.is_streamed = is_streamed;
    EXPECT_EQ(way_in(Store::kStreaming, chunk, kLeast), is_streamed ? Way::kPastCaches : Way::kThroughCaches);
    EXPECT_EQ(way_in(Store::kStreaming, chunk, kLeast - 1), Way::kThroughCaches);
    EXPECT_EQ(way_in(Store::kPlain, chunk, 1000 * kLeast), Way::kThroughCaches);
    EXPECT_EQ(way_in(Store::kString, chunk, kLeast), Way::kAsString);
    EXPECT_EQ(way_in(Store::kString, chunk, kLeast - 1), Way::kThroughCaches);
  }
  Plan plan;
  EXPECT_EQ(way_out(plan, 32 * kLeast), Way::kPastCaches);
  EXPECT_EQ(way_out(plan, 32 * kLeast - 1), Way::kThroughCaches);
  plan.is_fresh = true;
  EXPECT_EQ(way_out(plan, 1000 * kLeast), Way::kThroughCaches) << "these pages are in the caches";
}

TEST(HostCopy, PartsOfAChunkAreCarriedByThemselves) {
  std::vector<std::byte> memory[2] = {numbered(100), numbered(60)};
  const std::vector<Piece> pieces{{.host = memory[0].data(), .device = 4096, .size_bytes = 100},
                                  {.device = 4196, .size_bytes = 28, .joins_previous = true, .is_padding = true},
                                  {.host = memory[1].data(), .device = 4224, .size_bytes = 60, .joins_previous = true}};
  const Plan plan = make_plan(pieces, 4096);
  ASSERT_EQ(plan.chunks.size(), 1U);
  std::vector<std::byte> whole(188, kGuard);
  std::memcpy(whole.data(), memory[0].data(), 100);
  std::memcpy(whole.data() + 128, memory[1].data(), 60);
  for (std::size_t begin = 0; begin < 188; begin += 7) {
    for (const std::size_t end : {begin + 1, begin + 50, std::size_t{188}}) {
      const std::size_t stop = std::min<std::size_t>(end, 188);
      std::vector<std::byte> slot(188, kGuard);
      gather(plan, plan.chunks[0], begin, stop, Store::kPlain, slot.data());
      for (std::size_t at = 0; at < 188; ++at) {
        ASSERT_EQ(slot[at], at >= begin && at < stop ? whole[at] : kGuard) << at << " of " << begin << " to " << stop;
      }
    }
  }
}

// Items of a layout, in dense order.
std::vector<std::byte> dense(const std::byte* base, const Layout& layout) {
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> index(layout.sizes.size(), 0);
  const auto count = std::accumulate(layout.sizes.begin(), layout.sizes.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t item = 0; item < count; ++item) {
    std::int64_t rest = item;
    const std::byte* from = base;
    for (std::size_t d = layout.sizes.size(); d-- > 0;) {
      from += rest % layout.sizes[d] * layout.strides_bytes[d];
      rest /= layout.sizes[d];
    }
    bytes.insert(bytes.end(), from, from + layout.item_bytes);
  }
  return bytes;
}

TEST(HostCopy, GathersItemsOfEverySizeFromEveryLayout) {
  std::vector<std::byte> memory = numbered(1 << 16);
  std::byte* base = memory.data() + (1 << 15);
  for (const std::uint32_t item : {1U, 2U, 3U, 4U, 8U, 12U, 16U, 32U}) {
    const auto bytes = static_cast<std::int64_t>(item);
    const Layout layouts[] = {
        {.sizes = {5, 7}, .strides_bytes = {bytes * 20, bytes * 2}, .item_bytes = item},
        {.sizes = {5, 7}, .strides_bytes = {bytes, bytes * 5}, .item_bytes = item},
        {.sizes = {3, 4, 5}, .strides_bytes = {-bytes * 40, bytes * 9, bytes}, .item_bytes = item},
        {.sizes = {11}, .strides_bytes = {-bytes * 3}, .item_bytes = item},
        {.sizes = {6, 2}, .strides_bytes = {0, bytes}, .item_bytes = item},
        {.sizes = {}, .strides_bytes = {}, .item_bytes = item}};
    for (const Layout& layout : layouts) {
      const std::vector<std::byte> wanted = dense(base, layout);
      const Piece piece{.host = base, .device = 1 << 20, .size_bytes = wanted.size(), .layout = &layout};
      const Plan plan = make_plan({&piece, 1}, std::size_t{4} << 20);
      ASSERT_EQ(plan.chunks.size(), 1U);
      // In one go, and cut at items.
      for (const std::size_t cut : {std::size_t{0}, std::size_t{item}, wanted.size() / item / 2 * item}) {
        std::vector<std::byte> slot(wanted.size() + 1, kGuard);
        gather(plan, plan.chunks[0], 0, cut, Store::kPlain, slot.data());
        gather(plan, plan.chunks[0], cut, wanted.size(), Store::kPlain, slot.data());
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), slot.begin())) << item << " at " << cut;
        EXPECT_EQ(slot.back(), kGuard);
      }
    }
  }
}

// Fresh pages of this process.
class Pages {
 public:
  explicit Pages(std::size_t size_bytes, int more_flags = 0) : size_bytes_(size_bytes) {
    memory_ = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
    madvise(memory_, size_bytes, MADV_NOHUGEPAGE);
  }
  ~Pages() { munmap(memory_, size_bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(memory_); }
  std::size_t present() const {
    std::vector<unsigned char> pages(size_bytes_ / 4096);
    mincore(memory_, size_bytes_, pages.data());
    return static_cast<std::size_t>(
        std::count_if(pages.begin(), pages.end(), [](unsigned char one) { return one & 1; }));
  }

 private:
  void* memory_;
  std::size_t size_bytes_;
};

TEST(FreshPages, AreAllBroughtInAndKeepTheirBytes) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (const std::size_t size_bytes : {std::size_t{4096}, 31 * kMiB, 32 * kMiB, 33 * kMiB + 4096}) {
    for (const unsigned int threads : {0U, 1U, 2U, 3U, 16U}) {
      SCOPED_TRACE(std::to_string(size_bytes) + " bytes by " + std::to_string(threads));
      const Pages pages(size_bytes + 2 * 4096);
      std::memset(pages.data() + 4096, 0x5a, 3);
      fault_in({pages.begin() + 4096, pages.begin() + 4096 + size_bytes}, threads);
      EXPECT_EQ(pages.present(), size_bytes / 4096);
      EXPECT_EQ(pages.data()[4096 + 2], std::byte{0x5a});
      EXPECT_EQ(pages.data()[4096 + 3], std::byte{0});
    }
  }
}

TEST(FreshPages, AreTouchedWhereTheSystemCannotBringThemIn) {
  const Pages pages(6 * 4096);
  std::memset(pages.data() + 4096, 0x5a, 3);
  touch({pages.begin() + 4096, pages.begin() + 5 * 4096});
  EXPECT_EQ(pages.present(), 4U) << "none beside them";
  EXPECT_EQ(pages.data()[4096], std::byte{0x5a});
  EXPECT_EQ(pages.data()[2 * 4096], std::byte{0});
  touch({pages.begin(), pages.begin()});
  EXPECT_EQ(pages.present(), 4U);
}

TEST(FreshPages, AreSharedOutInWholeLargePages) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  struct Case {
    std::size_t mebibytes;
    unsigned int threads;
    std::vector<std::size_t> shares;
  };
  for (const Case& one : {Case{32, 0, {32}}, Case{32, 1, {32}}, Case{32, 2, {18, 14}}, Case{31, 2, {31}},
                          Case{31, 16, {31}}, Case{100, 3, {34, 34, 32}}, Case{66, 3, {24, 24, 18}},
                          Case{33, 8, {6, 6, 6, 6, 6, 3}}, Case{64, 40, std::vector<std::size_t>(32, 2)}}) {
    SCOPED_TRACE(std::to_string(one.mebibytes) + " MiB by " + std::to_string(one.threads));
    const std::uintptr_t begin = 5 * kMiB + 4096;
    std::uintptr_t at = begin;
    std::vector<std::size_t> shares;
    for (const PageRange& share : shares_of({begin, begin + one.mebibytes * kMiB}, one.threads)) {
      EXPECT_EQ(share.begin, at);
      at = share.end;
      shares.push_back((share.end - share.begin) / kMiB);
    }
    EXPECT_EQ(at, begin + one.mebibytes * kMiB);
    EXPECT_EQ(shares, one.shares);
  }
  EXPECT_EQ(shares_of({4096, 32 * kMiB}, 4).size(), 1U) << "a page less than 32 MiB";
}

// Page-locking, by a driver that takes everything.
class LockedPages : public ::testing::Test {
 protected:
  LockedPages() : simulation_(1), device_(std::move(*Device::open(simulation_.driver(), 0))) {}

  simulated::Simulation simulation_;
  std::unique_ptr<Device> device_;
  const InContext in_context_{*device_};
  PageLock page_lock_;
};

TEST_F(LockedPages, ThatNobodyTouchedAreBroughtIn) {
  const Pages pages(128 * 4096);
  std::memset(pages.data(), 1, 50 * 4096);
  ASSERT_TRUE(page_lock_.lock(*device_, pages.data() + 100, 128 * 4096 - 200, 2));
  EXPECT_EQ(pages.present(), 128U);
  ASSERT_TRUE(page_lock_.unlock(*device_, pages.data() + 100));
}

// The looks are spread over all of them: wherever those lie that were touched, and however few there are.
TEST_F(LockedPages, OfWhichFewWereTouchedAreBroughtInWhereverTheseAre) {
  for (const std::size_t count : {3, 64, 100, 640}) {
    const std::size_t few = count * 2 / 5;
    for (const std::size_t first : {std::size_t{0}, count / 4, count - few}) {
      const Pages pages(count * 4096);
      std::memset(pages.data() + first * 4096, 1, few * 4096);
      ASSERT_TRUE(page_lock_.lock(*device_, pages.data(), count * 4096, 2));
      EXPECT_EQ(pages.present(), count) << few << " from " << first;
      ASSERT_TRUE(page_lock_.unlock(*device_, pages.data()));
      const Pages others(count * 4096);
      const std::size_t many = count - few;
      std::memset(others.data() + std::min(first, few) * 4096, 1, many * 4096);
      ASSERT_TRUE(page_lock_.lock(*device_, others.data(), count * 4096, 2));
      EXPECT_EQ(others.present(), many) << many << " from " << std::min(first, few);
      ASSERT_TRUE(page_lock_.unlock(*device_, others.data()));
    }
  }
}

TEST_F(LockedPages, BesideTheMemoryAreLeftAlone) {
  for (const auto& [begin, size_bytes] :
       {std::pair{4096, 8 * 4096}, std::pair{4096 + 100, 8 * 4096 - 200}, std::pair{2 * 4096 - 1, 6 * 4096 + 2},
        std::pair{4096 + 1, 8 * 4096 - 1}, std::pair{4096, 8 * 4096 - 1}}) {
    SCOPED_TRACE(std::to_string(size_bytes) + " bytes from " + std::to_string(begin));
    const Pages pages(10 * 4096);
    ASSERT_TRUE(page_lock_.lock(*device_, pages.data() + begin, static_cast<std::size_t>(size_bytes), 1));
    EXPECT_EQ(pages.present(), 8U);
    ASSERT_TRUE(page_lock_.unlock(*device_, pages.data() + begin));
  }
}

TEST_F(LockedPages, OfWhichMostWereTouchedAreLeftToTheDriver) {
  const Pages pages(128 * 4096);
  std::memset(pages.data(), 1, 64 * 4096);
  ASSERT_TRUE(page_lock_.lock(*device_, pages.data(), 128 * 4096, 2));
  EXPECT_EQ(pages.present(), 64U);
  ASSERT_TRUE(page_lock_.unlock(*device_, pages.data()));
}

TEST_F(LockedPages, SayWhyTheyAreRefused) {
  const Pages pages(4096);
  EXPECT_TRUE(page_lock_.lock(*device_, pages.data(), 0, 1));
  EXPECT_EQ(simulation_.calls("mem_host_register"), 0U);
  Status status = page_lock_.unlock(*device_, pages.data());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "this memory was not page-locked by Turnpike");
  ASSERT_TRUE(page_lock_.lock(*device_, pages.data(), 4096, 1));
  status = page_lock_.lock(*device_, pages.data(), 4096, 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "this memory is page-locked by Turnpike already");
  simulation_.fail("mem_host_unregister", 1, 719);
  status = page_lock_.unlock(*device_, pages.data());
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("undoing the page lock on device 0 failed"));
  EXPECT_TRUE(page_lock_.unlock(*device_, pages.data()));  // it was locked still
  simulation_.fail("mem_host_register", 1, 2);
  status = page_lock_.lock(*device_, pages.data(), 4096, 1);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("page-locking 4096 bytes failed"));
  simulation_.fail("mem_host_register", 1, cuda::kHostMemoryAlreadyRegistered);
  status = page_lock_.lock(*device_, pages.data(), 4096, 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "this memory, or a part of a page of it, is page-locked already");
}

TEST(KnownBytes, DifferFromPlaceToPlaceAndFromSeedToSeed) {
  const std::vector<std::byte> bytes = known_bytes(4096, 0);
  EXPECT_EQ(bytes, known_bytes(4096, 0));
  EXPECT_NE(bytes, known_bytes(4096, 1));
  EXPECT_EQ(known_bytes(0, 0).size(), 0U);
  std::vector<std::size_t> seen(256, 0);
  for (const std::byte one : bytes) ++seen[static_cast<std::size_t>(one)];
  EXPECT_EQ(std::count(seen.begin(), seen.end(), std::size_t{0}), 0);
}

}  // namespace
}  // namespace turnpike::move
