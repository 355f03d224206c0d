// NVML is asked on a thread that is left behind where it hangs.
#include "record/collect/link_gaps.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace turnpike::record {
namespace {

std::atomic<int> g_nvml_loads{0};
std::atomic<bool> g_must_nvml_hang{false};
std::atomic<bool> g_is_nvml_hanging{false};

Result<cuda::Nvml> load_no_nvml() {
  ++g_nvml_loads;
  g_is_nvml_hanging = true;
  while (g_must_nvml_hang) std::this_thread::yield();
  g_is_nvml_hanging = false;
  return Error{"no NVML here"};
}

// One GPU that the system does not show.
LinkWatch unknown_link() {
  LinkWatch links("/nowhere");
  links.add(0, {0, 1, 0});
  return links;
}

std::string link_of(const LinkWatch& links) {
  Metadata metadata;
  links.put(metadata);
  return metadata["link.0"];
}

class LinkGapsTest : public testing::Test {
 protected:
  LinkGapsTest() { g_nvml_loads = 0; }
  LinkGaps gaps_{load_no_nvml};
  LinkWatch links_ = unknown_link();
};

TEST_F(LinkGapsTest, AsksOnceInARecording) {
  gaps_.ask(links_);
  gaps_.ask(links_);
  gaps_.fill(links_);
  EXPECT_NE(link_of(links_).find("no NVML here"), std::string::npos) << link_of(links_);
  EXPECT_EQ(g_nvml_loads, 1);
}

TEST_F(LinkGapsTest, LeavesTheGapsWhereNobodyAsked) {
  const std::string before = link_of(links_);
  gaps_.fill(links_);
  EXPECT_EQ(link_of(links_), before);
}

TEST_F(LinkGapsTest, GivesUpOnAnAnswerThatDoesNotCome) {
  g_must_nvml_hang = true;
  const std::string before = link_of(links_);
  gaps_.ask(links_);
  const auto start = std::chrono::steady_clock::now();
  gaps_.fill(links_);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(link_of(links_), before);
  g_must_nvml_hang = false;
  while (g_is_nvml_hanging) std::this_thread::yield();
}

}  // namespace
}  // namespace turnpike::record
