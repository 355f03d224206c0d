// Chooses the threads, takes the time that looking takes.
#include "record/collect/thread_sampler.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "record/handover/record_batch.h"

namespace turnpike::record {
namespace {

constexpr std::int64_t kRecentNs = 1'000'000'000;
constexpr std::int64_t kMaxPitchNs = 500'000'000;
// A look may take this share of the time between two looks, on the recorder's own thread.
constexpr std::int64_t kPitchesACost = 100;
constexpr std::size_t kMaxThreads = 4096;

}  // namespace

void ThreadSampler::note_thread(std::uint32_t thread, std::uintptr_t handle) {
  std::erase_if(threads_, [&](const auto& known) { return known.second.handle == handle; });
  // Of so many, most have ended long ago.
  if (threads_.size() >= kMaxThreads) threads_.clear();
  threads_[thread] = {handle, 0};
}

void ThreadSampler::note_call(std::uint32_t thread, std::int64_t end_ns) {
  const auto known = threads_.find(thread);
  if (known != threads_.end()) known->second.last_call_ns = end_ns;
}

void ThreadSampler::sample(RecordBatch& batch) {
  const std::int64_t now_ns = realtime_ns();
  const std::int64_t cost_before_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
  const auto main_thread = static_cast<std::uint32_t>(getpid());
  looked_at_.clear();
  looks_.clear();
  for (const auto& [id, thread] : threads_) {
    if (id != main_thread && now_ns - thread.last_call_ns > kRecentNs) continue;
    looked_at_.push_back(id);
    looks_.push_back({thread.handle, trace::kNoId});
  }
  if (!looks_.empty()) python_.look_at(looks_);
  for (std::size_t i = 0; i < looks_.size(); ++i) {
    if (looks_[i].stack == trace::kNoId) continue;
    auto record = make_record<trace::SampleRecord>(trace::RecordKind::kSample);
    record.thread = looked_at_[i];
    record.time_ns = now_ns;
    record.stack = looks_[i].stack;
    batch.add(record);
  }
  mean_cost_ns_ += (read_clock(CLOCK_THREAD_CPUTIME_ID) - cost_before_ns - mean_cost_ns_) / 8;
  pitch_ns_ = std::clamp(mean_cost_ns_ * kPitchesACost, kPitchNs, kMaxPitchNs);
}

}  // namespace turnpike::record
