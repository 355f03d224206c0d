// Times copies by events on a stream of their own, and checks the bytes that arrive.
#include "move/link_rate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "cuda/driver.h"
#include "move/trial_memory.h"

namespace turnpike::move {
namespace {

using cuda::Driver;
using cuda::DriverCode;

// Brings the bytes into the CPU's caches.
void read_each_line(std::span<const std::byte> bytes) {
  constexpr std::size_t kLineBytes = 64;
  const volatile std::byte* const byte = bytes.data();
  for (std::size_t i = 0; i < bytes.size(); i += kLineBytes) static_cast<void>(byte[i]);
}

// Everything that a measurement holds on one device; given back in the opposite order, whatever was reached.
class Bench {
 public:
  Bench(const Driver& driver, int ordinal, std::size_t capacity_bytes)
      : driver_(driver), ordinal_(ordinal), capacity_bytes_(capacity_bytes) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench();

  using Times = std::array<double, kRepetitions>;  // milliseconds of each repetition
  struct BothWays {
    Times h2d_ms;
    Times d2h_ms;
  };

  // These are false after a failure, of which failure() tells.
  bool open();
  bool run(std::size_t size_bytes, double warm_up_ms, BothWays& times);
  // What run() brought to the device last, back again: the CPU reads what came before each copy.
  bool run_into_caches(std::size_t size_bytes, Times& times);

  const char* device_name() const { return device_name_.data(); }
  Error failure() const { return Error{"measuring the link of device " + std::to_string(ordinal_) + ": " + failure_}; }

 private:
  bool is_done(DriverCode code, const char* what);
  // `prepare` is called before each copy and is not timed.
  template <typename Prepare, typename Copy>
  bool time(Times& times_ms, double warm_up_ms, const char* what, Prepare prepare, Copy copy);
  template <typename Prepare>
  bool time_back(std::size_t size_bytes, double warm_up_ms, Times& times_ms, Prepare prepare);

  const Driver& driver_;
  int ordinal_;
  std::size_t capacity_bytes_;
  int device_ = 0;
  std::array<char, 256> device_name_{};
  std::string failure_;
  CUctx_st* context_ = nullptr;
  CUstream_st* stream_ = nullptr;
  CUevent_st* start_ = nullptr;
  CUevent_st* end_ = nullptr;
  cuda::DevicePointer device_memory_ = 0;
  void* source_ = nullptr;
  void* returned_ = nullptr;
};

Bench::~Bench() {
  if (returned_ != nullptr) driver_.mem_free_host(returned_);
  if (source_ != nullptr) driver_.mem_free_host(source_);
  if (device_memory_ != 0) driver_.mem_free(device_memory_);
  if (end_ != nullptr) driver_.event_destroy(end_);
  if (start_ != nullptr) driver_.event_destroy(start_);
  if (stream_ != nullptr) driver_.stream_destroy(stream_);
  if (context_ != nullptr) driver_.device_primary_ctx_release(device_);
}

bool Bench::is_done(DriverCode code, const char* what) {
  if (code != 0) failure_ = std::string(what) + " failed: " + driver_.describe(code);
  return code == 0;
}

bool Bench::open() {
  constexpr unsigned int kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING: no waiting for the default stream
  const int name_bytes = static_cast<int>(device_name_.size()) - 1;
  return is_done(driver_.device_get(&device_, ordinal_), "finding the device") &&
         is_done(driver_.device_get_name(device_name_.data(), name_bytes, device_), "asking for the name") &&
         is_done(driver_.device_primary_ctx_retain(&context_, device_), "opening the device") &&
         is_done(driver_.ctx_set_current(context_), "opening the device") &&
         is_done(driver_.stream_create(&stream_, kNonBlocking), "making a stream") &&
         is_done(driver_.event_create(&start_, 0), "making an event") &&
         is_done(driver_.event_create(&end_, 0), "making an event") &&
         is_done(driver_.mem_alloc(&device_memory_, capacity_bytes_), "allocating device memory") &&
         is_done(driver_.mem_host_alloc(&source_, capacity_bytes_, 0), "page-locking host memory") &&
         is_done(driver_.mem_host_alloc(&returned_, capacity_bytes_, 0), "page-locking host memory");
}

template <typename Prepare, typename Copy>
bool Bench::time(Times& times_ms, double warm_up_ms, const char* what, Prepare prepare, Copy copy) {
  double warm_ms = 0;
  for (int turn = -kWarmUps; turn < kRepetitions; ++turn) {
    float took_ms = 0;
    prepare();
    if (!is_done(driver_.event_record(start_, stream_), "recording an event") || !is_done(copy(), what) ||
        !is_done(driver_.event_record(end_, stream_), "recording an event") ||
        !is_done(driver_.stream_synchronize(stream_), what) ||
        !is_done(driver_.event_elapsed_time(&took_ms, start_, end_), "reading the time")) {
      return false;
    }
    if (took_ms <= 0) {
      failure_ = std::string("no time passed while ") + what;
      return false;
    }
    if (turn >= 0) times_ms[static_cast<std::size_t>(turn)] = took_ms;
    warm_ms += took_ms;
    if (turn == -1 && warm_ms < warm_up_ms) --turn;
  }
  return true;
}

template <typename Prepare>
bool Bench::time_back(std::size_t size_bytes, double warm_up_ms, Times& times_ms, Prepare prepare) {
  std::memset(returned_, 0, size_bytes);
  if (!time(times_ms, warm_up_ms, "copying from the device", prepare,
            [&] { return driver_.memcpy_dtoh_async(returned_, device_memory_, size_bytes, stream_); })) {
    return false;
  }
  if (std::memcmp(source_, returned_, size_bytes) == 0) return true;
  failure_ = "other bytes came back than were sent (" + std::to_string(size_bytes) +
             " bytes): the device, its memory or its link is faulty";
  return false;
}

bool Bench::run(std::size_t size_bytes, double warm_up_ms, BothWays& times) {
  const auto nothing = [] {};
  fill_with_known_bytes({static_cast<std::byte*>(source_), size_bytes}, size_bytes);
  return time(times.h2d_ms, warm_up_ms, "copying to the device", nothing,
              [&] { return driver_.memcpy_htod_async(device_memory_, source_, size_bytes, stream_); }) &&
         time_back(size_bytes, warm_up_ms, times.d2h_ms, nothing);
}

bool Bench::run_into_caches(std::size_t size_bytes, Times& times) {
  return time_back(size_bytes, 0, times,
                   [&] { read_each_line({static_cast<const std::byte*>(returned_), size_bytes}); });
}

// `value` of each time, in ascending order of value, at the quartiles: kRepetitions is odd, so each is a measured one.
template <typename Value>
Spread spread_of(const std::array<double, kRepetitions>& times_ms, Value value) {
  static_assert(kRepetitions % 4 == 1);
  std::array<double, kRepetitions> values;
  std::transform(times_ms.begin(), times_ms.end(), values.begin(), value);
  std::sort(values.begin(), values.end());
  return {values[kRepetitions / 4], values[kRepetitions / 2], values[kRepetitions * 3 / 4]};
}

Result<LinkRate> measure_link(const Driver& driver, int ordinal, std::size_t rate_bytes, double warm_up_ms) {
  Bench bench(driver, ordinal, rate_bytes);
  Bench::BothWays rate;
  Bench::BothWays latency;
  Bench::Times cached_ms;
  const std::size_t cached_bytes = std::min(rate_bytes, kCachedBytes);
  if (!bench.open() || !bench.run(rate_bytes, warm_up_ms, rate) || !bench.run(kLatencyBytes, 0, latency) ||
      !bench.run_into_caches(cached_bytes, cached_ms)) {
    return bench.failure();
  }

  const auto gbps_of = [](std::size_t size_bytes) {
    return [size_bytes](double took_ms) { return static_cast<double>(size_bytes) / (took_ms * 1e6); };
  };
  const auto us = [](double took_ms) { return took_ms * 1e3; };
  return LinkRate{ordinal,
                  bench.device_name(),
                  spread_of(rate.h2d_ms, gbps_of(rate_bytes)),
                  spread_of(rate.d2h_ms, gbps_of(rate_bytes)),
                  spread_of(latency.h2d_ms, us),
                  spread_of(latency.d2h_ms, us),
                  spread_of(cached_ms, gbps_of(cached_bytes))};
}

}  // namespace

Result<std::vector<LinkRate>> measure_links(const Driver& driver, std::optional<int> device, std::size_t rate_bytes,
                                            double warm_up_ms) {
  int count = 0;
  if (const auto code = driver.init(0); code != 0) {
    return Error{"the CUDA driver does not start: " + driver.describe(code)};
  }
  if (const auto code = driver.device_get_count(&count); code != 0) {
    return Error{"the CUDA driver does not count its devices: " + driver.describe(code)};
  }
  if (count == 0) return Error{"the CUDA driver sees no GPU (is CUDA_VISIBLE_DEVICES set to none?)"};
  if (device && (*device < 0 || *device >= count)) {
    return Error{"there is no device " + std::to_string(*device) + ": the CUDA driver sees " + std::to_string(count) +
                 ", counted from 0"};
  }
  std::vector<LinkRate> links;
  for (int ordinal = device.value_or(0); ordinal < (device ? *device + 1 : count); ++ordinal) {
    const auto link = measure_link(driver, ordinal, rate_bytes, warm_up_ms);
    if (!link) return link.error();
    links.push_back(*link);
  }
  return links;
}

Result<std::vector<LinkRate>> measure_links(std::optional<int> device) {
  const auto driver = cuda::load_driver();
  if (!driver) return driver.error();
  return measure_links(*driver, device, kRateBytes);
}

}  // namespace turnpike::move
