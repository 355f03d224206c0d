// For which memory the system is asked for large pages: /proc/self/smaps tells.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine_run.h"
#include "move/fresh_pages.h"

namespace turnpike::move {
namespace {

using Ranges = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;
using ::testing::IsEmpty;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kMappedBytes = 16 * kMiB;

// Memory that nobody has touched, with a large page's border at data().
class Untouched {
 public:
  Untouched() {
    whole_ = mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(whole_, MAP_FAILED);
  }
  ~Untouched() { munmap(whole_, kMappedBytes); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

  std::byte* data() const {
    const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(whole_) % kLargePageBytes;
    return static_cast<std::byte*>(whole_) + 2 * kLargePageBytes - behind;
  }
  // Where the system was asked for large pages, counted from data().
  Ranges advised() const {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/smaps", "re"), std::fclose);
    const auto begin = reinterpret_cast<std::uintptr_t>(whole_);
    const auto base = reinterpret_cast<std::uintptr_t>(data());
    Ranges found;
    char line[4352];
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    while (std::fgets(line, sizeof line, maps.get()) != nullptr) {
      std::uintptr_t first = 0;
      std::uintptr_t last = 0;
      if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &last) == 2) std::tie(from, to) = {first, last};
      const bool is_ours = from < begin + kMappedBytes && to > begin;
      if (is_ours && std::strncmp(line, "VmFlags:", 8) == 0 && std::strstr(line, " hg") != nullptr) {
        found.emplace_back(from - base, to - base);
      }
    }
    return found;
  }

 private:
  void* whole_;
};

// A kernel without large pages refuses, and its memory has nothing to show.
Ranges if_there_are_any(Ranges ranges) {
  const Untouched memory;
  return madvise(memory.data(), kLargePageBytes, MADV_HUGEPAGE) == 0 ? ranges : Ranges{};
}

TEST(LargePages, AreAskedForWhereTheyLieInTheMemoryAsAWhole) {
  struct Case {
    std::size_t begin, end;
    Ranges expected;
  };
  const std::size_t large = kLargePageBytes;
  for (const Case& one : {Case{0, 3 * large, {{0, 3 * large}}}, Case{1, 3 * large, {{large, 3 * large}}},
                          Case{2, 3 * large + 1, {{large, 3 * large}}}, Case{0, 3 * large - 1, {{0, 2 * large}}},
                          Case{0, 3 * large + 2, {{0, 3 * large}}}, Case{large - 1, 2 * large, {{large, 2 * large}}},
                          Case{large + 4096, 4 * large - 4096, {{2 * large, 3 * large}}}, Case{1, 2 * large - 1, {}},
                          Case{4096, 8192, {}}, Case{0, large - 1, {}}, Case{large + 1, large + 1, {}}}) {
    SCOPED_TRACE(std::to_string(one.begin) + " to " + std::to_string(one.end));
    const Untouched memory;
    advise_large_pages(memory.data() + one.begin, one.end - one.begin);
    EXPECT_EQ(memory.advised(), if_there_are_any(one.expected));
  }
}

struct Download {
  std::size_t size_bytes = 4 * kMiB;
  bool is_fresh = true;
  bool is_pinned = false;
};

// Where a download asks for large pages, and in how many copies it comes.
std::pair<Ranges, std::size_t> downloaded(const Download& how) {
  const Untouched memory;
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, Settings{.threads = 2});
  run.more_pinned_bytes = how.size_bytes;
  if (how.is_pinned) {
    std::memset(memory.data(), 1, how.size_bytes);  // what was touched is page-locked as it is
    EXPECT_TRUE(run.engine->pin(memory.data(), how.size_bytes));
  }
  const DeviceAddress device = run.simulation.device_memory(0, how.size_bytes);
  const Piece piece{.host = memory.data(), .device = device, .size_bytes = how.size_bytes, .is_pinned = how.is_pinned};
  const Stream stream = run.simulation.make_stream(0);
  run.simulation.launch(0, stream, {.writes = {simulated::range_of(device, how.size_bytes)}});
  EXPECT_TRUE(run.engine->download(0, {&piece, 1}, stream, how.is_fresh));
  if (how.is_pinned) {
    EXPECT_TRUE(run.engine->unpin(memory.data()));
  }
  const std::size_t copies = run.simulation.calls("memcpy_dtoh_async");
  run.end();
  return {memory.advised(), copies};
}

TEST(LargePages, AreAskedForByDownloadsOfFourMebibytesIntoFreshMemory) {
  EXPECT_EQ(downloaded({}).first, if_there_are_any({{0, 4 * kMiB}}));
  EXPECT_THAT(downloaded({.size_bytes = 4 * kMiB - 1}).first, IsEmpty());
  EXPECT_THAT(downloaded({.is_fresh = false}).first, IsEmpty());
  EXPECT_THAT(downloaded({.is_pinned = true}).first, IsEmpty());
}

// Where most of the memory was touched its pages are there, small or large.
TEST(LargePages, AreAskedForWhenUntouchedMemoryIsPageLocked) {
  for (const bool is_touched : {false, true}) {
    const Untouched memory;
    EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, Settings{.threads = 2});
    run.more_pinned_bytes = 4 * kMiB;
    if (is_touched) std::memset(memory.data(), 1, 4 * kMiB);
    EXPECT_TRUE(run.engine->pin(memory.data(), 4 * kMiB));
    EXPECT_EQ(memory.advised(), is_touched ? Ranges{} : if_there_are_any({{0, 4 * kMiB}}));
    EXPECT_TRUE(run.engine->unpin(memory.data()));
    run.end();
  }
}

TEST(LargePages, AreWhatADownloadIntoFreshMemoryIsCutAt) {
  EXPECT_EQ(downloaded({.size_bytes = 8 * kMiB}).second, 4U);
  EXPECT_GT(downloaded({.size_bytes = 8 * kMiB, .is_fresh = false}).second, 4U);
}

}  // namespace
}  // namespace turnpike::move
