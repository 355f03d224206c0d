// Looks who uses a GPU before it opens a context of its own there.
#include "move/idle_links.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <thread>

#include "cuda/driver.h"

namespace turnpike::move {
namespace {

using cuda::Driver;
using cuda::Nvml;
using std::chrono::milliseconds;

constexpr milliseconds kPause{50};

// Ends what init began. NVML attaches to the GPUs: of one that nobody uses it tells nothing otherwise.
class NvmlSession {
 public:
  explicit NvmlSession(const Nvml& nvml) : nvml_(nvml), is_up_(nvml.init(cuda::kNvmlAttach) == 0) {}
  NvmlSession(const NvmlSession&) = delete;
  NvmlSession& operator=(const NvmlSession&) = delete;
  ~NvmlSession() {
    if (is_up_) nvml_.shutdown();
  }
  bool is_up() const { return is_up_; }

 private:
  const Nvml& nvml_;
  bool is_up_;
};

struct Gpu {
  int ordinal = 0;
  std::string name;
  std::string bus_id;
};

std::vector<Gpu> one_of_each_name(const Driver& driver) {
  std::vector<Gpu> gpus;
  int count = 0;
  if (driver.device_get_count(&count) != 0) return gpus;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    std::array<char, 256> name{};
    if (driver.device_get(&device, ordinal) != 0) continue;
    if (driver.device_get_name(name.data(), static_cast<int>(name.size()) - 1, device) != 0) continue;
    const auto is_same = [&](const Gpu& gpu) { return gpu.name == name.data(); };
    if (std::any_of(gpus.begin(), gpus.end(), is_same)) continue;
    const auto attribute = [&](int number) {
      int value = 0;
      driver.device_get_attribute(&value, number, device);
      return static_cast<unsigned int>(value);
    };
    std::array<char, 32> bus_id{};
    std::snprintf(bus_id.data(), bus_id.size(), "%08x:%02x:%02x.0", attribute(cuda::kAttributePciDomain),
                  attribute(cuda::kAttributePciBus), attribute(cuda::kAttributePciDevice));
    gpus.push_back({ordinal, name.data(), bus_id.data()});
  }
  return gpus;
}

// False as long as a process has a context there or kernels ran a moment ago. An Error when NVML does not tell. In a
// container NVML may hide the processes of others; their kernels it shows.
Result<bool> is_idle(const Nvml& nvml, const Gpu& gpu) {
  nvmlDevice_st* handle = nullptr;
  cuda::NvmlUtilization use;
  if (nvml.device_by_bus_id(gpu.bus_id.c_str(), &handle) != 0 || nvml.utilization(handle, &use) != 0) {
    return Error{"NVML does not tell whether GPU " + std::to_string(gpu.ordinal) + " is in use"};
  }
  unsigned int count = 0;
  const auto code = nvml.compute_processes(handle, &count, nullptr);
  if (code != 0 && code != cuda::kNvmlInsufficientSize) {
    return Error{"NVML does not tell who uses GPU " + std::to_string(gpu.ordinal)};
  }
  return count == 0 && code == 0 && use.gpu == 0;
}

Status wait_until_idle(const Nvml& nvml, const Gpu& gpu, const Sleep& sleep, milliseconds& left) {
  for (;; left -= kPause) {
    const auto idle = is_idle(nvml, gpu);
    if (!idle) return idle.error();
    if (*idle) return {};
    if (left < kPause) return Error{"GPU " + std::to_string(gpu.ordinal) + " is in use"};
    sleep(kPause);
  }
}

}  // namespace

Result<IdleLinks> measure_idle_links(const Driver& driver, const Nvml& nvml, const Sleep& sleep, std::size_t rate_bytes,
                                     const Now& now) {
  if (const auto code = driver.init(0); code != 0) {
    return Error{"the CUDA driver does not start: " + driver.describe(code)};
  }
  const NvmlSession session(nvml);
  if (!session.is_up()) return Error{"NVML does not start, so it cannot tell who uses the GPU"};
  IdleLinks measured;
  milliseconds left = kIdlePatience;
  for (const Gpu& gpu : one_of_each_name(driver)) {
    if (measured.took > kMeasuringTime) break;
    if (const auto idle = wait_until_idle(nvml, gpu, sleep, left); !idle) return idle.error();
    const auto start = now();
    auto links = measure_links(driver, gpu.ordinal, rate_bytes, kShortWarmUpMs);
    if (!links) return links.error();
    measured.took += now() - start;
    measured.links.push_back(std::move(links->front()));
  }
  return measured;
}

Result<IdleLinks> measure_idle_links() {
  const auto driver = cuda::load_driver();
  if (!driver) return IdleLinks();
  const auto nvml = cuda::load_nvml();
  if (!nvml) return Error{nvml.error().message + ", so NVML cannot tell who uses the GPU"};
  return measure_idle_links(*driver, *nvml, [](milliseconds time) { std::this_thread::sleep_for(time); });
}

}  // namespace turnpike::move
