// The thread that samples NVML's counters of GPU performance (GPM).
#include "record/collect/link_traffic.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/clock.h"
#include "base/fork_mutex.h"
#include "record/handover/own_thread.h"
#include "record/handover/record_batch.h"
#include "record/handover/wake_flag.h"

namespace turnpike::record {
namespace {

constexpr std::int64_t kPatienceNs = 300'000'000;
// While NVML starts: a process that ends meanwhile would take its library down under it.
constexpr std::int64_t kStartPatienceNs = 3'000'000'000;

struct Gpu {
  std::uint32_t device;
  PciAddress address;
};

// A rate in MiB a second over some time. NVML counts in floating point: what cannot be is not a count.
std::uint64_t bytes_of(const cuda::NvmlGpmMetric& metric, std::int64_t duration_ns) {
  constexpr double kMost = 1e18;
  const double bytes = metric.value * (1 << 20) * static_cast<double>(duration_ns) / 1e9;
  if (metric.result != 0 || !(bytes >= 0 && bytes <= kMost)) return trace::kUnknownSize;
  return static_cast<std::uint64_t>(bytes);
}

// The counters of one GPU.
class Meter {
 public:
  // Takes the first sample. `why_not` stays empty if that works.
  Meter(const cuda::Nvml& nvml, const Gpu& gpu, std::string& why_not) : nvml_(&nvml), device_(gpu.device) {
    if (nvml.device_by_bus_id(nvml_bus_id(gpu.address).c_str(), &handle_) != 0) {
      why_not = "NVML has no GPU " + nvml_bus_id(gpu.address);
    } else if (nvml.gpm_sample_alloc(&before_) != 0 || nvml.gpm_sample_alloc(&after_) != 0 ||
               nvml.gpm_sample_get(handle_, before_) != 0) {
      why_not = "this GPU does not count it: those before Hopper, and parts of a GPU (MIG), do not";
    }
    since_ns_ = realtime_ns();
  }
  Meter(Meter&& other) noexcept
      : nvml_(other.nvml_),
        device_(other.device_),
        handle_(other.handle_),
        before_(std::exchange(other.before_, nullptr)),
        after_(std::exchange(other.after_, nullptr)),
        since_ns_(other.since_ns_) {}
  Meter& operator=(Meter&&) = delete;
  ~Meter() {
    for (void* sample : {before_, after_}) {
      if (sample != nullptr) nvml_->gpm_sample_free(sample);
    }
  }

  // Appends what was carried since the last call; nothing if NVML does not say.
  void read(std::vector<trace::LinkTrafficRecord>& records) {
    if (nvml_->gpm_sample_get(handle_, after_) != 0) return;
    const std::int64_t now_ns = realtime_ns();
    cuda::NvmlGpmMetrics rates;
    rates.before = before_;
    rates.after = after_;
    constexpr unsigned int kIds[] = {cuda::kNvmlGpmPcieIn, cuda::kNvmlGpmPcieOut, cuda::kNvmlGpmNvlinkIn,
                                     cuda::kNvmlGpmNvlinkOut};
    for (std::size_t i = 0; i < std::size(kIds); ++i) rates.metrics[i].id = kIds[i];
    const bool is_counted = nvml_->gpm_metrics_get(&rates) == 0;
    const std::int64_t duration_ns = now_ns - since_ns_;
    if (is_counted && duration_ns > 0) {
      auto record = make_record<trace::LinkTrafficRecord>(trace::RecordKind::kLinkTraffic);
      record.device = device_;
      record.start_ns = since_ns_;
      record.end_ns = now_ns;
      record.pcie_in_bytes = bytes_of(rates.metrics[0], duration_ns);
      record.pcie_out_bytes = bytes_of(rates.metrics[1], duration_ns);
      record.nvlink_in_bytes = bytes_of(rates.metrics[2], duration_ns);
      record.nvlink_out_bytes = bytes_of(rates.metrics[3], duration_ns);
      records.push_back(record);
    }
    std::swap(before_, after_);
    since_ns_ = now_ns;
  }

 private:
  const cuda::Nvml* nvml_;
  std::uint32_t device_;
  nvmlDevice_st* handle_ = nullptr;
  void* before_ = nullptr;
  void* after_ = nullptr;
  std::int64_t since_ns_ = 0;
};

}  // namespace

struct LinkTraffic::Shared {
  LoadNvml load;
  std::int64_t pitch_ns;
  WakeFlag must_end, has_started, has_ended;
  ForkMutex mutex;  // of all below
  std::vector<Gpu> added;
  std::vector<trace::LinkTrafficRecord> records;
  std::map<std::uint32_t, std::string> why_not;  // by device; empty: it is counted
};

void LinkTraffic::watch(std::uint32_t device, PciAddress address) {
  const bool is_first = shared_ == nullptr;
  if (is_first) {
    shared_ = std::make_shared<Shared>();
    shared_->load = load_;
    shared_->pitch_ns = pitch_ns_;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->added.push_back({device, address});
  }
  if (!is_first) return;
  if (start_own_thread<run>("turnpike-links", shared_) == 0) return;
  shared_->why_not[device] = "no thread can be started";
  shared_->has_started.set();
  shared_->has_ended.set();
}

void LinkTraffic::run(Shared& shared) {
  try {
    count(shared);
  } catch (...) {  // out of memory: what is counted until now is there
  }
  shared.has_started.set();
  shared.has_ended.set();
}

void LinkTraffic::count(Shared& shared) {
  const auto nvml = shared.load();
  std::string why_none;
  if (!nvml) {
    why_none = nvml.error().message;
  } else if (!nvml->has_gpm()) {
    why_none = "the driver's NVML does not count it";
  } else if (nvml->init(cuda::kNvmlAttach) != 0) {
    why_none = "NVML does not start";
  }
  shared.has_started.set();
  std::vector<Meter> meters;
  bool is_last = false;
  while (true) {
    std::vector<Gpu> added;
    {
      const std::lock_guard lock(shared.mutex);
      added.swap(shared.added);
    }
    for (const Gpu& gpu : added) {
      std::string why_not = why_none;
      if (why_not.empty()) {
        Meter meter(*nvml, gpu, why_not);
        if (why_not.empty()) meters.push_back(std::move(meter));
      }
      const std::lock_guard lock(shared.mutex);
      shared.why_not[gpu.device] = why_not;
    }
    if (is_last || !why_none.empty()) break;
    is_last = shared.must_end.wait(shared.pitch_ns);
    std::vector<trace::LinkTrafficRecord> records;
    for (Meter& meter : meters) meter.read(records);
    const std::lock_guard lock(shared.mutex);
    shared.records.insert(shared.records.end(), records.begin(), records.end());
  }
  meters.clear();
  if (why_none.empty()) nvml->shutdown();
}

std::vector<trace::LinkTrafficRecord> LinkTraffic::take() {
  if (shared_ == nullptr) return {};
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->records, {});
}

void LinkTraffic::finish() noexcept {
  if (shared_ == nullptr) return;
  shared_->must_end.set();
  shared_->has_started.wait(kStartPatienceNs);
  shared_->has_ended.wait(kPatienceNs);
}

void LinkTraffic::put(Metadata& metadata) const {
  if (shared_ == nullptr) return;
  const std::lock_guard lock(shared_->mutex);
  for (const auto& [device, why_not] : shared_->why_not) {
    if (!why_not.empty()) metadata["link_traffic." + std::to_string(device)] = "unknown: " + why_not;
  }
}

}  // namespace turnpike::record
