// First the number of threads with middling chunks, then the size of the chunks with the best number, then the stores.
#include "move/calibrate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>

#include "cuda/driver.h"
#include "move/cores.h"
#include "move/device.h"
#include "move/link_rate.h"
#include "move/trial_memory.h"

namespace turnpike::move {
namespace {

// In the order of Store.
constexpr std::array kStoreNames{"plain", "streaming", "string"};

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiddlingChunk = 2048 * kKiB;
constexpr std::array kChunks{1024 * kKiB, 4096 * kKiB, 8192 * kKiB, 16384 * kKiB};
constexpr std::array kThreads{1U, 2U, 4U, 6U, 8U, 12U, 16U, 24U};
constexpr std::array kStores{Store::kPlain, Store::kStreaming, Store::kString};
constexpr int kTurns = 5;
// More threads take cores from the program: they must be worth it.
constexpr double kWorthIt = 1.03;

std::vector<unsigned int> threads_to_try() {
  const unsigned int cores = usable_cores();
  std::vector<unsigned int> threads;
  for (const unsigned int count : kThreads) {
    if (count <= cores) threads.push_back(count);
  }
  return threads;
}

// The memory that is copied to and fro.
class Payload {
 public:
  Payload(Device& device, std::size_t bytes)
      : sent_(known_bytes(bytes, 0)), memory_(device, bytes, "allocating memory to calibrate with") {}

  const Status& status() const { return memory_.status(); }
  Piece up() { return {.host = sent_.data(), .device = memory_.address(), .size_bytes = sent_.size()}; }
  // Into memory that nobody has touched yet, as most downloads go.
  Piece down() {
    returned_.reset();  // first: two of them may be too much
    returned_.reset(new std::byte[sent_.size()]);
    return {.host = returned_.get(), .device = memory_.address(), .size_bytes = sent_.size()};
  }
  bool is_intact() const { return returned_ && std::equal(sent_.begin(), sent_.end(), returned_.get()); }

 private:
  std::vector<std::byte> sent_;
  std::unique_ptr<std::byte[]> returned_;
  DeviceMemory memory_;
};

class Trial {
 public:
  Trial(Engine& engine, Device& device, Payload& payload) : engine_(engine), device_(device), payload_(payload) {}

  Result<CalibrationPoint> run(const Settings& settings) {
    if (const Status status = engine_.configure(settings); !status) return status.error();
    CalibrationPoint point{settings.threads, settings.chunk_bytes, 0, 0, settings.store};
    for (double CalibrationPoint::* rate : {&CalibrationPoint::h2d_gbps, &CalibrationPoint::d2h_gbps}) {
      const auto measured = measure(rate == &CalibrationPoint::h2d_gbps);
      if (!measured) return measured.error();
      point.*rate = *measured;
    }
    if (payload_.is_intact()) return point;
    return Error{"calibrating: other bytes came back from device " + std::to_string(device_.ordinal()) +
                 " than were sent: the device, its memory or its link is faulty"};
  }

 private:
  Result<double> measure(bool is_up) {
    std::array<double, kTurns> rates{};
    for (int turn = -1; turn < kTurns; ++turn) {
      const Piece piece = is_up ? payload_.up() : payload_.down();
      const auto start = std::chrono::steady_clock::now();
      const Status status = is_up ? upload(piece) : engine_.download(device_.ordinal(), {&piece, 1}, nullptr, true);
      if (!status) return status.error();
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      if (turn >= 0) rates[static_cast<std::size_t>(turn)] = static_cast<double>(piece.size_bytes) / took.count();
    }
    std::sort(rates.begin(), rates.end());
    return rates[kTurns / 2];
  }

  Status upload(const Piece& piece) {
    Status status = engine_.upload(device_.ordinal(), {&piece, 1}, nullptr);
    if (!status) return status;
    const InContext in_context(device_);
    return check(device_.driver(), device_.driver().stream_synchronize(nullptr), "copying to the GPU",
                 device_.ordinal());
  }

  Engine& engine_;
  Device& device_;
  Payload& payload_;
};

double score(const CalibrationPoint& point) {
  return std::sqrt(point.h2d_gbps * point.d2h_gbps);
}

}  // namespace

const char* name_of(Store store) {
  return kStoreNames[static_cast<std::size_t>(store)];
}

std::optional<Store> store_of(const std::string& name) {
  const auto found = std::find(kStoreNames.begin(), kStoreNames.end(), name);
  if (found == kStoreNames.end()) return std::nullopt;
  return static_cast<Store>(found - kStoreNames.begin());
}

Result<Calibration> calibrate(Engine& engine, const cuda::Driver& driver, int device,
                              const std::function<void(std::size_t, std::size_t)>& progress, std::size_t bytes) {
  const auto links = measure_links(driver, device, std::min(bytes, kRateBytes));
  if (!links) return links.error();
  auto opened = Device::open(driver, device);
  if (!opened) return opened.error();
  Payload payload(**opened, bytes);
  if (!payload.status()) return payload.status().error();

  Calibration found;
  found.device = device;
  found.device_name = links->front().device_name;
  found.h2d_pinned_gbps = links->front().h2d_pinned_gbps.median;
  found.d2h_pinned_gbps = links->front().d2h_pinned_gbps.median;
  Trial trial(engine, **opened, payload);
  const std::vector<unsigned int> threads = threads_to_try();
  const std::size_t all = threads.size() + kChunks.size() + kStores.size() - 1;
  const auto attempt = [&](unsigned int count, std::size_t chunk_bytes, Store store) -> Status {
    Settings settings = engine.settings();
    settings.threads = count;
    settings.chunk_bytes = chunk_bytes;
    settings.store = store;
    const auto point = trial.run(settings);
    if (!point) return point.error();
    found.points.push_back(*point);
    if (found.points.size() == 1 || score(*point) > kWorthIt * score(found.best)) found.best = *point;
    if (progress) progress(found.points.size(), all);
    return {};
  };
  for (const unsigned int count : threads) {
    if (const Status status = attempt(count, kMiddlingChunk, Settings{}.store); !status) return status.error();
  }
  const unsigned int best_threads = found.best.threads;
  for (const std::size_t chunk_bytes : kChunks) {
    if (const Status status = attempt(best_threads, chunk_bytes, Settings{}.store); !status) return status.error();
  }
  const std::size_t best_chunk = found.best.chunk_bytes;
  for (const Store store : kStores) {
    if (store == Settings{}.store) continue;
    if (const Status status = attempt(best_threads, best_chunk, store); !status) return status.error();
  }
  found.settings = engine.settings();  // of the last trial, which had the best threads and chunks
  found.settings.store = found.best.store;
  if (const Status status = engine.configure(found.settings); !status) return status.error();
  return found;
}

Result<Calibration> calibrate(Engine& engine, int device,
                              const std::function<void(std::size_t, std::size_t)>& progress) {
  const auto driver = cuda::load_driver();
  if (!driver) return driver.error();
  return calibrate(engine, *driver, device, progress);
}

}  // namespace turnpike::move
