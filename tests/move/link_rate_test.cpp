// The measurement of links against a driver whose clock and whose faults are scripted.
#include "move/link_rate.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cuda/driver.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = std::size_t{1} << 20;
constexpr cuda::DriverCode kOutOfMemory = 2;

// Copies at once, and lets the clock run by what the script says. One at a time: drivers are tables of plain functions.
struct FakeDriver {
  int device_count = 1;
  double now_ms = 0;
  std::vector<double> h2d_ms{1.0};  // of one copy after the other, warm-ups included; the last one stays
  double d2h_ms = 0.5;
  double latency_ms = 0.002;
  std::size_t h2d_copies = 0;   // of kBytes
  int open_things = 0;          // made and not yet given back
  int fails_at_host_alloc = 0;  // the number of the call; 0: never
  int host_allocs = 0;
  bool loses_a_byte = false;
  bool moves_nothing = false;
  double event_ms[2] = {0, 0};
  int events = 0;
};

FakeDriver* g_fake = nullptr;

template <typename T>
T* handle(std::size_t number) {
  return reinterpret_cast<T*>(number);
}

cuda::DriverCode make_event(CUevent_st** event, unsigned int flags) {
  EXPECT_EQ(flags, 0u) << "with times, and no slow waits";
  *event = handle<CUevent_st>(static_cast<std::size_t>(++g_fake->events % 2) + 1);
  ++g_fake->open_things;
  return 0;
}

double& time_of(CUevent_st* event) {
  return g_fake->event_ms[reinterpret_cast<std::size_t>(event) - 1];
}

cuda::DriverCode host_alloc(void** pointer, std::size_t size_bytes, unsigned int) {
  if (++g_fake->host_allocs == g_fake->fails_at_host_alloc) return kOutOfMemory;
  *pointer = std::calloc(1, size_bytes);
  ++g_fake->open_things;
  return 0;
}

cuda::DriverCode copy_to_device(cuda::DevicePointer to, const void* from, std::size_t size_bytes, CUstream_st*) {
  std::memcpy(reinterpret_cast<void*>(to), from, size_bytes);
  if (size_bytes == kBytes) {
    g_fake->now_ms += g_fake->h2d_ms[std::min(g_fake->h2d_copies++, g_fake->h2d_ms.size() - 1)];
  } else {
    g_fake->now_ms += g_fake->latency_ms;
  }
  return 0;
}

cuda::DriverCode copy_to_host(void* to, cuda::DevicePointer from, std::size_t size_bytes, CUstream_st*) {
  if (!g_fake->moves_nothing) std::memcpy(to, reinterpret_cast<const void*>(from), size_bytes);
  if (g_fake->loses_a_byte) static_cast<unsigned char*>(to)[size_bytes - 1] ^= 1;
  g_fake->now_ms += size_bytes == kBytes ? g_fake->d2h_ms : g_fake->latency_ms;
  return 0;
}

cuda::DriverCode gave_back() {
  --g_fake->open_things;
  return 0;
}

cuda::Driver fake_table() {
  cuda::Driver driver;
  driver.init = [](unsigned int) { return 0; };
  driver.get_error_string = [](cuda::DriverCode code, const char** sentence) {
    *sentence = code == kOutOfMemory ? "out of memory" : nullptr;
    return 0;
  };
  driver.device_get_count = [](int* count) { return *count = g_fake->device_count, 0; };
  driver.device_get = [](int* device, int ordinal) { return *device = ordinal, 0; };
  driver.device_get_name = [](char* name, int, int device) {
    std::strcpy(name, device == 0 ? "First GPU" : "Second GPU");
    return 0;
  };
  driver.device_primary_ctx_retain = [](CUctx_st** context, int) {
    *context = handle<CUctx_st>(1);
    ++g_fake->open_things;
    return 0;
  };
  driver.device_primary_ctx_release = [](int) { return gave_back(); };
  driver.ctx_set_current = [](CUctx_st*) { return 0; };
  driver.stream_create = [](CUstream_st** stream, unsigned int) {
    *stream = handle<CUstream_st>(1);
    ++g_fake->open_things;
    return 0;
  };
  driver.stream_destroy = [](CUstream_st*) { return gave_back(); };
  driver.stream_synchronize = [](CUstream_st*) { return 0; };
  driver.event_create = make_event;
  driver.event_record = [](CUevent_st* event, CUstream_st*) { return time_of(event) = g_fake->now_ms, 0; };
  driver.event_elapsed_time = [](float* milliseconds, CUevent_st* start, CUevent_st* end) {
    return *milliseconds = static_cast<float>(time_of(end) - time_of(start)), 0;
  };
  driver.event_destroy = [](CUevent_st*) { return gave_back(); };
  driver.mem_alloc = [](cuda::DevicePointer* pointer, std::size_t size_bytes) {
    *pointer = reinterpret_cast<cuda::DevicePointer>(std::malloc(size_bytes));
    ++g_fake->open_things;
    return 0;
  };
  driver.mem_free = [](cuda::DevicePointer pointer) {
    return std::free(reinterpret_cast<void*>(pointer)), gave_back();
  };
  driver.mem_host_alloc = host_alloc;
  driver.mem_free_host = [](void* pointer) { return std::free(pointer), gave_back(); };
  driver.memcpy_htod_async = copy_to_device;
  driver.memcpy_dtoh_async = copy_to_host;
  return driver;
}

class LinkRates : public ::testing::Test {
 protected:
  LinkRates() { g_fake = &fake_; }
  ~LinkRates() override {
    EXPECT_EQ(fake_.open_things, 0);
    g_fake = nullptr;
  }
  Result<std::vector<LinkRate>> measure(std::optional<int> device = std::nullopt) {
    return measure_links(fake_table(), device, kBytes);
  }

  FakeDriver fake_;
};

TEST_F(LinkRates, AreBytesOverDeviceTime) {
  const auto links = measure();
  ASSERT_TRUE(links) << links.error().message;
  ASSERT_EQ(links->size(), 1u);
  const LinkRate& link = links->front();
  EXPECT_EQ(link.device_name, "First GPU");
  EXPECT_NEAR(link.h2d_pinned_gbps.median, 1.048576, 1e-4);
  EXPECT_NEAR(link.d2h_pinned_gbps.median, 2.097152, 1e-4);
  EXPECT_NEAR(link.h2d_latency_us.median, 2.0, 0.1);
  EXPECT_NEAR(link.d2h_latency_us.median, 2.0, 0.1);
}

TEST_F(LinkRates, AreMedianAndQuartilesWithoutWarmUps) {
  fake_.h2d_ms = {1000, 1000, 9, 1, 8, 2, 7, 3, 6, 4, 5};
  const auto links = measure();
  ASSERT_TRUE(links) << links.error().message;
  const Spread& rate = links->front().h2d_pinned_gbps;
  EXPECT_EQ(fake_.h2d_copies, fake_.h2d_ms.size());
  EXPECT_NEAR(rate.median, 1.048576 / 5, 1e-4);
  EXPECT_NEAR(rate.low, 1.048576 / 7, 1e-4);
  EXPECT_NEAR(rate.high, 1.048576 / 3, 1e-4);
}

TEST_F(LinkRates, CoverEveryDeviceOrTheOneAskedFor) {
  fake_.device_count = 2;
  const auto all = measure();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 2u);
  const auto second = measure(1);
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_EQ(second->size(), 1u);
  EXPECT_EQ(second->front().device, 1);
  EXPECT_EQ(second->front().device_name, "Second GPU");
}

TEST_F(LinkRates, NoticeBytesThatDidNotArrive) {
  fake_.loses_a_byte = true;
  const auto links = measure();
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message, HasSubstr("other bytes came back"));
}

TEST_F(LinkRates, NoticeThatNothingArrivedInMemoryThatWasZero) {
  fake_.moves_nothing = true;
  const auto links = measure();
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message, HasSubstr("other bytes came back"));
}

TEST_F(LinkRates, GiveEverythingBackAfterAFailure) {
  fake_.fails_at_host_alloc = 2;
  const auto links = measure();
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message, HasSubstr("page-locking host memory failed: out of memory (CUDA error 2)"));
}

TEST_F(LinkRates, AreNotTakenFromAClockThatStands) {
  fake_.d2h_ms = 0;
  const auto links = measure();
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message, HasSubstr("no time passed while copying from the device"));
}

TEST_F(LinkRates, NeedADevice) {
  for (const auto& [count, asked] : {std::pair{0, 0}, std::pair{2, 2}, std::pair{2, -1}}) {
    fake_.device_count = count;
    const auto links = measure(asked);
    ASSERT_FALSE(links);
    EXPECT_THAT(links.error().message, HasSubstr(count == 0 ? "no GPU" : "there is no device"));
  }
}

}  // namespace
}  // namespace turnpike::move
