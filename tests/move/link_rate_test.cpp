// The measurement of links against a driver whose clock and whose faults are scripted.
#include "move/link_rate.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/driver.h"
#include "cuda/nvml.h"
#include "move/idle_links.h"

namespace turnpike::move {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = std::size_t{1} << 20;
constexpr cuda::DriverCode kInvalidValue = 1;
constexpr cuda::DriverCode kOutOfMemory = 2;

// Copies at once, and lets the clock run by what the script says. One at a time: drivers are tables of plain functions.
struct FakeDriver {
  int device_count = 1;
  double now_ms = 0;
  std::vector<double> h2d_ms{1.0};  // of one copy after the other, warm-ups included; the last one stays
  double d2h_ms = 0.5;
  double d2h_cached_ms = 0.5;  // where the CPU has touched all bytes since the last copy, and watches_touches
  bool watches_touches = false;
  double latency_ms = 0.002;
  std::size_t h2d_copies = 0;  // of kBytes
  std::size_t latency_copies = 0;
  int open_things = 0;          // made and not yet given back
  int fails_at_host_alloc = 0;  // the number of the call; 0: never
  int host_allocs = 0;
  bool loses_a_byte = false;
  bool moves_nothing = false;
  CUctx_st* current = nullptr;
  double event_ms[2] = {0, 0};
  int events = 0;
  // NVML's side: what it says of the use of the GPUs, one look after the other; the last one stays.
  std::vector<unsigned int> use_pct{0};
  std::vector<unsigned int> processes{0};
  std::size_t looks = 0;
  int nvml_init_code = 0;
  int nvml_sessions = 0;
  std::vector<std::string> buses;
  bool are_named_alike = false;
  bool has_endless_name = false;
};

FakeDriver* g_fake = nullptr;

// Memory that a copy has come into, closed until the CPU touches it, page by page.
struct WatchedMemory {
  static std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

  void open() { mprotect(start, size_bytes, PROT_READ | PROT_WRITE); }
  void close() {
    mprotect(start, size_bytes, PROT_NONE);
    closed_pages = size_bytes / page_bytes();
  }
  // False where `address` is not of a closed page.
  bool touch(std::byte* address) {
    if (closed_pages == 0 || address < start || address >= start + size_bytes) return false;
    std::byte* const page = address - (address - start) % static_cast<std::ptrdiff_t>(page_bytes());
    --closed_pages;
    return mprotect(page, page_bytes(), PROT_READ | PROT_WRITE) == 0;
  }

  std::byte* start = nullptr;
  std::size_t size_bytes = 0;
  std::size_t closed_pages = 0;
};

WatchedMemory g_watched;

// Touching memory takes the CPU time.
void note_touch(int signal, siginfo_t* fault, void*) {
  if (!g_watched.touch(static_cast<std::byte*>(fault->si_addr))) std::signal(signal, SIG_DFL);
  g_fake->now_ms += 1;
}

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

cuda::DriverCode host_alloc(void** pointer, std::size_t size_bytes, unsigned int flags) {
  EXPECT_EQ(flags, 0U);
  if (++g_fake->host_allocs == g_fake->fails_at_host_alloc) return kOutOfMemory;
  *pointer = std::aligned_alloc(WatchedMemory::page_bytes(), size_bytes);
  ++g_fake->open_things;
  return 0;
}

cuda::DriverCode copy_to_device(cuda::DevicePointer to, const void* from, std::size_t size_bytes, CUstream_st*) {
  std::memcpy(reinterpret_cast<void*>(to), from, size_bytes);
  if (size_bytes == kBytes) {
    g_fake->now_ms += g_fake->h2d_ms[std::min(g_fake->h2d_copies++, g_fake->h2d_ms.size() - 1)];
  } else {
    g_fake->now_ms += g_fake->latency_ms;
    ++g_fake->latency_copies;
  }
  return 0;
}

// What a copy of kBytes takes that is watched: longer where the CPU has touched each page.
double watched_copy_ms(void* to) {
  const bool is_touched = g_watched.closed_pages == 0;
  g_watched.open();
  g_watched = {static_cast<std::byte*>(to), kBytes};
  return is_touched ? g_fake->d2h_cached_ms : g_fake->d2h_ms;
}

cuda::DriverCode copy_to_host(void* to, cuda::DevicePointer from, std::size_t size_bytes, CUstream_st*) {
  const bool is_watched = g_fake->watches_touches && size_bytes == kBytes;
  const double whole_ms = is_watched ? watched_copy_ms(to) : g_fake->d2h_ms;
  if (!g_fake->moves_nothing) std::memcpy(to, reinterpret_cast<const void*>(from), size_bytes);
  if (g_fake->loses_a_byte) static_cast<unsigned char*>(to)[size_bytes - 1] ^= 1;
  if (is_watched) g_watched.close();
  g_fake->now_ms += size_bytes == kBytes ? whole_ms : g_fake->latency_ms;
  return 0;
}

cuda::DriverCode gave_back() {
  --g_fake->open_things;
  return 0;
}

cuda::Driver fake_table() {
  cuda::Driver driver;
  driver.init = [](unsigned int flags) -> cuda::DriverCode { return flags == 0 ? 0 : kInvalidValue; };
  driver.get_error_string = [](cuda::DriverCode code, const char** sentence) {
    *sentence = code == kOutOfMemory ? "out of memory" : nullptr;
    return 0;
  };
  driver.device_get_count = [](int* count) { return *count = g_fake->device_count, 0; };
  driver.device_get = [](int* device, int ordinal) { return *device = ordinal, 0; };
  driver.device_get_name = [](char* name, int length, int device) {
    if (g_fake->has_endless_name) {
      EXPECT_LT(length, 256) << "all places for a name have 256 bytes";
      std::memset(name, 'x', static_cast<std::size_t>(length));
      return 0;
    }
    std::strcpy(name, device == 0 || g_fake->are_named_alike ? "First GPU" : "Second GPU");
    return 0;
  };
  driver.device_get_attribute = [](int* value, int attribute, int device) {
    *value = attribute == cuda::kAttributePciDomain ? 1 : attribute == cuda::kAttributePciBus ? 0x41 + device : 2;
    return 0;
  };
  driver.device_primary_ctx_retain = [](CUctx_st** context, int) {
    *context = handle<CUctx_st>(1);
    ++g_fake->open_things;
    return 0;
  };
  driver.device_primary_ctx_release = [](int) { return gave_back(); };
  driver.ctx_set_current = [](CUctx_st* context) {
    g_fake->current = context;
    return 0;
  };
  driver.stream_create = [](CUstream_st** stream, unsigned int) {
    EXPECT_EQ(g_fake->current, handle<CUctx_st>(1)) << "in the context of the device";
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
  driver.mem_free_host = [](void* pointer) {
    if (pointer == g_watched.start) g_watched.open();
    return std::free(pointer), gave_back();
  };
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
  EXPECT_NEAR(link.d2h_cached_gbps.median, 2.097152, 1e-4);
}

class LinkRatesIntoCaches : public LinkRates {
 protected:
  LinkRatesIntoCaches() {
    fake_.watches_touches = true;
    struct sigaction action{};
    action.sa_sigaction = note_touch;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~LinkRatesIntoCaches() override {
    sigaction(SIGSEGV, &before_, nullptr);
    g_watched = {};
  }

 private:
  struct sigaction before_{};
};

TEST_F(LinkRatesIntoCaches, AreThoseOfMemoryThatTheCpuHasReadWhichIsNotTimed) {
  fake_.d2h_cached_ms = 2;
  const auto links = measure();
  ASSERT_TRUE(links) << links.error().message;
  EXPECT_NEAR(links->front().d2h_pinned_gbps.median, 2.097152, 1e-4);
  EXPECT_NEAR(links->front().d2h_cached_gbps.low, 0.524288, 1e-4);
  EXPECT_NEAR(links->front().d2h_cached_gbps.high, 0.524288, 1e-4);
}

// Other sizes than kBytes take what latency copies do.
TEST_F(LinkRates, IntoCachesAreOfFourMebibytes) {
  const auto links = measure_links(fake_table(), 0, 2 * kCachedBytes);
  ASSERT_TRUE(links) << links.error().message;
  EXPECT_NEAR(links->front().d2h_pinned_gbps.median, 8 * 1.048576 / 2e-3, 1);
  EXPECT_NEAR(links->front().d2h_cached_gbps.median, 4 * 1.048576 / 2e-3, 1);
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
  const auto first = measure(0);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->size(), 1u);
  EXPECT_EQ(first->front().device, 0);
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

// One call of a function of the driver fails.
class Failing {
 public:
  template <typename... Args>
  Failing(cuda::DriverCode (*&function)(Args...), int nth) {
    Original<Args...>::function = std::exchange(function, [](Args... args) -> cuda::DriverCode {
      return --left_ == 0 ? kInvalidValue : Original<Args...>::function(args...);
    });
    left_ = nth;
  }

 private:
  template <typename... Args>
  struct Original {
    static inline cuda::DriverCode (*function)(Args...) = nullptr;
  };
  static inline int left_ = 0;
};

TEST_F(LinkRates, SayWhichCallFailedAndGiveEverythingBack) {
  constexpr int kTurns = kWarmUps + kRepetitions;
  constexpr int kRateTurns = 2 * kTurns;  // there and back; as many for the latency
  using Make = std::function<void(cuda::Driver&)>;
  const auto failing = [](auto member, int nth) {
    return Make([member, nth](cuda::Driver& driver) { Failing(driver.*member, nth); });
  };
  using cuda::Driver;
  const std::pair<Make, std::string> cases[] = {
      {failing(&Driver::device_get, 1), "finding the device"},
      {failing(&Driver::device_get_name, 1), "asking for the name"},
      {failing(&Driver::device_primary_ctx_retain, 1), "opening the device"},
      {failing(&Driver::ctx_set_current, 1), "opening the device"},
      {failing(&Driver::stream_create, 1), "making a stream"},
      {failing(&Driver::event_create, 1), "making an event"},
      {failing(&Driver::event_create, 2), "making an event"},
      {failing(&Driver::mem_alloc, 1), "allocating device memory"},
      {failing(&Driver::mem_host_alloc, 1), "page-locking host memory"},
      {failing(&Driver::mem_host_alloc, 2), "page-locking host memory"},
      {failing(&Driver::event_record, 1), "recording an event"},
      {failing(&Driver::event_record, 2), "recording an event"},
      {failing(&Driver::event_record, 2 * kRateTurns + 1), "recording an event"},
      {failing(&Driver::memcpy_htod_async, 3), "copying to the device"},
      {failing(&Driver::memcpy_dtoh_async, 1), "copying from the device"},
      {failing(&Driver::memcpy_dtoh_async, kTurns + 1), "copying from the device"},
      {failing(&Driver::memcpy_dtoh_async, 2 * kTurns + 1), "copying from the device"},
      {failing(&Driver::stream_synchronize, 1), "copying to the device"},
      {failing(&Driver::stream_synchronize, kTurns + 1), "copying from the device"},
      {failing(&Driver::event_elapsed_time, 2), "reading the time"},
      {failing(&Driver::event_elapsed_time, 2 * kRateTurns), "reading the time"}};
  for (const auto& [make, what] : cases) {
    SCOPED_TRACE(what);
    cuda::Driver driver = fake_table();
    make(driver);
    const auto links = measure_links(driver, 0, kBytes);
    ASSERT_FALSE(links);
    EXPECT_EQ(links.error().message, "measuring the link of device 0: " + what + " failed: " + driver.describe(1));
    EXPECT_EQ(fake_.open_things, 0);
  }
}

TEST_F(LinkRates, NeedADriverThatStarts) {
  cuda::Driver driver = fake_table();
  driver.init = [](unsigned int) { return kInvalidValue; };
  EXPECT_THAT(measure_links(driver, 0, kBytes).error().message, HasSubstr("the CUDA driver does not start: "));
  driver = fake_table();
  driver.device_get_count = [](int*) { return kInvalidValue; };
  EXPECT_THAT(measure_links(driver, 0, kBytes).error().message,
              HasSubstr("the CUDA driver does not count its devices: "));
}

TEST_F(LinkRates, AreOfNineCopiesAfterTwoWhereNothingHasToWarmUp) {
  fake_.h2d_ms = {0.01};
  ASSERT_TRUE(measure());
  EXPECT_EQ(fake_.h2d_copies, 11U);
  EXPECT_EQ(fake_.latency_copies, 11U);
}

// This machine may have a driver, or none.
TEST_F(LinkRates, OfThisMachineNeedItsDriver) {
  const auto driver = cuda::load_driver();
  if (driver) return;
  const auto links = measure_links(std::nullopt);
  ASSERT_FALSE(links);
  EXPECT_EQ(links.error().message, driver.error().message);
  const auto idle = measure_idle_links();
  ASSERT_TRUE(idle) << "nothing can use what is not there";
  EXPECT_TRUE(idle->links.empty());
}

TEST_F(LinkRates, NeedADevice) {
  for (const auto& [count, asked] : {std::pair{0, 0}, std::pair{2, 2}, std::pair{2, -1}}) {
    fake_.device_count = count;
    const auto links = measure(asked);
    ASSERT_FALSE(links);
    EXPECT_THAT(links.error().message, HasSubstr(count == 0 ? "no GPU" : "there is no device"));
  }
}

cuda::Nvml fake_nvml() {
  cuda::Nvml nvml;
  nvml.init = [](unsigned int) {
    g_fake->nvml_sessions += g_fake->nvml_init_code == 0;
    return g_fake->nvml_init_code;
  };
  nvml.shutdown = [] { return --g_fake->nvml_sessions, 0; };
  nvml.device_by_bus_id = [](const char* bus_id, nvmlDevice_st**) { return g_fake->buses.push_back(bus_id), 0; };
  nvml.utilization = [](nvmlDevice_st*, cuda::NvmlUtilization* use) {
    use->gpu = g_fake->use_pct[std::min(g_fake->looks, g_fake->use_pct.size() - 1)];
    return 0;
  };
  nvml.compute_processes = [](nvmlDevice_st*, unsigned int* count, void*) {
    EXPECT_EQ(*count, 0U) << "there is no room for any";
    *count = g_fake->processes[std::min(g_fake->looks++, g_fake->processes.size() - 1)];
    return *count == 0 ? 0 : cuda::kNvmlInsufficientSize;
  };
  return nvml;
}

class IdleLinks : public LinkRates {
 protected:
  Result<std::vector<LinkRate>> measure_idle(const cuda::Nvml& nvml = fake_nvml()) {
    const auto sleep = [this](std::chrono::milliseconds time) { slept_ += time; };
    const auto now = [this] {
      return std::chrono::steady_clock::time_point(std::exchange(now_, now_ + measuring_takes_));
    };
    auto measured = measure_idle_links(fake_table(), nvml, sleep, kBytes, now);
    EXPECT_EQ(fake_.nvml_sessions, 0);
    if (!measured) return measured.error();
    EXPECT_EQ(measured->took.count() > 0, !measured->links.empty());
    return std::move(measured->links);
  }
  std::chrono::milliseconds slept_{0};
  std::chrono::nanoseconds now_{0};
  std::chrono::milliseconds measuring_takes_{10};
};

TEST_F(IdleLinks, AreMeasuredAtOnceWhereNobodyUsesTheGpu) {
  const auto links = measure_idle();
  ASSERT_TRUE(links) << links.error().message;
  ASSERT_EQ(links->size(), 1u);
  EXPECT_NEAR(links->front().h2d_pinned_gbps.median, 1.048576, 1e-4);
  EXPECT_EQ(slept_.count(), 0);
  EXPECT_EQ(fake_.buses, std::vector<std::string>{"00000001:41:02.0"});
}

TEST_F(IdleLinks, AreMeasuredOnceTheLinkIsUp) {
  fake_.h2d_ms = std::vector<double>(14, 10.0);  // 140 ms at a tenth of the rate
  fake_.h2d_ms.push_back(1.0);
  const auto links = measure_idle();
  ASSERT_TRUE(links) << links.error().message;
  EXPECT_NEAR(links->front().h2d_pinned_gbps.median, 1.048576, 1e-4);
  EXPECT_EQ(fake_.h2d_copies, 14u + 10u + kRepetitions) << "150 ms of warm-up";
}

TEST_F(IdleLinks, WaitForThePast) {
  fake_.use_pct = {90, 40, 5, 0};
  EXPECT_TRUE(measure_idle());
  EXPECT_EQ(slept_.count(), 150);
}

TEST_F(IdleLinks, AreNotMeasuredWhereKernelsOfOthersRun) {
  fake_.use_pct = {7};
  const auto links = measure_idle();
  ASSERT_FALSE(links);
  EXPECT_EQ(links.error().message, "GPU 0 is in use");
  EXPECT_LE(slept_, kIdlePatience);
  EXPECT_EQ(fake_.h2d_copies, 0u) << "not a byte";
  EXPECT_EQ(fake_.host_allocs, 0);
}

TEST_F(IdleLinks, AreNotMeasuredWhereAnotherProcessHasAContext) {
  fake_.processes = {2};
  EXPECT_FALSE(measure_idle());
  EXPECT_EQ(fake_.h2d_copies, 0u);
  fake_.processes = {2, 2, 2, 2, 2, 2, 0};
  EXPECT_TRUE(measure_idle()) << "it ended";
}

TEST_F(IdleLinks, AreNotMeasuredWhereNvmlDoesNotTell) {
  auto nvml = fake_nvml();
  nvml.utilization = [](nvmlDevice_st*, cuda::NvmlUtilization*) { return 3; };
  EXPECT_FALSE(measure_idle(nvml));
  nvml = fake_nvml();
  nvml.compute_processes = [](nvmlDevice_st*, unsigned int*, void*) { return 3; };
  EXPECT_FALSE(measure_idle(nvml));
  nvml = fake_nvml();
  nvml.device_by_bus_id = [](const char*, nvmlDevice_st**) { return 6; };
  EXPECT_FALSE(measure_idle(nvml));
  fake_.nvml_init_code = 9;
  EXPECT_FALSE(measure_idle());
  EXPECT_EQ(fake_.h2d_copies, 0u);
}

// Each of the three alone: a kernel that ran a moment ago, a context, and more contexts than there was room for.
TEST_F(IdleLinks, AreOfAGpuThatNeitherKernelsNorProcessesUse) {
  fake_.use_pct = {1};
  EXPECT_FALSE(measure_idle());
  fake_.use_pct = {0};
  auto nvml = fake_nvml();
  nvml.compute_processes = [](nvmlDevice_st*, unsigned int* count, void*) { return *count = 1, 0; };
  EXPECT_FALSE(measure_idle(nvml));
  nvml.compute_processes = [](nvmlDevice_st*, unsigned int* count, void*) {
    return *count = 0, cuda::kNvmlInsufficientSize;
  };
  EXPECT_FALSE(measure_idle(nvml));
  EXPECT_EQ(fake_.h2d_copies, 0U);
}

TEST_F(IdleLinks, AreWaitedForForOneAndAHalfSeconds) {
  fake_.use_pct = std::vector<unsigned int>(30, 7);
  fake_.use_pct.push_back(0);
  EXPECT_TRUE(measure_idle());
  EXPECT_EQ(slept_, std::chrono::milliseconds(1500));
  fake_.looks = 0;
  fake_.use_pct.insert(fake_.use_pct.begin(), 7);
  slept_ = {};
  EXPECT_FALSE(measure_idle());
  EXPECT_EQ(slept_, std::chrono::milliseconds(1500));
}

TEST_F(IdleLinks, SayWhatFails) {
  cuda::Driver driver = fake_table();
  const auto sleep = [](std::chrono::milliseconds) {};
  driver.init = [](unsigned int) { return kInvalidValue; };
  auto measured = measure_idle_links(driver, fake_nvml(), sleep, kBytes);
  ASSERT_FALSE(measured);
  EXPECT_THAT(measured.error().message, HasSubstr("the CUDA driver does not start: "));
  driver = fake_table();
  driver.stream_create = [](CUstream_st**, unsigned int) { return kInvalidValue; };
  measured = measure_idle_links(driver, fake_nvml(), sleep, kBytes);
  ASSERT_FALSE(measured);
  EXPECT_THAT(measured.error().message, HasSubstr("making a stream failed"));
  auto nvml = fake_nvml();
  nvml.utilization = [](nvmlDevice_st*, cuda::NvmlUtilization*) { return 1; };
  EXPECT_EQ(measure_idle(nvml).error().message, "NVML does not tell whether GPU 0 is in use");
  nvml = fake_nvml();
  nvml.device_by_bus_id = [](const char*, nvmlDevice_st**) { return 1; };
  EXPECT_EQ(measure_idle(nvml).error().message, "NVML does not tell whether GPU 0 is in use");
  nvml = fake_nvml();
  nvml.compute_processes = [](nvmlDevice_st*, unsigned int*, void*) { return 1; };
  EXPECT_EQ(measure_idle(nvml).error().message, "NVML does not tell who uses GPU 0");
  fake_.nvml_init_code = 1;
  EXPECT_EQ(measure_idle().error().message, "NVML does not start, so it cannot tell who uses the GPU");
}

// What the driver does not name is left out, and a driver that does not count has none.
TEST_F(IdleLinks, AreOfTheGpusThatTheDriverNames) {
  fake_.device_count = 2;
  const auto sleep = [](std::chrono::milliseconds) {};
  cuda::Driver driver = fake_table();
  Failing(driver.device_get_name, 1);
  auto measured = measure_idle_links(driver, fake_nvml(), sleep, kBytes);
  ASSERT_TRUE(measured);
  ASSERT_EQ(measured->links.size(), 1U);
  EXPECT_EQ(measured->links[0].device, 1);
  driver = fake_table();
  Failing(driver.device_get, 1);
  measured = measure_idle_links(driver, fake_nvml(), sleep, kBytes);
  ASSERT_TRUE(measured);
  ASSERT_EQ(measured->links.size(), 1U);
  EXPECT_EQ(measured->links[0].device, 1);
  driver.device_get_count = [](int* count) { return *count = 2, kInvalidValue; };
  measured = measure_idle_links(driver, fake_nvml(), sleep, kBytes);
  ASSERT_TRUE(measured);
  EXPECT_TRUE(measured->links.empty());
}

TEST_F(IdleLinks, AreOfOneGpuOfEachName) {
  fake_.device_count = 2;
  fake_.are_named_alike = true;
  EXPECT_EQ(measure_idle()->size(), 1u);
  fake_.are_named_alike = false;
  const auto links = measure_idle();
  ASSERT_EQ(links->size(), 2u);
  EXPECT_EQ(links->back().device_name, "Second GPU");
}

TEST_F(IdleLinks, AreNotBegunAfterHalfASecond) {
  fake_.device_count = 2;
  measuring_takes_ = std::chrono::milliseconds(500);
  EXPECT_EQ(measure_idle()->size(), 2u);
  measuring_takes_ = std::chrono::milliseconds(501);
  EXPECT_EQ(measure_idle()->size(), 1u);
}

// A name that fills its memory has no end of its own.
TEST_F(IdleLinks, HaveNamesThatEnd) {
  fake_.has_endless_name = true;
  const auto links = measure_idle();
  ASSERT_EQ(links->size(), 1u);
  EXPECT_EQ(links->front().device_name, std::string(255, 'x'));
}

TEST_F(IdleLinks, AreNoneWithoutAGpu) {
  fake_.device_count = 0;
  EXPECT_TRUE(measure_idle()->empty());
}

}  // namespace
}  // namespace turnpike::move
