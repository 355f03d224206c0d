// Which cores the engine's threads use, and how many it counts.
#include "move/cores.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bound_to_one_core.h"
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

TEST(Cores, AQuotaHasTwoNumbersAboveZero) {
  EXPECT_EQ(cores_of_quota("0 100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota("100000 0"), std::nullopt);
  EXPECT_EQ(cores_of_quota("100000 -1"), std::nullopt);
  EXPECT_EQ(cores_of_quota("100000"), std::nullopt);
  EXPECT_EQ(cores_of_quota("-1 0"), std::nullopt);
  EXPECT_EQ(cores_of_quota("1 1"), 1U);
  EXPECT_EQ(cores_of_quota("1 100000"), 1U);
  EXPECT_EQ(cores_of_quota("200000 100000"), 2U);
  EXPECT_EQ(cores_of_quota("4096 1"), 4096U);
  EXPECT_EQ(cores_of_quota("4097 1"), 4096U);
}

// Control groups as the system shows them, in a folder of the test's.
class Groups : public ::testing::Test {
 protected:
  ~Groups() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<unsigned int> cores() { return cores_of_groups(root_ / "self", root_); }

  const std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) / ("turnpike_groups_" + std::to_string(getpid()));
};

TEST_F(Groups, WithoutAQuotaLimitNothing) {
  EXPECT_EQ(cores(), std::nullopt) << "there is nothing at all";
  write("self", "0::/user.slice/one.scope\n");
  write("user.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), std::nullopt);
}

TEST_F(Groups, LimitWithTheLeastQuotaFromTheOwnToTheTop) {
  write("self", "12:cpu:/other\n0::/user.slice/one.scope\n1:pids:/user.slice\n");
  write("other/cpu.max", "100000 100000\n");
  write("cpu.max", "900000 100000\n");
  EXPECT_EQ(cores(), 9U);
  write("user.slice/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores(), 4U);
  write("user.slice/one.scope/cpu.max", "600000 100000\n");
  EXPECT_EQ(cores(), 4U);
  write("user.slice/one.scope/cpu.max", "300000 100000\n");
  EXPECT_EQ(cores(), 3U);
}

TEST_F(Groups, OfTheFirstVersionLimitAsWell) {
  write("cpu/cpu.cfs_quota_us", "500000\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 5U);
  write("cpu.max", "700000 100000\n");
  EXPECT_EQ(cores(), 5U);
  write("cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cores(), 7U);
}

TEST(OpenMpRuntimes, AreKnownByTheirFiles) {
  for (const char* path : {"/usr/lib/libgomp.so.1", "libgomp-a34b3233.so.1", "/opt/libiomp5.so", "/a/b/libomp.so"}) {
    EXPECT_TRUE(is_openmp_runtime(path)) << path;
  }
  for (const char* path : {"", "/usr/lib/libc.so.6", "/libgomp/libc.so.6", "/usr/lib/mylibgomp.so", "libiomp.so"}) {
    EXPECT_FALSE(is_openmp_runtime(path)) << path;
  }
}

TEST(OpenMpRuntimes, BindThreadsWhereTheEnvironmentSaysSo) {
  EXPECT_FALSE(binds_threads());
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    setenv(name, "", 1);
    EXPECT_FALSE(binds_threads()) << name;
    setenv(name, "0", 1);
    EXPECT_TRUE(binds_threads()) << name;
    unsetenv(name);
  }
}

std::vector<std::size_t> in(const cpu_set_t& cores) {
  std::vector<std::size_t> found;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) found.push_back(core);
  }
  return found;
}

TEST(OpenMpRuntimes, AddTheCoresOfTheirPlaces) {
  // The third place has none, and a runtime may not know the cores of the fourth.
  OpenMp runtime{.places = [] { return 4; },
                 .count_of = [](int place) { return place == 3 ? -1 : 2 - place; },
                 .cores_of =
                     [](int place, int* cores) {
                       if (place == 0) cores[0] = 0, cores[1] = CPU_SETSIZE - 1;
                       if (place == 1) cores[0] = 9;
                       EXPECT_LT(place, 4);
                     }};
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(5, &cores);
  add_places(runtime, cores);
  EXPECT_EQ(in(cores), (std::vector<std::size_t>{0, 5, 9, CPU_SETSIZE - 1}));
  runtime.cores_of = [](int, int* ids) { ids[0] = -1; };
  runtime.count_of = [](int) { return 1; };
  add_places(runtime, cores);
  runtime.cores_of = [](int, int* ids) { ids[0] = CPU_SETSIZE; };
  add_places(runtime, cores);
  EXPECT_EQ(CPU_COUNT(&cores), 4) << "these are no cores";
  for (int missing = 0; missing < 3; ++missing) {
    runtime.cores_of = [](int, int* ids) { ids[0] = 7; };
    OpenMp old = runtime;
    if (missing == 0) old.places = nullptr;
    if (missing == 1) old.count_of = nullptr;
    if (missing == 2) old.cores_of = nullptr;
    add_places(old, cores);
    EXPECT_EQ(CPU_COUNT(&cores), 4) << "a runtime that is too old";
  }
}

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
