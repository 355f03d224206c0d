// The way of activity records through the fake CUPTI.
#include "activity.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "device_clock.h"
#include "records.h"
#include "script.h"

namespace turnpike::fake {
namespace {

// The caller hands work over itself when so much is pending, so that request callbacks come on its thread too.
constexpr std::size_t kDrainAt = 512;
#if defined(__x86_64__)
// Raw ticks of the processor, as torch.profiler's clock gives them.
std::uint64_t as_ticks(std::uint64_t time_ns) {
  struct Moment {
    std::uint64_t ns = clock_realtime_ns();
    std::uint64_t ticks = __builtin_ia32_rdtsc();
  };
  // Two moments far enough apart to tell the rate.
  static const Moment first;
  static const Moment second = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return Moment();
  }();
  const double ticks_per_ns =
      static_cast<double>(second.ticks - first.ticks) / static_cast<double>(second.ns - first.ns);
  const auto since_first = static_cast<double>(static_cast<std::int64_t>(time_ns - first.ns));
  return first.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(since_first * ticks_per_ns));
}
#else
// There torch.profiler's clock gives nanoseconds.
std::uint64_t as_ticks(std::uint64_t time_ns) {
  return time_ns;
}
#endif

bool is_every(std::uint64_t period, std::uint64_t number) {
  return period != 0 && number % period == 0;
}

}  // namespace

Activity& activity() {
  static Activity& instance = *new Activity;
  return instance;
}

void Activity::set_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  request_ = request;
  complete_ = complete;
  std::call_once(worker_started_, [this] {
    if (script().reorder_seed) shuffler_.seed(*script().reorder_seed);
    std::thread(&Activity::run_worker, this).detach();
  });
}

void Activity::enable(CUpti_ActivityKind kind, bool is_enabled) {
  is_enabled_[kind] = is_enabled;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !is_enabled) ++truth_.kernel_disables;
}

std::size_t Activity::enabled_count() const {
  std::size_t count = 0;
  for (const auto& is_on : is_enabled_) count += is_on ? 1 : 0;
  return count;
}

void Activity::work(const DeviceWork& work) {
  if (!is_enabled_[activity_kind(work.kind)].load(std::memory_order_relaxed)) return;
  ++truth_.produced;
  if (script().is_per_thread) {
    const std::lock_guard lock(fill_mutex_);
    put(thread_buffers_[std::this_thread::get_id()], work);
    return;
  }
  bool is_much = false;
  {
    const std::lock_guard lock(pending_mutex_);
    pending_.push_back(work);
    is_much = pending_.size() % kDrainAt == 0;
  }
  if (is_much) drain(false);
}

bool Activity::flush(bool is_forced) {
  if (complete_.load() == nullptr) return false;
  if (has_thread_buffers_) ++truth_.unsafe_flushes;
  drain(is_forced);
  {
    const std::lock_guard lock(fill_mutex_);
    if (is_forced || !script().keeps_until_full) close(shared_buffer_);
    for (auto& [thread, buffer] : thread_buffers_) close(buffer);
    // The next records go into a buffer that was asked for before whatever follows.
    if (script().keeps_buffers) make_room(shared_buffer_, 1);
  }
  std::uint64_t closed = 0;
  {
    const std::lock_guard lock(full_mutex_);
    closed = closed_count_;
  }
  deliver_all();
  // The worker may still be delivering one of them; what is closed meanwhile is not waited for.
  std::unique_lock lock(full_mutex_);
  full_changed_.wait(lock, [&] { return delivered_count_ >= closed; });
  return true;
}

std::uint64_t Activity::take_dropped() {
  const std::lock_guard lock(fill_mutex_);
  return std::exchange(dropped_, 0);
}

void Activity::run_worker() {
  const auto period = std::chrono::milliseconds(script().period_ms);
  for (;;) {
    {
      std::unique_lock lock(full_mutex_);
      full_changed_.wait_for(lock, period, [this] { return !full_.empty(); });
    }
    drain(false);
    deliver_all();
  }
}

void Activity::drain(bool is_forced) {
  // Taken and put under one lock: records keep the order of the work unless the script says otherwise.
  const std::lock_guard lock(fill_mutex_);
  std::vector<DeviceWork> finished = take_finished(is_forced);
  if (finished.empty()) return;
  if (script().reorder_seed) std::shuffle(finished.begin(), finished.end(), shuffler_);
  for (const DeviceWork& work : finished) put(shared_buffer_, work);
}

std::vector<DeviceWork> Activity::take_finished(bool is_forced) {
  const std::uint64_t now = clock_realtime_ns();
  const std::uint64_t delay_ns = script().delay_ms * 1'000'000;
  std::vector<DeviceWork> finished;
  const std::lock_guard lock(pending_mutex_);
  auto is_finished = [&](const DeviceWork& work) { return work.end_ns + delay_ns <= now; };
  const auto first = std::stable_partition(pending_.begin(), pending_.end(),
                                           [&](const DeviceWork& work) { return !is_forced && !is_finished(work); });
  finished.assign(first, pending_.end());
  pending_.erase(first, pending_.end());
  // What a forced flush tears out of the device has no times yet.
  for (DeviceWork& work : finished) {
    if (work.end_ns > now) work.start_ns = work.end_ns = 0;
  }
  return finished;
}

void Activity::put(Buffer& buffer, DeviceWork work) {
  const Script& told = script();
  const std::uint64_t number = ++record_number_;
  if (is_every(told.drop_every, number)) {
    ++dropped_;
    ++truth_.dropped;
    return;
  }
  if (is_every(told.zero_times_every, number)) work.start_ns = work.end_ns = 0;
  if (told.has_raw_clock && work.start_ns != 0) {
    const std::uint64_t apart = clock_realtime_ns() - read_ns(CLOCK_MONOTONIC_RAW);
    work.start_ns -= apart;
    work.end_ns -= apart;
  }
  if (told.tsc_after && number >= *told.tsc_after) {
    work.start_ns = as_ticks(work.start_ns);
    work.end_ns = as_ticks(work.end_ns);
  }
  scratch_.clear();
  append_record(scratch_, work);
  if (is_every(told.unknown_every, number)) append_unknown_record(scratch_);
  if (!make_room(buffer, scratch_.size())) {
    ++dropped_;
    ++truth_.dropped;
    return;
  }
  std::memcpy(buffer.data + buffer.used, scratch_.data(), scratch_.size());
  buffer.used += scratch_.size();
  ++buffer.records;
  ++truth_.delivered;
}

bool Activity::make_room(Buffer& buffer, std::size_t bytes) {
  const bool is_full = buffer.capacity - buffer.used < bytes ||
                       (buffer.max_records != 0 && buffer.records >= buffer.max_records) ||
                       (script().buffer_records != 0 && buffer.records >= script().buffer_records);
  if (buffer.data != nullptr && !is_full) return true;
  close(buffer);
  const auto request = request_.load();
  if (request == nullptr) return false;
  ++truth_.requests;
  request(&buffer.data, &buffer.capacity, &buffer.max_records);
  if (buffer.data == nullptr || buffer.capacity < bytes) {
    buffer = {};
    return false;
  }
  if (!is_zeroed_by_client_) {
    std::memset(buffer.data, 0, buffer.capacity);
  } else if (std::any_of(buffer.data, buffer.data + buffer.capacity, [](std::uint8_t byte) { return byte != 0; })) {
    ++truth_.unzeroed_buffers;
  }
  return true;
}

void Activity::close(Buffer& buffer) {
  if (buffer.data == nullptr || (script().keeps_buffers && buffer.records == 0)) return;
  {
    const std::lock_guard lock(full_mutex_);
    full_.push_back(buffer);
    ++closed_count_;
  }
  buffer = {};
  full_changed_.notify_all();
}

void Activity::deliver_all() {
  for (;;) {
    Buffer buffer;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    {
      const std::lock_guard lock(full_mutex_);
      complete = complete_;
      if (full_.empty() || complete == nullptr) return;
      buffer = full_.front();
      full_.pop_front();
    }
    ++truth_.completions;
    complete(nullptr, 0, buffer.data, buffer.capacity, buffer.used);
    {
      const std::lock_guard lock(full_mutex_);
      ++delivered_count_;
    }
    full_changed_.notify_all();
  }
}

}  // namespace turnpike::fake
