// One function per kind of CUPTI's activity records.
#include "record/collect/activity_decoder.h"

#include "cuda/activity.h"

namespace turnpike::record {

using cuda::ActivityKind;

void ActivityDecoder::begin(const cuda::Cupti* cupti, std::uint32_t cupti_version, const trace::ClockSample& start) {
  cupti_ = cupti;
  cupti_version_ = cupti_version;
  start_ = start;
  now_ = start;
  clock_.begin(start);
}

void ActivityDecoder::decode(std::uint8_t* buffer, std::size_t valid_bytes, RecordBatch& batch) {
  void* activity = nullptr;
  cuda::CuptiResult result;
  while ((result = cupti_->activity_get_next_record(buffer, valid_bytes, &activity)) == cuda::kCuptiSuccess) {
    decode_one(activity, batch);
  }
  // Anything but the regular end: CUPTI could not step over a record, what stands behind it is lost.
  if (result != cuda::kCuptiMaxLimitReached) losses_.add(trace::Loss::kUnknownActivity);
}

std::uint64_t ActivityDecoder::count(std::uint8_t* buffer, std::size_t valid_bytes) const {
  std::uint64_t count = 0;
  void* activity = nullptr;
  while (cupti_->activity_get_next_record(buffer, valid_bytes, &activity) == cuda::kCuptiSuccess) ++count;
  return count;
}

void ActivityDecoder::decode_one(const void* activity, RecordBatch& batch) {
  switch (*static_cast<const ActivityKind*>(activity)) {
    case ActivityKind::kMemcpy:
      return decode_memcpy(activity, batch);
    case ActivityKind::kPeerMemcpy:
      return decode_peer_memcpy(activity, batch);
    case ActivityKind::kMemset:
      return decode_memset(activity, batch);
    case ActivityKind::kConcurrentKernel:
      return decode_kernel(activity, batch);
    case ActivityKind::kManagedMemory:
      return decode_migration(activity, batch);
  }
  losses_.add(trace::Loss::kUnknownActivity);
}

// What all work on a stream has in common.
template <typename Activity, typename Record>
void ActivityDecoder::take_work(const Activity& from, Record& to) {
  to.device = from.device;
  if (from.device < 64) used_devices_ |= std::uint64_t{1} << from.device;
  set_times(from.start_ns, from.end_ns, to.start_ns, to.end_ns);
  to.correlation = from.correlation;
  to.context = from.context;
  to.stream = from.stream;
  to.graph_node = from.graph_node;
}

// Work of a CUDA graph has the call that launched the graph, which the detail transfers does not hear.
template <typename Record>
void ActivityDecoder::add_work(const Record& work, RecordBatch& batch) {
  const bool has_own_call = work.correlation != 0 && work.graph_node == 0;
  if (calls_ == nullptr || !has_own_call || calls_->has(work.correlation)) {
    batch.add(work);
  } else {
    calls_->keep(work);
  }
}

// What copies on one device and copies between two have in common.
template <typename Activity>
trace::MemcpyRecord ActivityDecoder::copy_of(const Activity& from) {
  auto to = make_record<trace::MemcpyRecord>(trace::RecordKind::kMemcpy);
  take_work(from, to);
  to.bytes = from.bytes;
  to.copy_kind = trace::CopyKind{from.copy_kind};
  to.src_kind = trace::MemoryKind{from.src_kind};
  to.dst_kind = trace::MemoryKind{from.dst_kind};
  to.is_async = from.flags & 1;
  to.src_device = trace::kUnknownId;
  to.dst_device = trace::kUnknownId;
  to.graph = from.graph;
  to.copy_count = 1;
  return to;
}

void ActivityDecoder::decode_memcpy(const void* activity, RecordBatch& batch) {
  const auto& from = *static_cast<const cuda::MemcpyActivity*>(activity);
  trace::MemcpyRecord to = copy_of(from);
  to.copy_count = cuda::copy_count(from, cupti_version_);
  add_work(to, batch);
}

void ActivityDecoder::decode_peer_memcpy(const void* activity, RecordBatch& batch) {
  const auto& from = *static_cast<const cuda::PeerMemcpyActivity*>(activity);
  trace::MemcpyRecord to = copy_of(from);
  to.src_device = from.src_device;
  to.dst_device = from.dst_device;
  add_work(to, batch);
}

void ActivityDecoder::decode_memset(const void* activity, RecordBatch& batch) {
  const auto& from = *static_cast<const cuda::MemsetActivity*>(activity);
  auto to = make_record<trace::MemsetRecord>(trace::RecordKind::kMemset);
  take_work(from, to);
  to.bytes = from.bytes;
  to.value = from.value;
  to.memory_kind = static_cast<trace::MemoryKind>(from.memory_kind);
  add_work(to, batch);
}

void ActivityDecoder::decode_kernel(const void* activity, RecordBatch& batch) {
  const auto& from = *static_cast<const cuda::KernelActivity*>(activity);
  if (calls_of_kernels_ != nullptr && !calls_of_kernels_->has(from.correlation)) return;
  auto to = make_record<trace::KernelRecord>(trace::RecordKind::kKernel);
  take_work(from, to);
  to.name = kernel_name(from.name);
  to.graph = from.graph;
  add_work(to, batch);
}

void ActivityDecoder::decode_migration(const void* activity, RecordBatch& batch) {
  const auto& from = *static_cast<const cuda::ManagedMemoryActivity*>(activity);
  auto to = make_record<trace::MigrationRecord>(trace::RecordKind::kMigration);
  switch (from.counter) {
    case 1:
      to.kind = trace::MigrationKind::kHostToDevice;
      break;
    case 2:
      to.kind = trace::MigrationKind::kDeviceToHost;
      break;
    case 8:
      to.kind = trace::MigrationKind::kDeviceToDevice;
      break;
    default:
      return;  // a counter that was not asked for
  }
  to.device = to.kind == trace::MigrationKind::kHostToDevice ? from.dst_device : from.src_device;
  set_times(from.start_ns, from.end_ns, to.start_ns, to.end_ns);
  to.bytes = from.value;
  to.address = from.address;
  batch.add(to);
}

std::uint32_t ActivityDecoder::kernel_name(const char* name) {
  if (name == nullptr) return trace::kNoId;
  const auto [entry, is_new] = kernel_names_.try_emplace(name, trace::kNoId);
  if (is_new) entry->second = strings_.intern(name);
  return entry->second;
}

void ActivityDecoder::set_times(std::uint64_t start, std::uint64_t end, std::int64_t& start_ns, std::int64_t& end_ns) {
  start_ns = to_realtime(start);
  end_ns = to_realtime(end);
  if (start_ns != trace::kUnknownTime && end_ns != trace::kUnknownTime && start_ns <= end_ns) return;
  start_ns = end_ns = trace::kUnknownTime;
  losses_.add(trace::Loss::kInvalidDeviceTimes);
}

// A profiler that ran in this process before (PyTorch's does) may have left CUPTI with a clock of its own, the
// processor's time stamp counter: such times lie far outside this recording, and are led back by the two clock samples.
std::int64_t ActivityDecoder::to_realtime(std::uint64_t time) {
  constexpr std::int64_t kSlack = 60'000'000'000;  // a minute: device clocks are interpolated, host clocks are set
  const auto is_plausible = [&](std::int64_t ns) {
    return ns > start_.realtime_ns - kSlack && ns < now_.realtime_ns + kSlack;
  };
  const auto as_given = static_cast<std::int64_t>(time);
  if (time != 0 && clock_.is_other() && clock_.covers(as_given)) {
    losses_.set(trace::Loss::kOtherDeviceClock, 1);
    return clock_.to_realtime(as_given);
  }
  if (time != 0 && is_plausible(as_given)) return as_given;
  if (time == 0 || start_.tsc == 0 || now_.tsc <= start_.tsc) return trace::kUnknownTime;
  const double ns_per_tick =
      static_cast<double>(now_.realtime_ns - start_.realtime_ns) / static_cast<double>(now_.tsc - start_.tsc);
  const double since_start = static_cast<double>(static_cast<std::int64_t>(time - start_.tsc)) * ns_per_tick;
  const std::int64_t converted = start_.realtime_ns + static_cast<std::int64_t>(since_start);
  return is_plausible(converted) ? converted : trace::kUnknownTime;
}

}  // namespace turnpike::record
