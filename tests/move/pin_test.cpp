// Page-locking in place.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "engine_run.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Pin, LeavesTheBytesAndServesTransfersUntilItIsUndone) {
  for_each_seed([](EngineRun& run) {
    const Stream stream = run.simulation.make_stream(0);
    const std::size_t size_bytes = run.random.between(1, 20000);
    run.more_pinned_bytes = size_bytes;
    std::vector<std::byte> memory(size_bytes);
    fill(run.random, memory.data(), size_bytes);
    const std::vector<std::byte> before = memory;
    ASSERT_TRUE(run.engine->pin(memory.data(), size_bytes));
    EXPECT_EQ(memory, before);
    const DeviceAddress device = run.simulation.device_memory(0, size_bytes);
    const Piece piece{.host = memory.data(), .device = device, .size_bytes = size_bytes, .is_pinned = true};
    if (run.random.one_in(2)) {
      ASSERT_TRUE(run.engine->upload(0, {&piece, 1}, stream));
    } else {
      auto transfer = run.engine->upload_ahead(0, {&piece, 1}, stream, nullptr);
      ASSERT_TRUE(transfer);
      ASSERT_TRUE((*transfer)->wait_on(0, stream));
    }
    ASSERT_TRUE(run.engine->unpin(memory.data()));  // waits
    std::memset(memory.data(), 0, size_bytes);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), run.simulation.bytes(device)));
    if (run.random.one_in(2)) {
      ASSERT_TRUE(run.engine->pin(memory.data(), size_bytes));
      ASSERT_TRUE(run.engine->unpin(memory.data()));
    }
  });
}

TEST(Pin, RefusesMemoryThatItHasPinnedAlready) {
  EngineRun run(1);
  run.more_pinned_bytes = 4096;
  std::vector<std::byte> memory(4096);
  ASSERT_TRUE(run.engine->pin(memory.data(), memory.size()));
  EXPECT_FALSE(run.engine->pin(memory.data(), memory.size()));
  EXPECT_TRUE(run.engine->unpin(memory.data()));
  EXPECT_FALSE(run.engine->unpin(memory.data()));
  run.end();
}

TEST(Pin, SaysWhenSomebodyElseHasPinnedIt) {
  EngineRun run(1);
  const std::unique_ptr<HostBlock> block = std::make_unique<HostBlock>(run.simulation, 4096, true);
  const Status status = run.engine->pin(block->data(), 4096);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("already"));
  EXPECT_EQ(run.simulation.violations().size(), 1U);  // the driver is asked, and says so
  run.simulation.forget_violations();
  run.end();
}

TEST(Pin, OpensNoGpuThatTheProgramDoesNotUse) {
  for (const int device : {-1, 1}) {
    EngineRun run(1, {.devices = 3});
    run.more_pinned_bytes = 4096;
    std::thread([&] {  // a process that has only ever used device 1
      run.simulation.set_device(1);
      std::vector<std::byte> memory(4096);
      EXPECT_TRUE(run.engine->pin(memory.data(), memory.size(), device));
      EXPECT_TRUE(run.simulation.is_opened(1));
      EXPECT_TRUE(run.engine->unpin(memory.data()));
      EXPECT_FALSE(run.simulation.is_opened(0));
      EXPECT_FALSE(run.simulation.is_opened(2));
    })
        .join();
    run.end();
  }
}

// Of several GPUs that the process uses, this thread's; without one, the first; and where nobody uses any, the first.
TEST(Pin, TakesTheGpuOfItsThreadBeforeAnyOther) {
  struct Case {
    std::vector<int> used;  // by other threads
    int current;
    int expected;
  };
  for (const Case& one :
       {Case{{1}, 2, 2}, Case{{2}, 1, 1}, Case{{2, 1}, simulated::kHost, 1}, Case{{1, 0}, simulated::kHost, 0},
        Case{{2}, simulated::kHost, 2}, Case{{}, simulated::kHost, 0}}) {
    SCOPED_TRACE(one.expected);
    simulated::Simulation simulation(1, {.devices = 3});
    for (const int device : one.used) std::thread([&] { simulation.set_device(device); }).join();
    if (one.current != simulated::kHost) simulation.set_device(one.current);
    {
      const auto engine = Engine::open(simulation.driver(), Settings{});
      ASSERT_TRUE(engine);
      std::vector<std::byte> memory(4096);
      EXPECT_TRUE((*engine)->pin(memory.data(), memory.size()));
      for (const int device : {0, 1, 2}) EXPECT_EQ(simulation.is_opened(device), device == one.expected) << device;
      EXPECT_TRUE((*engine)->unpin(memory.data()));
    }
    EXPECT_THAT(simulation.violations_text(), ::testing::IsEmpty());
    EXPECT_THAT(simulation.leaks(), ::testing::IsEmpty());
  }
}

TEST(Pin, TakesTheGpuThatItIsToldAlsoWhereTheProgramUsesAnother) {
  EngineRun run(1, {.devices = 2});
  run.more_pinned_bytes = 4096;
  std::thread([&] {
    run.simulation.set_device(1);
    std::vector<std::byte> memory(4096);
    EXPECT_TRUE(run.engine->pin(memory.data(), memory.size(), 0));
    EXPECT_TRUE(run.simulation.is_opened(0));
    EXPECT_TRUE(run.engine->unpin(memory.data()));
  }).join();
  run.end();
}

// The program's own copies on a GPU that the engine has not opened.
TEST(Pin, WaitsForEveryGpuBeforeItIsUndone) {
  for_each_seed([](EngineRun& run) {
    run.more_pinned_bytes = 4096;
    std::vector<std::byte> memory(4096);
    fill(run.random, memory.data(), memory.size());
    ASSERT_TRUE(run.engine->pin(memory.data(), memory.size(), 0));
    const Stream stream = run.simulation.make_stream(1);
    const DeviceAddress device = run.simulation.device_memory(1, memory.size());
    run.simulation.set_device(1);
    run.simulation.driver().memcpy_htod_async(device, memory.data(), memory.size(), stream);
    run.simulation.set_device(0);
    ASSERT_TRUE(run.engine->unpin(memory.data()));
    EXPECT_TRUE(std::equal(memory.begin(), memory.end(), run.simulation.bytes(device)));
  });
}

TEST(Pin, RefusesMemoryOfAFile) {
  EngineRun run(1);
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  ASSERT_NE(memory, MAP_FAILED);
  const Status status = run.engine->pin(memory, 4096);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("move_test"));
  munmap(memory, 4096);
  run.end();
}

// A page of nobody's between two of a file.
TEST(Pin, LooksForFilesInTheMemoryAndNotBesideIt) {
  EngineRun run(1);
  run.more_pinned_bytes = 4096;
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  void* const whole = mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(whole, MAP_FAILED);
  std::byte* const first = static_cast<std::byte*>(whole);
  std::byte* const middle = first + 4096;
  std::byte* const last = middle + 4096;
  for (std::byte* const one : {first, last}) {
    ASSERT_EQ(mmap(one, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0), one);
  }
  close(file);
  EXPECT_TRUE(run.engine->pin(middle, 4096));
  EXPECT_TRUE(run.engine->unpin(middle));
  for (const auto& [memory, size_bytes] :
       {std::pair{middle - 1, std::size_t{1}}, std::pair{middle - 1, std::size_t{4097}},
        std::pair{middle, std::size_t{4097}}, std::pair{last, std::size_t{1}}}) {
    const Status status = run.engine->pin(memory, size_bytes);
    ASSERT_FALSE(status);
    // The message holds the whole name and nothing more.
    EXPECT_THAT(status.error().message, HasSubstr("/move_test, and a file cannot be page-locked"));
  }
  munmap(whole, 3 * 4096);
  run.end();
}

// Shared memory of every kind is listed with a file, too, but its pages are nobody else's.
TEST(Pin, TakesSharedMemory) {
  EngineRun run(1);
  const auto expect_taken = [&](void* memory, const char* what) {
    ASSERT_NE(memory, MAP_FAILED) << what;
    run.more_pinned_bytes = 4096;
    const Status status = run.engine->pin(memory, 4096);
    EXPECT_TRUE(status) << what << ": " << (status ? "" : status.error().message);
    if (!status) return;
    EXPECT_TRUE(run.engine->unpin(memory)) << what;
  };
  const auto mapped = [](int file) {
    EXPECT_EQ(ftruncate(file, 4096), 0);
    void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory;
  };
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  expect_taken(memory, "/dev/zero");
  munmap(memory, 4096);
  memory = mapped(memfd_create("pinned", MFD_CLOEXEC));
  expect_taken(memory, "/memfd:");
  munmap(memory, 4096);
  const std::string name = "/turnpike_pin_" + std::to_string(getpid());
  memory = mapped(shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  shm_unlink(name.c_str());
  expect_taken(memory, "/dev/shm/");
  munmap(memory, 4096);
  const int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  memory = shmat(segment, nullptr, 0);
  shmctl(segment, IPC_RMID, nullptr);
  expect_taken(memory, "/SYSV");
  shmdt(memory);
  run.end();
}

TEST(Pin, SaysWhyTheSystemRefuses) {
  EngineRun run(1);
  run.simulation.fail("mem_host_register", 1, 2);
  std::vector<std::byte> memory(4096);
  const Status status = run.engine->pin(memory.data(), memory.size());
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("page-locking 4096 bytes failed"));
  run.more_pinned_bytes = 4096;
  EXPECT_TRUE(run.engine->pin(memory.data(), memory.size()));
  EXPECT_TRUE(run.engine->unpin(memory.data()));
  run.end();
}

TEST(Pin, NamesTheLimitOfTheSystemWhereThereIsOne) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const auto refusal_under = [&](rlim_t limit) {
    const rlimit changed{limit, before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &changed), 0);
    EngineRun run(1);
    run.simulation.fail("mem_host_register", 1, 2);
    std::vector<std::byte> memory(4096);
    const std::string text = run.engine->pin(memory.data(), memory.size()).error().message;
    run.end();
    return text;
  };
  EXPECT_THAT(refusal_under(4096), HasSubstr("bytes failed (ulimit -l is 4 KiB): "));
  if (before.rlim_max == RLIM_INFINITY) {
    EXPECT_THAT(refusal_under(RLIM_INFINITY), Not(HasSubstr("ulimit")));
  }
  setrlimit(RLIMIT_MEMLOCK, &before);
}

}  // namespace
}  // namespace turnpike::move
