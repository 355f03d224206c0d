// A process with two GPUs that do different things: what the report says of each and of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/process_builder.h"
#include "durations.h"

namespace turnpike::analyze {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using trace::CallKind;
using trace::CopyKind;
using trace::MemoryKind;

const Site& site_at(const Report& report, const std::string& name) {
  for (const Site& site : report.sites) {
    if (site.site == name) return site;
  }
  ADD_FAILURE() << "nothing at " << name;
  static const Site none;
  return none;
}

const SyncSite& sync_at(const Report& report, const std::string& name) {
  for (const SyncSite& site : report.sync_sites) {
    if (site.site == name) return site;
  }
  ADD_FAILURE() << "nothing at " << name;
  static const SyncSite none;
  return none;
}

// 100 us. GPU 0 computes from 0 to 40 and from 60 to 70; GPU 1 from 50 to 100. Both get an upload from 30 to 55 whose
// call holds a thread of its own from 20 to 58. Then each is waited for.
Report two_gpus() {
  ProcessBuilder builder;
  builder.device(0, "A");
  builder.device(1, "B", 4096);
  const auto launch = [&](std::uint32_t correlation, std::uint32_t device, std::int64_t start_us, std::int64_t end_us) {
    builder.call({.kind = CallKind::kLaunch,
                  .start_ns = start_us * kUs,
                  .end_ns = start_us * kUs + 500,
                  .correlation = correlation,
                  .thread = kMainThread + device,
                  .device = device});
    builder.kernel({.start_ns = start_us * kUs, .end_ns = end_us * kUs, .correlation = correlation, .device = device});
  };
  launch(1, 0, 0, 40);
  launch(2, 0, 60, 70);
  launch(3, 1, 50, 100);
  for (std::uint32_t device = 0; device < 2; ++device) {
    builder.call({.start_ns = 20 * kUs,
                  .end_ns = 58 * kUs,
                  .correlation = 10 + device,
                  .stack = builder.line("train.py", 10 + device),
                  .thread = kMainThread + device,
                  .device = device});
    builder.copy({.start_ns = 30 * kUs,
                  .end_ns = 55 * kUs,
                  .correlation = 10 + device,
                  .bytes = 50'000 + 50'000 * device,
                  .device = device});
    builder.call({.kind = CallKind::kSynchronize,
                  .start_ns = 65 * kUs,
                  .end_ns = 95 * kUs,
                  .correlation = 20 + device,
                  .stack = builder.line("train.py", 20 + device),
                  .name = "cudaDeviceSynchronize",
                  .thread = kMainThread + device,
                  .device = device});
  }
  return builder.report();
}

TEST(TwoDevices, ExposeTheirCopiesEachForItself) {
  const Report report = two_gpus();
  const Site& first = site_at(report, "train.py:10");
  EXPECT_EQ(first.device_time_ns, 25 * kUs);
  EXPECT_EQ(first.exposed_ns, 15 * kUs);  // 40 to 55
  EXPECT_DOUBLE_EQ(*first.overlapped_pct, 40);
  EXPECT_EQ(first.host_blocked_ns, 38 * kUs);
  EXPECT_EQ(first.gpu_idle_ns, 3 * kUs);  // 55 to 58
  EXPECT_DOUBLE_EQ(*first.bandwidth_gbps, 2);
  const Site& second = site_at(report, "train.py:11");
  EXPECT_EQ(second.exposed_ns, 20 * kUs);  // 30 to 50
  EXPECT_DOUBLE_EQ(*second.overlapped_pct, 20);
  EXPECT_EQ(second.gpu_idle_ns, 10 * kUs);  // 20 to 30
  EXPECT_DOUBLE_EQ(*second.bandwidth_gbps, 4);
}

TEST(TwoDevices, IdleInTheirOwnSynchronisations) {
  const Report report = two_gpus();
  EXPECT_EQ(sync_at(report, "train.py:20").gpu_idle_ns, 25 * kUs);  // 70 to 95
  EXPECT_EQ(sync_at(report, "train.py:21").gpu_idle_ns, 0);
}

TEST(TwoDevices, RankTheSiteThatCostsMoreFirst) {
  const Report report = two_gpus();
  ASSERT_THAT(report.sites, SizeIs(2));
  EXPECT_EQ(report.sites[0].site, "train.py:11");  // 38 + 20 us against 38 + 15
}

TEST(TwoDevices, AddUpInTotalsAndInTheVerdict) {
  const Report report = two_gpus();
  const Total& uploads = report.totals[static_cast<std::size_t>(Direction::kHostToDevice)];
  EXPECT_EQ(uploads.count, 2u);
  EXPECT_EQ(uploads.bytes, 150'000u);
  EXPECT_EQ(uploads.device_time_ns, 50 * kUs);
  EXPECT_EQ(uploads.host_blocked_ns, 76 * kUs);
  EXPECT_DOUBLE_EQ(*uploads.bandwidth_gbps, 3);
  EXPECT_EQ(report.span_ns, 100 * kUs);
  // Of 200 us: kernels 50 and 50; copies alone 15 and 20; nothing 35 and 30.
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_busy_pct, 50);
  EXPECT_DOUBLE_EQ(*report.verdict.exposed_transfer_pct, 17.5);
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_idle_pct, 32.5);
  // Held by copies: 55 to 58 on GPU 0, and issuing work after that until 60; 20 to 30 on GPU 1. By waits: 70 to 95 on
  // GPU 0. The rest is launching.
  EXPECT_DOUBLE_EQ(report.verdict.idle->copies_pct, 7.5);
  EXPECT_DOUBLE_EQ(report.verdict.idle->syncs_pct, 12.5);
  EXPECT_DOUBLE_EQ(report.verdict.idle->input_pct, 0);
  EXPECT_DOUBLE_EQ(report.verdict.idle->launch_pct, 10);  // 0 to 20 on GPU 1
  EXPECT_DOUBLE_EQ(report.verdict.idle->quiet_pct, 2.5);  // 95 to 100 on GPU 0: no call after it
}

TEST(TwoDevices, AreListedByNumber) {
  const Report report = two_gpus();
  ASSERT_THAT(report.source.devices, SizeIs(2));
  EXPECT_EQ(report.source.devices[0].name, "A");
  EXPECT_EQ(report.source.devices[0].memory_bytes, 0u);
  EXPECT_EQ(report.source.devices[1].id, 1u);
  EXPECT_EQ(report.source.devices[1].memory_bytes, 4096u);
}

TEST(TwoDevices, MakeTheIdlingOfAnUnknownDeviceUnknown) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 10, .device = 0});
  builder.kernel({.start_ns = 0, .end_ns = 10, .device = 1});
  builder.call({.kind = CallKind::kSynchronize, .start_ns = 0, .end_ns = 30, .context = trace::kUnknownId});
  EXPECT_EQ(builder.report().sync_sites.at(0).gpu_idle_ns, std::nullopt);
  ProcessBuilder one;
  one.kernel({.start_ns = 0, .end_ns = 10, .device = 3});
  one.call({.kind = CallKind::kSynchronize, .start_ns = 0, .end_ns = 30, .context = trace::kUnknownId});
  EXPECT_EQ(one.report().sync_sites.at(0).gpu_idle_ns, 20);
}

// A copy between GPUs is work of the one whose record it is.
TEST(TwoDevices, ChargeACopyBetweenThemToTheOneThatCarriesItOut) {
  ProcessBuilder builder;
  builder.kernel({.start_ns = 0, .end_ns = 30, .device = 0});
  builder.kernel({.start_ns = 0, .end_ns = 100, .device = 1});
  builder.call({.start_ns = 0, .end_ns = 5, .correlation = 1, .device = 0});
  builder.copy({.start_ns = 10,
                .end_ns = 60,
                .correlation = 1,
                .bytes = 100,
                .kind = CopyKind::kPeerToPeer,
                .src = MemoryKind::kDevice,
                .device = 0,
                .src_device = 0,
                .dst_device = 1});
  const Report report = builder.report();
  const Site& site = report.sites.at(0);
  EXPECT_EQ(site.direction, Direction::kPeerToPeer);
  EXPECT_EQ(site.exposed_ns, 30);
  EXPECT_EQ(site.host_blocked_ns, 0);
  EXPECT_DOUBLE_EQ(*report.verdict.gpu_busy_pct, 65);
  EXPECT_DOUBLE_EQ(*report.verdict.exposed_transfer_pct, 15);
}

TEST(TwoDevices, KeepTheirStreamsApartInOneRow) {
  ProcessBuilder builder;
  const auto line = builder.line("train.py", 1);
  for (const std::uint32_t stream : {9u, 7u, 9u, trace::kUnknownId}) {
    builder.call({.start_ns = 0, .end_ns = 1, .correlation = stream, .stack = line});
    builder.copy({.start_ns = 0, .end_ns = 1, .correlation = stream, .device = stream % 2, .stream = stream});
  }
  EXPECT_THAT(builder.report().sites.at(0).streams, ElementsAre(7u, 9u));
}

}  // namespace
}  // namespace turnpike::analyze
