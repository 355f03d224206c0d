// Turns CUPTI's activity records into the records of a trace.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "cuda/cupti.h"
#include "record/collect/device_clock.h"
#include "record/collect/work_of_calls.h"
#include "record/handover/loss_counters.h"
#include "record/handover/record_batch.h"
#include "record/stacks/string_table.h"
#include "trace/format.h"

namespace turnpike::record {

// Collector's thread only.
class ActivityDecoder {
 public:
  ActivityDecoder(StringTable& strings, LossCounters& losses) : strings_(strings), losses_(losses) {}

  // Before the first buffer. `cupti` outlives the decoder.
  void begin(const cuda::Cupti* cupti, std::uint32_t cupti_version, const trace::ClockSample& start);
  // The newest clock sample: what times are judged by.
  void set_now(const trace::ClockSample& now) {
    now_ = now;
    clock_.note(now);
  }
  // Whether CUPTI has a clock of its own: then samples are wanted whenever there may be records.
  bool has_other_clock() const { return clock_.is_other(); }

  // From now on work whose call has not been taken waits there, instead of going into the batch.
  void match_with(WorkOfCalls* calls) { calls_ = calls; }
  // Leaves out kernels whose calls have not been taken.
  void leave_out_unheard_kernels(const WorkOfCalls* calls) { calls_of_kernels_ = calls; }

  // Appends the records of one buffer to `batch`.
  void decode(std::uint8_t* buffer, std::size_t valid_bytes, RecordBatch& batch);
  // A bit for each of the first 64 GPUs that copied or computed.
  std::uint64_t used_devices() const { return used_devices_; }
  // How many records a buffer holds, for buffers that are dropped.
  std::uint64_t count(std::uint8_t* buffer, std::size_t valid_bytes) const;

 private:
  void decode_one(const void* activity, RecordBatch& batch);
  template <typename Record>
  void add_work(const Record& work, RecordBatch& batch);
  template <typename Activity, typename Record>
  void take_work(const Activity& from, Record& to);
  template <typename Activity>
  trace::MemcpyRecord copy_of(const Activity& from);
  void decode_memcpy(const void* activity, RecordBatch& batch);
  void decode_peer_memcpy(const void* activity, RecordBatch& batch);
  void decode_memset(const void* activity, RecordBatch& batch);
  void decode_kernel(const void* activity, RecordBatch& batch);
  void decode_migration(const void* activity, RecordBatch& batch);
  std::uint32_t kernel_name(const char* name);
  void set_times(std::uint64_t start, std::uint64_t end, std::int64_t& start_ns, std::int64_t& end_ns);
  std::int64_t to_realtime(std::uint64_t time);

  StringTable& strings_;
  LossCounters& losses_;
  const cuda::Cupti* cupti_ = nullptr;
  WorkOfCalls* calls_ = nullptr;
  const WorkOfCalls* calls_of_kernels_ = nullptr;
  std::uint32_t cupti_version_ = 0;
  std::uint64_t used_devices_ = 0;
  trace::ClockSample start_{};
  trace::ClockSample now_{};
  DeviceClock clock_;
  // By address: CUPTI's names of kernels stay where they are for the life of the process.
  std::unordered_map<const char*, std::uint32_t> kernel_names_;
};

}  // namespace turnpike::record
