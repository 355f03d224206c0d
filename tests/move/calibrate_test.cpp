// What calibrating tries and chooses: by an engine that takes as long as the test says, and a driver of plain memory.
#include "move/calibrate.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "cuda/driver.h"
#include "move/cores.h"

namespace turnpike::move {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kBytes = 8192;
constexpr std::size_t kMiB = std::size_t{1} << 20;

template <typename T>
T* handle() {
  return reinterpret_cast<T*>(std::size_t{1});
}

// Device memory is memory of the process; every copy is done at once and takes a millisecond.
cuda::Driver plain_driver() {
  cuda::Driver driver;
  driver.init = [](unsigned int) { return 0; };
  driver.get_error_string = [](cuda::DriverCode, const char** sentence) { return *sentence = "no reason", 0; };
  driver.device_get_count = [](int* count) { return *count = 2, 0; };
  driver.device_get = [](int* device, int ordinal) { return *device = ordinal, 0; };
  driver.device_get_name = [](char* name, int, int device) {
    return std::strcpy(name, device == 1 ? "The GPU" : "Another GPU"), 0;
  };
  driver.device_primary_ctx_retain = [](CUctx_st** context, int) { return *context = handle<CUctx_st>(), 0; };
  driver.device_primary_ctx_release = [](int) { return 0; };
  driver.ctx_set_current = [](CUctx_st*) { return 0; };
  driver.ctx_push_current = [](CUctx_st*) { return 0; };
  driver.ctx_pop_current = [](CUctx_st**) { return 0; };
  driver.thread_exchange_stream_capture_mode = [](int*) { return 0; };
  driver.stream_create = [](CUstream_st** stream, unsigned int) { return *stream = handle<CUstream_st>(), 0; };
  driver.stream_destroy = [](CUstream_st*) { return 0; };
  driver.stream_synchronize = [](CUstream_st*) { return 0; };
  driver.event_create = [](CUevent_st** event, unsigned int) { return *event = handle<CUevent_st>(), 0; };
  driver.event_record = [](CUevent_st*, CUstream_st*) { return 0; };
  driver.event_elapsed_time = [](float* milliseconds, CUevent_st*, CUevent_st*) { return *milliseconds = 1, 0; };
  driver.event_destroy = [](CUevent_st*) { return 0; };
  driver.mem_alloc = [](cuda::DevicePointer* pointer, std::size_t size_bytes) {
    return *pointer = reinterpret_cast<cuda::DevicePointer>(std::malloc(size_bytes)), 0;
  };
  driver.mem_free = [](cuda::DevicePointer pointer) { return std::free(reinterpret_cast<void*>(pointer)), 0; };
  driver.mem_host_alloc = [](void** pointer, std::size_t size_bytes, unsigned int) {
    return *pointer = std::malloc(size_bytes), 0;
  };
  driver.mem_free_host = [](void* pointer) { return std::free(pointer), 0; };
  driver.memcpy_htod_async = [](cuda::DevicePointer to, const void* from, std::size_t size_bytes, CUstream_st*) {
    return std::memcpy(reinterpret_cast<void*>(to), from, size_bytes), 0;
  };
  driver.memcpy_dtoh_async = [](void* to, cuda::DevicePointer from, std::size_t size_bytes, CUstream_st*) {
    return std::memcpy(to, reinterpret_cast<const void*>(from), size_bytes), 0;
  };
  return driver;
}

// Copies, and takes as long as `time_us` says for its settings. What calibrating does not call is an error.
class TimedEngine : public Engine {
 public:
  std::function<int(const Settings&)> time_us = [](const Settings&) { return 0; };
  bool loses_a_byte = false;
  bool refuses = false;
  int uploads = 0;
  int downloads = 0;
  bool all_were_fresh = true;
  std::vector<Settings> configured;

  Status upload(int device, std::span<const Piece> pieces, Stream stream, std::shared_ptr<void>,
                const std::string&) override {
    ++uploads;
    EXPECT_EQ(device, 1);
    EXPECT_EQ(stream, nullptr);
    if (refuses) return Error{"the upload is refused"};
    for (const Piece& piece : pieces) std::memcpy(reinterpret_cast<void*>(piece.device), piece.host, piece.size_bytes);
    return take_time();
  }
  Status download(int device, std::span<const Piece> pieces, Stream, bool is_fresh, const std::string&) override {
    ++downloads;
    EXPECT_EQ(device, 1);
    all_were_fresh = all_were_fresh && is_fresh;
    for (const Piece& piece : pieces) {
      std::memcpy(piece.host, reinterpret_cast<const void*>(piece.device), piece.size_bytes);
      if (loses_a_byte) static_cast<std::byte*>(piece.host)[piece.size_bytes - 1] ^= std::byte{1};
    }
    return take_time();
  }
  Settings settings() const override { return configured.empty() ? Settings{.gatherers = 3} : configured.back(); }
  Status configure(const Settings& settings) override {
    configured.push_back(settings);
    return {};
  }

  using Result0 = Result<std::unique_ptr<Transfer>>;
  Result0 upload_ahead(int, std::span<const Piece>, Stream, std::shared_ptr<void>, const std::string&) override {
    return Error{"not here"};
  }
  Result0 download_behind(int, std::span<const Piece>, Stream, std::shared_ptr<void>, bool,
                          const std::string&) override {
    return Error{"not here"};
  }
  Result0 copy_peer(int, DeviceAddress, Stream, int, DeviceAddress, Stream, std::size_t, std::shared_ptr<void>,
                    const std::string&) override {
    return Error{"not here"};
  }
  Result<PeerRoute> peer_route(int, int) override { return Error{"not here"}; }
  Status pin(void*, std::size_t, int) override { return Error{"not here"}; }
  Status unpin(void*) override { return Error{"not here"}; }
  Status find_pinned(int, std::span<Piece>) override { return Error{"not here"}; }
  Result<DeviceRange> allocation_at(int, DeviceAddress) override { return Error{"not here"}; }
  Result<bool> is_capturing(int, Stream) override { return Error{"not here"}; }
  Result<bool> is_idle(int, Stream) override { return Error{"not here"}; }
  Stats stats() const override { return {}; }
  std::size_t release_pinned() override { return 0; }
  void reap() override {}

 private:
  Status take_time() {
    // 0 is as fast as it goes. Whoever sleeps is awake again soon, however busy the machine is.
    if (const int us = time_us(settings()); us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
    return {};
  }
};

std::vector<unsigned int> threads_to_try() {
  std::vector<unsigned int> threads;
  for (const unsigned int count : {1U, 2U, 4U, 6U, 8U, 12U, 16U, 24U}) {
    if (count <= usable_cores()) threads.push_back(count);
  }
  return threads;
}

class Calibrating : public ::testing::Test {
 protected:
  Result<Calibration> calibrated() {
    return calibrate(
        engine_, driver_, 1, [this](std::size_t done, std::size_t all) { told_.emplace_back(done, all); }, kBytes);
  }

  cuda::Driver driver_ = plain_driver();
  TimedEngine engine_;
  std::vector<std::pair<std::size_t, std::size_t>> told_;
};

TEST_F(Calibrating, TriesThreadsThenChunksThenStores) {
  const auto found = calibrated();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->device, 1);
  EXPECT_EQ(found->device_name, "The GPU");
  EXPECT_NEAR(found->h2d_pinned_gbps, 8192 / 1e6, 1e-6);
  EXPECT_NEAR(found->d2h_pinned_gbps, 8192 / 1e6, 1e-6);
  const std::vector<unsigned int> threads = threads_to_try();
  ASSERT_EQ(found->points.size(), threads.size() + 4 + 2);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    EXPECT_EQ(found->points[i].threads, threads[i]);
    EXPECT_EQ(found->points[i].chunk_bytes, 2 * kMiB);
    EXPECT_EQ(found->points[i].store, Store::kStreaming);
  }
  std::vector<std::size_t> chunks;
  for (std::size_t i = 0; i < 4; ++i) chunks.push_back(found->points[threads.size() + i].chunk_bytes);
  EXPECT_THAT(chunks, ElementsAre(kMiB, 4 * kMiB, 8 * kMiB, 16 * kMiB));
  EXPECT_EQ(found->points[threads.size() + 4].store, Store::kPlain);
  EXPECT_EQ(found->points[threads.size() + 5].store, Store::kString);
  // The first turn of six in each direction only warms up, and is made all the same.
  EXPECT_EQ(engine_.uploads, static_cast<int>(6 * found->points.size()));
  EXPECT_EQ(engine_.downloads, engine_.uploads);
  EXPECT_TRUE(engine_.all_were_fresh);
  ASSERT_EQ(told_.size(), found->points.size());
  for (std::size_t i = 0; i < told_.size(); ++i) EXPECT_EQ(told_[i], std::pair(i + 1, told_.size()));
}

TEST_F(Calibrating, KeepsWhatIsFastestAndLeavesTheEngineWithIt) {
  engine_.time_us = [](const Settings& settings) {
    return settings.chunk_bytes == 8 * kMiB ? settings.store == Store::kString ? 1000 : 5000 : 20000;
  };
  const auto found = calibrated();
  ASSERT_TRUE(found) << found.error().message;
  const std::size_t threads = threads_to_try().size();
  EXPECT_EQ(found->points[threads + 4].chunk_bytes, 8 * kMiB);
  EXPECT_EQ(found->points[threads + 5].chunk_bytes, 8 * kMiB);
  EXPECT_EQ(found->best.chunk_bytes, 8 * kMiB);
  EXPECT_EQ(found->best.store, Store::kString);
  EXPECT_EQ(found->best.threads, found->points[threads].threads);
  // A rate is bytes over nanoseconds: at most that of the time that a transfer takes at least.
  EXPECT_GT(found->best.h2d_gbps, 0);
  EXPECT_LE(found->best.h2d_gbps, 8192 / 1e6);
  EXPECT_LE(found->best.d2h_gbps, 8192 / 1e6);
  EXPECT_GT(found->best.h2d_gbps, found->points[0].h2d_gbps);
  ASSERT_FALSE(engine_.configured.empty());
  const Settings& last = engine_.configured.back();
  for (const Settings& settings : {last, found->settings}) {
    EXPECT_EQ(settings.threads, found->best.threads);
    EXPECT_EQ(settings.chunk_bytes, 8 * kMiB);
    EXPECT_EQ(settings.store, Store::kString);
    EXPECT_EQ(settings.gatherers, 3U);  // as it was
  }
  EXPECT_EQ(engine_.configured.size(), found->points.size() + 1);
}

TEST_F(Calibrating, StaysWithTheFirstWhereNothingIsWorthIt) {
  engine_.time_us = [](const Settings& settings) {
    const bool is_first = settings.threads == 1 && settings.chunk_bytes == 2 * kMiB;
    return is_first && settings.store == Store::kStreaming ? 1000 : 10000;
  };
  const auto found = calibrated();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->settings.threads, 1U);
  EXPECT_EQ(found->settings.chunk_bytes, 2 * kMiB);
  EXPECT_EQ(found->settings.store, Store::kStreaming);
  for (const CalibrationPoint& point : found->points) {
    EXPECT_EQ(point.threads <= usable_cores(), true);
  }
}

// Of six turns, the first warms up and two are slow. The median of the other five is a fast one.
TEST_F(Calibrating, TakesTheMedianOfFiveTurns) {
  constexpr int kSlowUs = 30000;
  engine_.time_us = [this](const Settings&) {
    const bool is_first_point = engine_.configured.size() == 1;
    const int turn = engine_.downloads == 0 ? engine_.uploads : engine_.downloads;
    return is_first_point && (turn == 1 || turn == 4 || turn == 6) ? kSlowUs : 0;
  };
  const auto found = calibrated();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_GT(found->points[0].h2d_gbps, kBytes / (kSlowUs * 1e3));
  EXPECT_GT(found->points[0].d2h_gbps, kBytes / (kSlowUs * 1e3));
}

// This machine may have a driver, or none.
TEST_F(Calibrating, ThisMachineNeedsItsDriver) {
  const auto driver = cuda::load_driver();
  if (driver) return;
  const auto found = calibrate(engine_, 0, nullptr);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, driver.error().message);
}

TEST_F(Calibrating, NoticesBytesThatDidNotArrive) {
  engine_.loses_a_byte = true;
  const auto found = calibrated();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("calibrating: other bytes came back from device 1 than were sent"));
}

TEST_F(Calibrating, EndsWithTheFirstFailure) {
  engine_.refuses = true;
  const auto found = calibrated();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "the upload is refused");
  EXPECT_EQ(engine_.uploads, 1);
  EXPECT_TRUE(told_.empty());
  driver_.mem_alloc = [](cuda::DevicePointer*, std::size_t) { return 2; };
  EXPECT_THAT(calibrated().error().message, HasSubstr("allocating device memory failed"));
}

TEST_F(Calibrating, NeedsNobodyToTell) {
  EXPECT_TRUE(calibrate(engine_, driver_, 1, nullptr, kBytes));
  EXPECT_FALSE(calibrate(engine_, driver_, 2, nullptr, kBytes));
}

}  // namespace
}  // namespace turnpike::move
