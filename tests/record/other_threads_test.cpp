// What is said of a process's threads, by a folder that stands for /proc/self/task.
#include "record/other_threads.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace turnpike::record {
namespace {

namespace fs = std::filesystem;

class OtherThreads : public testing::Test {
 protected:
  OtherThreads() : tasks_(fs::path(testing::TempDir()) / ("tasks-" + std::to_string(getpid()))) {
    fs::create_directories(tasks_);
  }
  ~OtherThreads() override { fs::remove_all(tasks_); }

  // As the system writes it.
  static void write(const fs::path& status, const std::string& name, char state) {
    std::ofstream(status) << "11 (" << name << ") " << state << " 1 2 3 4 5 6 7\n";
  }
  void set(std::uint32_t id, const std::string& name, char state) const {
    fs::create_directories(folder(id));
    write(folder(id) / "stat.new", name, state);
    fs::rename(folder(id) / "stat.new", folder(id) / "stat");
  }
  fs::path folder(std::uint32_t id) const { return tasks_ / std::to_string(id); }
  bool may_call(const std::vector<std::uint32_t>& heard = {}) const { return may_others_call_cuda(heard, tasks_); }

  fs::path tasks_;
};

TEST_F(OtherThreads, AreNoneInAFolderThatIsEmpty) {
  EXPECT_FALSE(may_call());
  EXPECT_FALSE(may_call({5, 7})) << "they have ended";
}

TEST_F(OtherThreads, CallNothingWhileTheySleepOrWhenTheyHaveEnded) {
  set(11, "python", 'S');
  set(12, "python", 'Z');
  set(13, "python", 'X');
  set(14, "pt_main_thread", 'S');
  EXPECT_FALSE(may_call());
}

TEST_F(OtherThreads, MayCallWhileTheyRunOrCannotBeInterrupted) {
  for (const char state : {'R', 'D', 'T', 't', 'I'}) {
    set(11, "python", state);
    EXPECT_TRUE(may_call()) << state;
  }
}

TEST_F(OtherThreads, AreWaitedForWhileTheyRun) {
  fs::create_directories(folder(11));
  const std::string status = folder(11) / "stat";
  ASSERT_EQ(mkfifo(status.c_str(), 0600), 0);
  // It runs when it is first looked at, and no longer when it is looked at again.
  std::thread runs([&] {
    std::ofstream first(status);  // opens when it is opened to be read
    set(11, "python", 'S');
    first << "11 (python) R 1 2 3\n";
  });
  EXPECT_FALSE(may_call());
  runs.join();
}

TEST_F(OtherThreads, MayCallAtAnyTimeIfTheyHaveBefore) {
  set(11, "python", 'S');
  set(12, "python", 'S');
  EXPECT_TRUE(may_call({12}));
  EXPECT_TRUE(may_call({3, 12, 4}));
  EXPECT_FALSE(may_call({13, 1}));
}

TEST_F(OtherThreads, OfAutogradCallOnlyWhileTheyRun) {
  set(11, "pt_autograd_0", 'S');
  EXPECT_FALSE(may_call());
  EXPECT_FALSE(may_call({11}));
  set(11, "pt_autograd_0", 'R');
  EXPECT_TRUE(may_call({11}));
}

TEST_F(OtherThreads, OfPyTorchAndNcclMayCallAtAnyTime) {
  for (const char* name : {"pt_nccl_watchdg", "pt_pin_memory", "nccl-helper", "my nccl", "NCCL progress"}) {
    set(11, name, 'S');
    EXPECT_TRUE(may_call()) << name;
  }
}

TEST_F(OtherThreads, HaveNamesThatLookLikeStates) {
  set(11, "a) R (b", 'S');
  EXPECT_FALSE(may_call());
  set(11, ") S ", 'R');
  EXPECT_TRUE(may_call());
  set(11, "(pt_nccl", 'S');
  EXPECT_TRUE(may_call()) << "the name has nccl in it";
  set(11, "two\nlines", 'S');
  EXPECT_TRUE(may_call()) << "its state is on the second line";
}

TEST_F(OtherThreads, DoNotIncludeTheCallingOne) {
  const auto self = static_cast<std::uint32_t>(syscall(SYS_gettid));
  set(self, "python", 'R');
  EXPECT_FALSE(may_call({self}));
}

TEST_F(OtherThreads, MayCallIfTheirStateCannotBeRead) {
  fs::create_directories(folder(11));
  EXPECT_TRUE(may_call()) << "nothing is there to read";
  for (const char* text : {"", "\n", "11", "11 (python", "11 (python)", "11 (python) "}) {
    std::ofstream(folder(11) / "stat") << text;
    EXPECT_TRUE(may_call()) << text;
  }
  fs::remove(folder(11) / "stat");
  fs::create_directory(folder(11) / "stat");
  EXPECT_TRUE(may_call()) << "it cannot be read";
}

TEST_F(OtherThreads, AreUnknownIfTheFolderCannotBeRead) {
  EXPECT_TRUE(may_others_call_cuda({}, tasks_ / "none"));
}

TEST_F(OtherThreads, MayVanishWhileItLooks) {
  // The entry is listed, but its target does not exist.
  fs::create_symlink(tasks_ / "none", folder(11));
  EXPECT_FALSE(may_call());
  EXPECT_FALSE(may_call({11}));
}

TEST_F(OtherThreads, MayComeAndGoWhileItLooks) {
  std::atomic<bool> is_over{false};
  const fs::path aside = tasks_.string() + "-aside";
  std::thread others([&] {
    for (std::uint32_t id = 1000; !is_over; ++id) {
      // Each comes and goes at once, as those of the system.
      fs::create_directories(aside);
      write(aside / "stat", "python", 'S');
      fs::rename(aside, folder(id));
      fs::rename(folder(id), aside);
    }
  });
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(may_call({5}));
  set(50, "pt_nccl_watchdg", 'S');
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(may_call());
  is_over = true;
  others.join();
  fs::remove_all(aside);
}

// While a thread ends, Linux may leave out those that are listed behind it.
TEST(OtherThreadsOfThisProcess, AreSeenWhileThoseBeforeThemEnd) {
  constexpr int kRounds = 300;
  int missed = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> may_end{false};
    std::atomic<bool> is_over{false};
    std::atomic<std::uint32_t> heard{0};
    std::thread ending([&] {
      while (!may_end) {
      }
    });
    std::thread asleep([&] {
      heard = static_cast<std::uint32_t>(syscall(SYS_gettid));
      is_over.wait(false);
    });
    while (heard == 0) std::this_thread::yield();
    may_end = true;
    if (!may_others_call_cuda({heard})) ++missed;
    is_over = true;
    is_over.notify_all();
    ending.join();
    asleep.join();
  }
  EXPECT_EQ(missed, 0) << "of " << kRounds;
}

}  // namespace
}  // namespace turnpike::record
