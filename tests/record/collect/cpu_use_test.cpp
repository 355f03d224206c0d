// How many cores were busy, by the files of a system that a test makes up.
#include "record/collect/cpu_use.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace turnpike::record {
namespace {

int first_core() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  int core = 0;
  while (core < CPU_SETSIZE - 1 && !CPU_ISSET(core, &cores)) ++core;
  return core;
}

class CpuUseTest : public testing::Test {
 protected:
  CpuUseTest() {
    std::string pattern = testing::TempDir() + "cpu_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    use_ = CpuUse({.stat = folder_ / "stat", .own_group = folder_ / "cgroup", .groups = folder_ / "groups"});
  }
  ~CpuUseTest() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  // Of a core of ours and of one that no process may use.
  void put_ticks(int user, int system, int idle, int waiting, int stolen) const {
    put("stat", "cpu  9 9 9 9 9 9 9 9 0 0\ncpu" + std::to_string(first_core()) + ' ' + std::to_string(user) + " 0 " +
                    std::to_string(system) + ' ' + std::to_string(idle) + ' ' + std::to_string(waiting) + " 0 0 " +
                    std::to_string(stolen) + " 7 7\ncpu99999 9 9 9 9 9 9 9 9 0 0\nintr 1 2 3\n");
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
  EXPECT_EQ(text(), "cores=1 busy=0.20") << "20 of 100 ticks";
}

TEST_F(CpuUseTest, IsUnknownWithoutALookAndWhereNothingIsCounted) {
  put_ticks(0, 0, 0, 0, 0);
  EXPECT_EQ(text(), "absent");
  use_.look();
  EXPECT_EQ(text(), "absent");
  std::filesystem::remove(folder_ / "stat");
  EXPECT_EQ(text(), "absent");
}

TEST_F(CpuUseTest, BeginsAnewAtARestart) {
  put_ticks(0, 0, 0, 0, 0);
  use_.look();
  put_ticks(100, 0, 0, 0, 0);
  use_.restart();
  EXPECT_EQ(text(), "absent");
  use_.look();
  put_ticks(100, 0, 100, 0, 0);
  EXPECT_EQ(text(), "cores=1 busy=0.00");
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

TEST_F(CpuUseTest, IsThatOfTheCoresWhereTheGroupMayUseThemAll) {
  put_ticks(0, 0, 0, 0, 0);
  put("cgroup", "0::/\n");
  put("groups/cpu.max", "99900000 100000\n");
  put("groups/cpu.stat", "usage_usec 1000\n");
  use_.look();
  put_ticks(50, 0, 50, 0, 0);
  EXPECT_EQ(text(), "cores=1 busy=0.50");
}

TEST_F(CpuUseTest, IsKnownHere) {
  use_ = CpuUse();
  use_.look();
  while (text() == "absent") {
  }
  EXPECT_TRUE(text().starts_with("cores=")) << text();
}

}  // namespace
}  // namespace turnpike::record
