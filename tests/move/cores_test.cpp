// Which cores the engine's threads use, and how many it counts.
#include "move/cores.h"

#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

TEST(Cores, AQuotaIsRoundedUp) {
  EXPECT_EQ(cores_of_quota("400000 100000"), 4U);
  EXPECT_EQ(cores_of_quota("150000 100000"), 2U);
  EXPECT_EQ(cores_of_quota("100001 100000"), 2U);
  EXPECT_EQ(cores_of_quota("1000000000 1000"), 4096U);
  EXPECT_EQ(cores_of_quota("1000 100000"), 1U);
  EXPECT_EQ(cores_of_quota("max 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota("-1 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota(""), std::nullopt);
}

// The calling thread bound to one core, as an OpenMP runtime binds the main thread.
class BoundToOneCore {
 public:
  BoundToOneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
      if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
  }
  ~BoundToOneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  BoundToOneCore(const BoundToOneCore&) = delete;
  BoundToOneCore& operator=(const BoundToOneCore&) = delete;

  int cores_before() const { return CPU_COUNT(&before_); }

 private:
  cpu_set_t before_{};
};

std::set<int> threads() {
  std::set<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    found.insert(std::stoi(entry.path().filename().string()));
  }
  return found;
}

// Cores of the engine's threads, each, as soon as they are `expected`, or after a while.
std::vector<int> cores_of_threads(int expected) {
  std::thread([] {}).join();  // ThreadSanitizer starts a thread of its own beside the first
  const std::set<int> before = threads();
  EngineRun run(1, {.pace = simulated::Pace::kAtOnce}, {.threads = 3, .chunk_bytes = 4096, .pinned_bytes = 32768});
  const std::vector<std::byte> bytes(1 << 20);
  const Piece piece{.host = const_cast<std::byte*>(bytes.data()),
                    .device = run.simulation.device_memory(0, bytes.size()),
                    .size_bytes = bytes.size()};
  EXPECT_TRUE(run.engine->upload(0, {&piece, 1}, run.simulation.make_stream(0)));
  std::vector<int> cores;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  do {
    cores.clear();
    for (const int thread : threads()) {
      cpu_set_t set;
      if (before.count(thread) == 0 && sched_getaffinity(thread, sizeof set, &set) == 0) {
        cores.push_back(CPU_COUNT(&set));
      }
    }
  } while (std::count(cores.begin(), cores.end(), expected) < 3 && std::chrono::steady_clock::now() < end);
  run.end();
  EXPECT_EQ(cores.size(), 3U);
  return cores;
}

TEST(Cores, ThreadsAreNotBoundWithAThreadThatOpenMpBinds) {
  setenv("OMP_PROC_BIND", "true", 1);
  {
    const BoundToOneCore bound;
    EXPECT_EQ(usable_cores() > 1, bound.cores_before() > 1);
    EXPECT_THAT(cores_of_threads(bound.cores_before()), ::testing::Each(bound.cores_before()));
  }
  unsetenv("OMP_PROC_BIND");
}

TEST(Cores, ThreadsStayOnTheCoresThatTheProgramChose) {
  const BoundToOneCore bound;
  EXPECT_EQ(usable_cores(), 1U);
  EXPECT_THAT(cores_of_threads(1), ::testing::Each(1));
}

}  // namespace
}  // namespace turnpike::move
