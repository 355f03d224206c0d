// Downloads in the order of a stream.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "engine_run.h"

namespace turnpike::move {
namespace {

TEST(Download, BringsEveryByteBeforeItReturns) {
  for_each_seed([](EngineRun& run) {
    const int device = static_cast<int>(run.random.below(2));
    const Stream stream = run.some_stream(device);
    for (std::size_t times = run.random.between(1, 3); times > 0; --times) {
      const auto cargo = run.some_download(device, stream);
      run.put_on_device(device, stream, cargo);
      const Status status = run.engine->download(device, cargo->pieces, stream);
      ASSERT_TRUE(status) << status.error().message;
      EXPECT_TRUE(cargo->has_arrived());
      EXPECT_TRUE(cargo->is_intact());
      run.overwrite_on_device(device, stream, cargo);
    }
  });
}

TEST(Download, GoesOnWithWhatAnUploadBrought) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    run.shape.has_layouts = false;
    run.shape.has_padding = false;
    const auto up = run.some_upload(0, stream);
    ASSERT_TRUE(run.engine->upload(0, up->pieces, stream, run.watched(up)));
    std::vector<std::unique_ptr<HostBlock>> targets;
    std::vector<Piece> pieces = up->pieces;
    for (Piece& piece : pieces) {
      targets.push_back(std::make_unique<HostBlock>(run.simulation, piece.size_bytes, false));
      piece.host = targets.back()->data();
      piece.is_pinned = false;
    }
    ASSERT_TRUE(run.engine->download(0, pieces, stream));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_TRUE(std::equal(up->stretches[i].bytes.begin(), up->stretches[i].bytes.end(), targets[i]->data()));
      EXPECT_TRUE(targets[i]->is_intact());
    }
  });
}

std::uintptr_t first_large_page(const void* memory) {
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  return (reinterpret_cast<std::uintptr_t>(memory) + kLargePage - 1) & ~(kLargePage - 1);
}

// Whether the system was asked for large pages where this memory has its first.
bool has_large_pages(const void* memory) {
  const std::uintptr_t address = first_large_page(memory);
  std::ifstream smaps("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &begin, &end) == 2) {
      is_there = begin <= address && address < end;
    } else if (is_there && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST(Download, AsksForLargePagesWhereFreshMemoryIsLarge) {
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0) GTEST_SKIP() << "the system has none";
  constexpr std::size_t kRoom = std::size_t{8} << 20;
  const auto is_asked_for = [](std::size_t size_bytes, bool is_fresh) {
    EngineRun run(1, {}, {.threads = 2, .chunk_bytes = std::size_t{1} << 20, .pinned_bytes = std::size_t{4} << 20});
    const DeviceAddress device = run.simulation.device_memory(0, size_bytes);
    void* room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(room, MAP_FAILED);
    void* memory = reinterpret_cast<void*>(first_large_page(room));  // from its first byte on
    const Piece piece{.host = memory, .device = device, .size_bytes = size_bytes};
    EXPECT_TRUE(run.engine->download(0, {&piece, 1}, run.simulation.make_stream(0), is_fresh));
    const bool result = has_large_pages(memory);
    munmap(room, kRoom);
    run.end();
    return result;
  };
  constexpr std::size_t kLarge = std::size_t{4} << 20;
  EXPECT_TRUE(is_asked_for(kLarge, true));
  EXPECT_FALSE(is_asked_for(kLarge - 4096, true));
  EXPECT_FALSE(is_asked_for(kLarge, false));
}

TEST(Download, BringsFreshMemoryInLargePages) {
  constexpr std::size_t kBytes = (std::size_t{6} << 20) + 123;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    EngineRun run(seed, {}, {.threads = 4, .chunk_bytes = std::size_t{1} << 20, .pinned_bytes = std::size_t{4} << 20});
    const Stream stream = run.simulation.make_stream(0);
    const DeviceAddress device = run.simulation.device_memory(0, kBytes);
    fill(run.random, run.simulation.bytes(device), kBytes);
    void* fresh = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(fresh, MAP_FAILED);
    const Piece piece{.host = fresh, .device = device, .size_bytes = kBytes};
    ASSERT_TRUE(run.engine->download(0, {&piece, 1}, stream, true));
    EXPECT_EQ(std::memcmp(fresh, run.simulation.bytes(device), kBytes), 0);
    munmap(fresh, kBytes);
    run.end();
  }
}

}  // namespace
}  // namespace turnpike::move
