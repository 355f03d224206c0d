// How many cores were busy, by the files of a system that a test makes up.
#include "record/collect/cpu_use.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace turnpike::record {
namespace {

cpu_set_t allowed_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

int count_of_cores() {
  const cpu_set_t allowed = allowed_cores();
  return CPU_COUNT(&allowed);
}

class CpuUseTest : public testing::Test {
 protected:
  CpuUseTest() {
    std::string pattern = testing::TempDir() + "cpu_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    use_ = CpuUse({.stat = folder_ / "stat", .own_groups = folder_ / "cgroup", .groups = folder_ / "groups"});
  }
  ~CpuUseTest() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  // So many of each core that we may use, and others of one that no process may use.
  void put_ticks(int user, int system, int idle, int waiting, int stolen) const {
    const cpu_set_t allowed = allowed_cores();
    std::string text = "cpu  9 9 9 9 9 9 9 9 0 0\n";
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (!CPU_ISSET(core, &allowed)) continue;
      text += "cpu" + std::to_string(core);
      for (const int ticks : {user, 0, system, idle, waiting, 0, 0, stolen, 7, 7}) text += ' ' + std::to_string(ticks);
      text += '\n';
    }
    put("stat", text + "cpu99999 9 9 9 9 9 9 9 9 0 0\nintr 1 2 3\n");
  }
  // The first look of a process in a group with this quota.
  void look_in_group(const std::string& quota) {
    put_ticks(0, 0, 0, 0, 0);
    put("cgroup", "0::/\n");
    put("groups/cpu.max", quota + " 100000\n");
    put("groups/cpu.stat", "usage_usec 1000\n");
    use_.look();
  }
  // What is put where a share of each core's time was busy.
  static std::string text_of(double busy_share) {
    char text[64];
    std::snprintf(text, sizeof text, "cores=%d busy=%.2f", count_of_cores(), busy_share * count_of_cores());
    return text;
  }
  std::string text() const {
    Metadata metadata;
    use_.put(metadata);
    return metadata.contains("cpu") ? metadata["cpu"] : "absent";
  }

  std::filesystem::path folder_;
  CpuUse use_;
};

TEST_F(CpuUseTest, IsThatSinceTheFirstLook) {
  put_ticks(100, 100, 1000, 100, 50);
  use_.look();
  put_ticks(110, 105, 1060, 120, 55);
  use_.look();
  EXPECT_EQ(text(), text_of(0.4)) << "40 of 100 ticks: those that waited for a disk, too";
}

TEST_F(CpuUseTest, IsUnknownWithoutALookAndWhereNothingIsCounted) {
  put_ticks(0, 0, 0, 0, 0);
  EXPECT_EQ(text(), "absent");
  use_.look();
  EXPECT_EQ(text(), "absent");
  std::filesystem::remove(folder_ / "stat");
  EXPECT_EQ(text(), "absent");
}

TEST_F(CpuUseTest, IsThatOfTheGroupThatMayUseTheLeast) {
  put_ticks(0, 0, 0, 0, 0);
  put("cgroup", "5:devices:/x\n0::/pods/mine\n");
  put("groups/cpu.max", "max 100000\n");
  put("groups/pods/cpu.max", "25000 100000\n");
  put("groups/pods/cpu.stat", "nr_periods 3\nusage_usec 1000\n");
  put("groups/pods/mine/cpu.max", "50000 100000\n");
  put("groups/pods/mine/cpu.stat", "usage_usec 1000\n");
  use_.look();
  put_ticks(0, 0, 100, 0, 0);
  EXPECT_EQ(text(), "cores=0.25 busy=0.00") << "the group used nothing since";
  put("groups/pods/cpu.stat", "usage_usec 900000000000\n");
  EXPECT_EQ(text(), "cores=0.25 busy=0.25");
}

TEST_F(CpuUseTest, IsNoLessThanWhatTheMachineHasLeft) {
  look_in_group("50000");
  put_ticks(100, 0, 0, 0, 0);
  EXPECT_EQ(text(), "cores=0.5 busy=0.50") << "others took all of it";
}

// The older version: its quota is not read.
TEST_F(CpuUseTest, IsUnknownWhereAnOldQuotaMayHold) {
  const auto told = [this](const std::string& own_groups) {
    put("cgroup", own_groups);
    put_ticks(0, 0, 0, 0, 0);
    use_ = CpuUse({folder_ / "stat", folder_ / "cgroup", folder_ / "groups"});
    use_.look();
    put_ticks(0, 0, 100, 0, 0);
    return text();
  };
  EXPECT_EQ(told("1:cpu:/\n0::/\n"), text_of(0)) << "the root has none";
  EXPECT_EQ(told("2:cpuset:/x\n0::/\n"), text_of(0));
  EXPECT_EQ(told("4:cpu,cpuacct:/docker/1\n0::/\n"), "absent") << "nothing is known of it";
  put("groups/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(told("4:cpu,cpuacct:/docker/1\n0::/\n"), text_of(0));
  put("groups/cpu,cpuacct/docker/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(told("4:cpu,cpuacct:/docker/1\n0::/\n"), "absent");
}

TEST_F(CpuUseTest, IsUnknownWhereTheCoresAreNotThoseThatWeMayUse) {
  put("stat", "cpu99999 9 9 9 9 9 9 9 9 0 0\n");
  use_.look();
  put("stat", "cpu99999 19 9 9 9 9 9 9 9 0 0\n");
  EXPECT_EQ(text(), "absent");
}

TEST_F(CpuUseTest, IsThatOfTheCoresWhereTheGroupMayUseThemAll) {
  look_in_group("99900000");
  put_ticks(50, 0, 50, 0, 0);
  EXPECT_EQ(text(), text_of(0.5));
}

TEST_F(CpuUseTest, IsWhatThisMachineSays) {
  use_ = CpuUse();
  use_.look();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (text() == "absent" && std::chrono::steady_clock::now() < until) {
  }
  EXPECT_TRUE(text().starts_with("cores=")) << text();
}

}  // namespace
}  // namespace turnpike::record
