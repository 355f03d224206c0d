// What `turnpike bench link` prints and keeps of a measurement.
#include "cli/bench_link.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "cli/commands.h"
#include "machine/link_cache.h"
#include "move/link_rate.h"

namespace turnpike::move {
namespace {

std::optional<int> asked_device;
bool has_driver = true;

// The values of a device, all different: 100 of the first, 200 of the second.
LinkRate measured(int device, const std::string& name, double base) {
  return {.device = device,
          .device_name = name,
          .h2d_pinned_gbps = {base + 1.125, base + 2.25, base + 3.375},
          .d2h_pinned_gbps = {base + 4.125, base + 5.25, base + 6.375},
          .h2d_latency_us = {base + 7.125, base + 8.25, base + 9.375},
          .d2h_latency_us = {base + 10.125, base + 11.25, base + 12.375},
          .d2h_cached_gbps = {base + 13.125, base + 14.25, base + 15.375}};
}

}  // namespace

// In the place of the one that needs a GPU.
Result<std::vector<LinkRate>> measure_links(std::optional<int> device) {
  asked_device = device;
  if (!has_driver) return Error{"no CUDA driver on this machine"};
  return std::vector{measured(0, "GPU A", 100), measured(1, "GPU B", 200), measured(2, "GPU A", 50)};
}

}  // namespace turnpike::move

namespace turnpike::cli {
namespace {

class BenchLink : public testing::Test {
 protected:
  BenchLink() {
    std::string pattern = testing::TempDir() + "bench_link_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    move::has_driver = true;
  }
  ~BenchLink() override { std::filesystem::remove_all(folder_); }

  std::string printed(const BenchLinkOptions& options, int code = kFine) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(bench_link(options), code);
    return testing::internal::GetCapturedStdout();
  }

  std::filesystem::path folder_;
};

TEST_F(BenchLink, PrintsEachDevice) {
  const std::string text = printed({});
  EXPECT_EQ(text.substr(0, text.find("device 1")), R"(device 0: GPU A
                  256 MiB, pinned                   4 KiB, pinned
  host to device    102.25 GB/s (101.12 to 103.38)    108.25 us (107.12 to 109.38)
  device to host    105.25 GB/s (104.12 to 106.38)    111.25 us (110.12 to 112.38)
  device to host    114.25 GB/s (113.12 to 115.38)  into 4 MiB of pinned memory that the CPU has read since the last copy
)");
  EXPECT_NE(text.find("device 1: GPU B\n"), std::string::npos);
  EXPECT_NE(text.find("  host to device    202.25 GB/s (201.12 to 203.38)    208.25 us"), std::string::npos);
  EXPECT_TRUE(text.ends_with("Median of 9 copies, with quartiles; timed on the device; the bytes were compared.\n"));
}

TEST_F(BenchLink, PrintsTheSameAsJson) {
  const std::string text = printed({.device = 1, .is_json = true});
  EXPECT_EQ(move::asked_device, 1);
  EXPECT_EQ(text.substr(0, text.find("    {\n      \"device\": 1")), R"({
  "schema": 1,
  "size_bytes": 268435456,
  "latency_size_bytes": 4096,
  "cached_size_bytes": 4194304,
  "samples": 9,
  "links": [
    {
      "device": 0,
      "device_name": "GPU A",
      "h2d_pinned_gbps": {
        "median": 102.25,
        "low_quartile": 101.125,
        "high_quartile": 103.375
      },
      "d2h_pinned_gbps": {
        "median": 105.25,
        "low_quartile": 104.125,
        "high_quartile": 106.375
      },
      "h2d_latency_us": {
        "median": 108.25,
        "low_quartile": 107.125,
        "high_quartile": 109.375
      },
      "d2h_latency_us": {
        "median": 111.25,
        "low_quartile": 110.125,
        "high_quartile": 112.375
      },
      "d2h_cached_gbps": {
        "median": 114.25,
        "low_quartile": 113.125,
        "high_quartile": 115.375
      }
    },
)");
}

TEST_F(BenchLink, KeepsTheFastestOfEachModel) {
  printed({});
  EXPECT_EQ(move::asked_device, std::nullopt);
  const auto links = machine::read_link_cache(machine::link_cache_path());
  ASSERT_TRUE(links);
  ASSERT_EQ(links->size(), 2u);
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), HOST_NAME_MAX);
  const machine::KeptLink* first = machine::find_link(*links, "GPU A", host.data());
  const machine::KeptLink* second = machine::find_link(*links, "GPU B", host.data());
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(first->h2d_pinned_gbps, 102.25);
  EXPECT_EQ(first->d2h_pinned_gbps, 105.25);
  EXPECT_EQ(first->d2h_cached_gbps, 114.25);
  EXPECT_EQ(second->h2d_pinned_gbps, 202.25);
  EXPECT_EQ(second->d2h_pinned_gbps, 205.25);
  ASSERT_EQ(first->date.size(), std::string("2026-11-22T00:00:00Z").size());
  EXPECT_EQ(first->date[10], 'T');
  EXPECT_EQ(first->date.back(), 'Z');
}

TEST_F(BenchLink, WhatCannotBeKeptIsSaidAndNoFailure) {
  std::filesystem::create_directories(folder_ / "turnpike");
  std::ofstream(folder_ / "turnpike" / "link.json") << "mine";
  testing::internal::CaptureStderr();
  EXPECT_NE(printed({}), "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("turnpike bench link: not kept for later reports: ")) << said;
  EXPECT_NE(said.find("link.json is damaged"), std::string::npos);
}

TEST_F(BenchLink, WithoutAPlaceToKeepItThatIsSaid) {
  unsetenv("XDG_CACHE_HOME");
  const std::string home = getenv("HOME") == nullptr ? "" : getenv("HOME");
  unsetenv("HOME");
  testing::internal::CaptureStderr();
  EXPECT_NE(printed({}), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "turnpike bench link: not kept for later reports: neither XDG_CACHE_HOME nor HOME is set\n");
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
}

TEST_F(BenchLink, WhatCannotBeMeasuredIsSaid) {
  move::has_driver = false;
  testing::internal::CaptureStderr();
  EXPECT_EQ(printed({}, kFailed), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "turnpike bench link: no CUDA driver on this machine\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace turnpike::cli
