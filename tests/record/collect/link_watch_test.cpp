// What is noted of GPUs' links, from folders that look like the system's and from an NVML that answers what a test
// wants.
#include "record/collect/link_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "trace/format.h"

namespace turnpike::record {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct FakeNvml {
  int init_code = 0;
  int find_code = 0;
  unsigned int generation = 4;
  int open_sessions = 0;
  std::string asked_for;
};
FakeNvml g_nvml;

cuda::Nvml fake_nvml() {
  cuda::Nvml nvml;
  nvml.init = [](unsigned int flags) {
    // With the flag that opens no GPU, drivers have no handle for one.
    EXPECT_EQ(flags, cuda::kNvmlAttach);
    g_nvml.open_sessions += g_nvml.init_code == 0;
    return g_nvml.init_code;
  };
  nvml.shutdown = [] { return --g_nvml.open_sessions, 0; };
  nvml.device_by_bus_id = [](const char* bus_id, nvmlDevice_st**) {
    g_nvml.asked_for = bus_id;
    return g_nvml.find_code;
  };
  nvml.current_generation = [](nvmlDevice_st*, unsigned int* value) { return *value = g_nvml.generation, 0; };
  nvml.current_width = [](nvmlDevice_st*, unsigned int* value) { return *value = 8, 0; };
  nvml.card_generation = [](nvmlDevice_st*, unsigned int* value) { return *value = 5, 0; };
  nvml.max_width = [](nvmlDevice_st*, unsigned int* value) { return *value = 16, 0; };
  nvml.nvlink_state = [](nvmlDevice_st*, unsigned int link, int* is_active) {
    *is_active = link % 2 == 0;
    return link < 4 ? 0 : 3;
  };
  return nvml;
}

class LinkWatchTest : public testing::Test {
 protected:
  LinkWatchTest() {
    g_nvml = FakeNvml();
    std::string pattern = testing::TempDir() + "link_watch_XXXXXX";
    root_ = mkdtemp(pattern.data());
    folder_ = root_ / "bus/pci/devices/0001:41:00.0";
    std::filesystem::create_directories(folder_);
    write("max_link_speed", "32.0 GT/s PCIe");
    write("max_link_width", "16");
    write("numa_node", "1");
    link("2.5 GT/s PCIe", "8");
  }
  ~LinkWatchTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text << "\n"; }
  void link(const std::string& speed, const std::string& width) {
    write("current_link_speed", speed);
    write("current_link_width", width);
  }
  static std::string text_of(const LinkWatch& watch, const std::string& key = "link.3") {
    Metadata metadata;
    watch.put(metadata);
    return metadata[key];
  }

  const PciAddress kAddress{1, 0x41, 0};
  std::filesystem::path root_, folder_;
};

TEST_F(LinkWatchTest, NotesTheHighestOfAllReads) {
  LinkWatch watch(root_);
  watch.add(3, kAddress);
  EXPECT_EQ(text_of(watch), "from=sysfs generation=1 width=8 max_generation=5 max_width=16 busy_reads=0");
  link("16.0 GT/s PCIe", "16");
  watch.read(true);
  link("2.5 GT/s PCIe", "8");
  watch.read(false);
  EXPECT_EQ(text_of(watch), "from=sysfs generation=4 width=16 max_generation=5 max_width=16 busy_reads=1");
  EXPECT_EQ(watch.numa_node(3), 1);
  EXPECT_FALSE(watch.has_gaps());
}

TEST_F(LinkWatchTest, ReadsNoMoreOnceTheLinkWasSeenAtItsBestWhileCopiesRan) {
  LinkWatch watch(root_);
  link("32.0 GT/s PCIe", "16");
  watch.add(3, kAddress);
  for (int turn = 0; turn < 5; ++turn) watch.read(true);
  EXPECT_THAT(text_of(watch), HasSubstr("busy_reads=1"));
}

TEST_F(LinkWatchTest, KnowsEveryGeneration) {
  const char* speeds[] = {"2.5 GT/s PCIe",  "5.0 GT/s PCIe",  "8.0 GT/s PCIe",
                          "16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe"};
  for (int generation = 1; generation <= 6; ++generation) {
    link(speeds[generation - 1], "4");
    LinkWatch watch(root_);
    watch.add(3, kAddress);
    EXPECT_THAT(text_of(watch), HasSubstr(" generation=" + std::to_string(generation) + " width=4 "));
  }
}

TEST_F(LinkWatchTest, SaysThatItIsUnknownWhereTheSystemHidesIt) {
  LinkWatch watch(root_);
  watch.add(3, {0, 0x99, 0});
  EXPECT_THAT(text_of(watch), StartsWith("unknown: no PCIe link at "));
  EXPECT_EQ(watch.numa_node(3), trace::kUnknownNode);
  EXPECT_EQ(watch.numa_node(4), trace::kUnknownNode);
  watch.fill_gaps(Error{"libnvidia-ml.so.1 is not there"});
  EXPECT_THAT(text_of(watch), HasSubstr("0000:99:00.0/, and libnvidia-ml.so.1 is not there"));
}

TEST_F(LinkWatchTest, BelievesWidthsUpToThatOfTheStandard) {
  for (const char* width : {"1", "32"}) {
    link("2.5 GT/s PCIe", width);
    LinkWatch watch(root_);
    watch.add(3, kAddress);
    EXPECT_FALSE(watch.has_gaps()) << width;
    EXPECT_THAT(text_of(watch), HasSubstr(std::string(" width=") + width + " "));
  }
  link("2.5 GT/s PCIe", "33");
  LinkWatch watch(root_);
  watch.add(3, kAddress);
  EXPECT_TRUE(watch.has_gaps());
}

TEST_F(LinkWatchTest, BelievesNoWidthOfADeviceWithoutALink) {
  write("numa_node", "-1");
  for (const char* width : {"0", "255", "63", ""}) {
    link("Unknown", width);
    LinkWatch watch(root_);
    watch.add(3, kAddress);
    EXPECT_TRUE(watch.has_gaps()) << width;
    EXPECT_EQ(watch.numa_node(3), trace::kUnknownNode);
  }
}

TEST_F(LinkWatchTest, AsksNvmlForWhatIsHidden) {
  LinkWatch watch(root_);
  watch.add(3, {1, 0x99, 2});
  watch.fill_gaps(fake_nvml());
  EXPECT_EQ(text_of(watch), "from=nvml generation=4 width=8 max_generation=5 max_width=16 busy_reads=1 nvlinks=2");
  EXPECT_EQ(g_nvml.asked_for, "00000001:99:02.0");
  EXPECT_EQ(g_nvml.open_sessions, 0);
}

TEST_F(LinkWatchTest, DoesNotAskNvmlForWhatTheSystemShows) {
  LinkWatch watch(root_);
  watch.add(3, kAddress);
  watch.fill_gaps(fake_nvml());
  EXPECT_THAT(text_of(watch), StartsWith("from=sysfs"));
}

TEST_F(LinkWatchTest, SaysWhyNvmlDidNotHelp) {
  const auto text = [&] {
    LinkWatch watch(root_);
    watch.add(3, {0, 0x99, 0});
    watch.fill_gaps(fake_nvml());
    EXPECT_EQ(g_nvml.open_sessions, 0);
    return text_of(watch);
  };
  g_nvml.find_code = 6;
  EXPECT_THAT(text(), HasSubstr(", and NVML has no GPU 00000000:99:00.0"));
  g_nvml = FakeNvml();
  g_nvml.generation = 0;
  EXPECT_THAT(text(), HasSubstr(", and NVML does not tell"));
  g_nvml.init_code = 9;
  EXPECT_THAT(text(), HasSubstr(", and NVML does not start"));
}

}  // namespace
}  // namespace turnpike::record
