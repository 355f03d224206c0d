// What is counted of GPUs' links, from an NVML that answers what a test wants.
#include "record/collect/link_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace turnpike::record {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using trace::LinkTrafficRecord;

constexpr std::int64_t kPitchNs = 2'000'000;

// Bus ids and samples are shared by the test and the thread that it makes LinkTraffic start.
struct FakeCounters {
  std::atomic<bool> is_missing{false};
  std::atomic<bool> has_gpm{true};
  std::atomic<int> init_code{0};
  std::atomic<int> get_code{0};
  std::atomic<int> nvlink_code{0};
  std::atomic<double> pcie_in{1000};
  std::atomic<int> sessions{0};
  std::atomic<int> samples{0};  // that were made and not yet freed
  std::atomic<int> gets{0};
  std::atomic<std::int64_t> get_takes_ms{0};
};
FakeCounters g_counters;

Result<cuda::Nvml> load() {
  if (g_counters.is_missing) return Error{"no NVML here"};
  cuda::Nvml nvml;
  nvml.init = [](unsigned int flags) {
    EXPECT_EQ(flags, cuda::kNvmlAttach);
    g_counters.sessions += g_counters.init_code == 0;
    return g_counters.init_code.load();
  };
  nvml.shutdown = [] { return --g_counters.sessions, 0; };
  nvml.device_by_bus_id = [](const char* bus_id, nvmlDevice_st** device) {
    if (std::string(bus_id) != "00000001:41:00.0") return 6;
    *device = reinterpret_cast<nvmlDevice_st*>(&g_counters);
    return 0;
  };
  if (!g_counters.has_gpm) return nvml;
  nvml.gpm_sample_alloc = [](void** sample) {
    ++g_counters.samples;
    *sample = new int(0);
    return 0;
  };
  nvml.gpm_sample_free = [](void* sample) {
    --g_counters.samples;
    delete static_cast<int*>(sample);
    return 0;
  };
  nvml.gpm_sample_get = [](nvmlDevice_st* device, void* sample) {
    EXPECT_EQ(device, reinterpret_cast<nvmlDevice_st*>(&g_counters));
    std::this_thread::sleep_for(std::chrono::milliseconds(g_counters.get_takes_ms));
    *static_cast<int*>(sample) = ++g_counters.gets;
    return g_counters.get_code.load();
  };
  nvml.gpm_metrics_get = [](cuda::NvmlGpmMetrics* metrics) {
    EXPECT_EQ(metrics->version, 1u);
    EXPECT_EQ(metrics->count, 4u);
    // The older of the two first.
    EXPECT_LT(*static_cast<int*>(metrics->before), *static_cast<int*>(metrics->after));
    const std::map<unsigned int, double> rates = {{21, g_counters.pcie_in}, {20, 200}, {60, 30}, {61, 4}};
    for (cuda::NvmlGpmMetric& metric : metrics->metrics) {
      metric.value = rates.at(metric.id);
      metric.result = metric.id >= 60 ? g_counters.nvlink_code.load() : 0;
    }
    return 0;
  };
  return nvml;
}

class LinkTrafficTest : public testing::Test {
 protected:
  LinkTrafficTest() {
    g_counters.is_missing = false;
    g_counters.has_gpm = true;
    g_counters.init_code = g_counters.get_code = g_counters.nvlink_code = g_counters.gets = 0;
    g_counters.get_takes_ms = 0;
    g_counters.pcie_in = 1000;
  }
  ~LinkTrafficTest() override {
    traffic_.finish();
    EXPECT_EQ(g_counters.sessions, 0);
    EXPECT_EQ(g_counters.samples, 0);
  }

  std::vector<LinkTrafficRecord> finished() {
    traffic_.finish();
    return traffic_.take();
  }
  Metadata metadata() {
    traffic_.finish();
    Metadata metadata;
    traffic_.put(metadata);
    return metadata;
  }
  static void wait_for_gets(int count) {
    while (g_counters.gets < count) std::this_thread::yield();
  }

  const PciAddress kAddress{1, 0x41, 0};
  LinkTraffic traffic_{load, kPitchNs};
};

std::uint64_t bytes_at(double mib_per_s, const LinkTrafficRecord& record) {
  return static_cast<std::uint64_t>(mib_per_s * 1048576 * static_cast<double>(record.end_ns - record.start_ns) / 1e9);
}

TEST_F(LinkTrafficTest, IsRatesTimesTheTimeBetweenSamples) {
  traffic_.watch(3, kAddress);
  wait_for_gets(4);
  const auto records = finished();
  ASSERT_GE(records.size(), 3u);
  for (const LinkTrafficRecord& record : records) {
    EXPECT_EQ(record.device, 3u);
    EXPECT_GE(record.end_ns - record.start_ns, 1);
    EXPECT_EQ(record.pcie_in_bytes, bytes_at(1000, record));
    EXPECT_EQ(record.pcie_out_bytes, bytes_at(200, record));
    EXPECT_EQ(record.nvlink_in_bytes, bytes_at(30, record));
    EXPECT_EQ(record.nvlink_out_bytes, bytes_at(4, record));
  }
  for (std::size_t i = 1; i < records.size(); ++i) EXPECT_EQ(records[i].start_ns, records[i - 1].end_ns);
  EXPECT_THAT(traffic_.take(), IsEmpty());
  EXPECT_THAT(metadata(), IsEmpty());
}

TEST_F(LinkTrafficTest, IsCountedUpToTheEnd) {
  LinkTraffic slow(load, 3'600'000'000'000);
  slow.watch(0, kAddress);
  wait_for_gets(1);
  EXPECT_THAT(slow.take(), IsEmpty());
  slow.finish();
  EXPECT_THAT(slow.take(), ElementsAre(Field(&LinkTrafficRecord::device, 0u)));
}

// The process may end next, and with it NVML's library.
TEST_F(LinkTrafficTest, IsNotLeftWhileNvmlStarts) {
  static std::atomic<bool> has_loaded{false};
  LinkTraffic starting([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    has_loaded = true;
    return load();
  });
  starting.watch(0, kAddress);
  starting.finish();
  EXPECT_TRUE(has_loaded);
}

TEST_F(LinkTrafficTest, IsOfEachGpuFromWhenItIsWatched) {
  traffic_.watch(0, kAddress);
  wait_for_gets(2);
  traffic_.watch(7, kAddress);
  std::vector<LinkTrafficRecord> records;
  while (records.empty() || records.back().device != 7) {
    for (const LinkTrafficRecord& record : traffic_.take()) records.push_back(record);
  }
  EXPECT_EQ(records.front().device, 0u);
  EXPECT_EQ(records.back().device, 7u);
}

TEST_F(LinkTrafficTest, IsUnknownWhereAMetricIs) {
  g_counters.nvlink_code = 3;
  g_counters.pcie_in = -1;
  traffic_.watch(0, kAddress);
  wait_for_gets(2);
  EXPECT_THAT(finished(), Each(AllOf(Field(&LinkTrafficRecord::pcie_in_bytes, trace::kUnknownSize),
                                     Field(&LinkTrafficRecord::pcie_out_bytes, testing::Gt(0u)),
                                     Field(&LinkTrafficRecord::nvlink_in_bytes, trace::kUnknownSize),
                                     Field(&LinkTrafficRecord::nvlink_out_bytes, trace::kUnknownSize))));
}

TEST_F(LinkTrafficTest, SaysWhyItIsNotCounted) {
  g_counters.get_code = 3;
  traffic_.watch(2, kAddress);
  EXPECT_THAT(metadata(), ElementsAre(Pair("link_traffic.2", AllOf(HasSubstr("unknown: "), HasSubstr("Hopper")))));
  EXPECT_THAT(traffic_.take(), IsEmpty());
}

TEST_F(LinkTrafficTest, SaysThatThereIsNoSuchGpu) {
  traffic_.watch(2, {0, 5, 0});
  EXPECT_THAT(metadata(), ElementsAre(Pair("link_traffic.2", "unknown: NVML has no GPU 00000000:05:00.0")));
}

TEST_F(LinkTrafficTest, SaysThatThereIsNoNvml) {
  g_counters.is_missing = true;
  traffic_.watch(2, kAddress);
  EXPECT_THAT(metadata(), ElementsAre(Pair("link_traffic.2", "unknown: no NVML here")));
}

TEST_F(LinkTrafficTest, SaysThatNvmlIsTooOldOrDoesNotStart) {
  g_counters.has_gpm = false;
  traffic_.watch(2, kAddress);
  EXPECT_THAT(metadata(), ElementsAre(Pair("link_traffic.2", "unknown: the driver's NVML does not count it")));
  g_counters.has_gpm = true;
  g_counters.init_code = 9;
  traffic_ = LinkTraffic(load, kPitchNs);
  traffic_.watch(4, kAddress);
  EXPECT_THAT(metadata(), ElementsAre(Pair("link_traffic.4", "unknown: NVML does not start")));
}

TEST_F(LinkTrafficTest, DoesNotHoldTheEndUpForLong) {
  g_counters.get_takes_ms = 1000;
  traffic_.watch(0, kAddress);
  const auto start = std::chrono::steady_clock::now();
  traffic_.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(800));
  g_counters.get_takes_ms = 0;
  while (g_counters.gets < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST_F(LinkTrafficTest, IsNothingWithoutAGpu) {
  traffic_.finish();
  EXPECT_THAT(traffic_.take(), IsEmpty());
  EXPECT_THAT(metadata(), IsEmpty());
}

}  // namespace
}  // namespace turnpike::record
