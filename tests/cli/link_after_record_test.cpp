// When `turnpike record` measures the link, what it keeps and says, and that it never hangs on a driver.
#include "cli/link_after_record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <filesystem>
#include <fstream>

#include "machine/link_cache.h"
#include "move/idle_links.h"

namespace turnpike::move {

bool is_busy = false;
bool does_hang = false;
bool does_crash = false;
bool has_gpu = true;

// In the place of the one that needs a GPU.
Result<IdleLinks> measure_idle_links() {
  if (does_crash) abort();
  if (does_hang) pause();
  if (is_busy) return Error{"GPU 0 is in use"};
  IdleLinks measured;
  if (!has_gpu) return measured;
  measured.links = {{.device = 0,
                     .device_name = "GPU A",
                     .h2d_pinned_gbps = {54, 55.25, 56},
                     .d2h_pinned_gbps = {52, 53.75, 54},
                     .h2d_latency_us = {},
                     .d2h_latency_us = {},
                     .d2h_cached_gbps = {30, 31.5, 32}}};
  measured.took = std::chrono::milliseconds(640);
  return measured;
}

}  // namespace turnpike::move

namespace turnpike::cli {
namespace {

using std::chrono::milliseconds;

class LinkAfterRecord : public testing::Test {
 protected:
  LinkAfterRecord() {
    move::is_busy = move::does_hang = move::does_crash = false;
    move::has_gpu = true;
    std::string pattern = testing::TempDir() + "link_after_record_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~LinkAfterRecord() override { std::filesystem::remove_all(folder_); }

  static std::string host() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    gethostname(name.data(), HOST_NAME_MAX);
    return name.data();
  }
  static std::size_t kept() { return machine::read_link_cache(machine::link_cache_path())->size(); }

  std::filesystem::path folder_;
};

TEST_F(LinkAfterRecord, IsMeasuredOnceAMachine) {
  const std::string said = measure_link_once();
  EXPECT_EQ(said.find("measured the link of GPU A: 55.2 GB/s up, 53.8 down (once for this machine, in 0.64 s; "), 0u)
      << said;
  EXPECT_NE(said.find("--no-link forbids it"), std::string::npos);
  const auto links = machine::read_link_cache(machine::link_cache_path());
  ASSERT_EQ(links->size(), 1u);
  EXPECT_EQ(links->front().host, host());
  EXPECT_EQ(links->front().h2d_pinned_gbps, 55.25);
  EXPECT_EQ(links->front().d2h_pinned_gbps, 53.75);
  EXPECT_EQ(links->front().d2h_cached_gbps, 31.5);
  EXPECT_EQ(measure_link_once(), "");
}

TEST_F(LinkAfterRecord, IsMeasuredBesideThoseOfOtherMachines) {
  ASSERT_TRUE(machine::keep_links(machine::link_cache_path(), {{"GPU A", "elsewhere", 1, 2, ""}}));
  EXPECT_NE(measure_link_once(), "");
  EXPECT_EQ(kept(), 2u);
}

TEST_F(LinkAfterRecord, IsNotMeasuredWhereBenchDid) {
  ASSERT_TRUE(machine::keep_links(machine::link_cache_path(), {{"GPU A", host(), 1, 2, ""}}));
  EXPECT_EQ(measure_link_once(), "");
  EXPECT_EQ(kept(), 1u);
}

TEST_F(LinkAfterRecord, IsNotMeasuredWhileAnotherRecordDoes) {
  std::filesystem::create_directories(folder_ / "turnpike");
  const int lock = open((machine::link_cache_path() + ".lock").c_str(), O_CREAT | O_RDWR, 0666);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  EXPECT_EQ(measure_link_once(), "");
  EXPECT_EQ(kept(), 0u);
  close(lock);
  EXPECT_NE(measure_link_once(), "");
}

TEST_F(LinkAfterRecord, KeepsNothingWhereAGpuIsInUse) {
  move::is_busy = true;
  EXPECT_EQ(measure_link_once(), "the link was not measured: GPU 0 is in use (`turnpike bench link` does)");
  EXPECT_EQ(kept(), 0u);
}

TEST_F(LinkAfterRecord, SaysNothingWhereThereIsNoGpu) {
  move::has_gpu = false;
  EXPECT_EQ(measure_link_once(), "");
}

TEST_F(LinkAfterRecord, DoesNotWaitForADriverThatHangs) {
  move::does_hang = true;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(measure_link_once(milliseconds(100)), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(LinkAfterRecord, IsNotTriedAgainForAWhileAfterAFailure) {
  move::is_busy = true;
  EXPECT_NE(measure_link_once(), "");
  move::is_busy = false;
  EXPECT_EQ(measure_link_once(), "");
  const std::string lock = machine::link_cache_path() + ".lock";
  std::filesystem::last_write_time(lock, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(11));
  EXPECT_NE(measure_link_once(), "");
  EXPECT_EQ(std::filesystem::file_size(lock), 0u);
}

TEST_F(LinkAfterRecord, OutlivesADriverThatCrashes) {
  move::does_crash = true;
  EXPECT_EQ(measure_link_once(), "");
}

TEST_F(LinkAfterRecord, LeavesAFileAloneThatItDoesNotUnderstand) {
  std::filesystem::create_directories(folder_ / "turnpike");
  std::ofstream(machine::link_cache_path()) << "mine";
  EXPECT_EQ(measure_link_once(), "");
  std::ifstream file(machine::link_cache_path());
  std::string text;
  file >> text;
  EXPECT_EQ(text, "mine");
}

TEST_F(LinkAfterRecord, NeedsAFolderToKeepItIn) {
  unsetenv("XDG_CACHE_HOME");
  const std::string home = getenv("HOME") == nullptr ? "" : getenv("HOME");
  unsetenv("HOME");
  EXPECT_EQ(measure_link_once(), "");
  setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace turnpike::cli
