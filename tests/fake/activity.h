// The way of activity records through the fake CUPTI: pending work, buffers that are filled, buffers that are
// delivered.
#pragma once

#include <cupti_activity.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "boundary.h"

namespace turnpike::fake {

// What the fake knows to be true, for the tests to compare with: written by FAKE_CUPTI_REPORT.
struct Truth {
  std::atomic<std::uint64_t> produced{0};  // records of enabled kinds
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> delivered{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> completions{0};
  std::atomic<std::uint64_t> kernel_disables{0};
  std::atomic<std::uint64_t> unzeroed_buffers{0};  // although the client had promised zeroes
  std::atomic<std::uint64_t> unsafe_flushes{0};    // with a buffer for each thread: the real library can crash then
};

// Thread-safe. One worker thread delivers; a flush delivers on the caller's.
class Activity {
 public:
  void set_callbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
  void enable(CUpti_ActivityKind kind, bool is_enabled);
  std::size_t enabled_count() const;
  void set_zeroed_buffers(bool is_zeroed) { is_zeroed_by_client_ = is_zeroed; }
  void set_thread_buffers(bool has_thread_buffers) { has_thread_buffers_ = has_thread_buffers; }
  void work(const DeviceWork& work);
  // Returns when everything that can be delivered has been. False without callbacks.
  bool flush(bool is_forced);
  std::uint64_t take_dropped();
  const Truth& truth() const { return truth_; }

 private:
  struct Buffer {
    std::uint8_t* data = nullptr;
    std::size_t capacity = 0;
    std::size_t used = 0;
    std::size_t records = 0;
    std::size_t max_records = 0;
  };

  void run_worker();
  void drain(bool is_forced);
  std::vector<DeviceWork> take_finished(bool is_forced);
  void put(Buffer& buffer, DeviceWork work);
  bool make_room(Buffer& buffer, std::size_t bytes);
  void close(Buffer& buffer);
  void deliver_all();

  std::atomic<CUpti_BuffersCallbackRequestFunc> request_{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_{nullptr};
  std::atomic<bool> is_enabled_[128]{};
  std::atomic<bool> is_zeroed_by_client_{false};
  std::atomic<bool> has_thread_buffers_{true};
  std::once_flag worker_started_;
  Truth truth_;

  std::mutex pending_mutex_;
  std::deque<DeviceWork> pending_;

  // Held while the request callback runs, and taken by take_dropped: so a client that holds a lock of its own around
  // the latter and takes it in the former deadlocks here as it does with the real CUPTI.
  std::mutex fill_mutex_;
  Buffer shared_buffer_;
  std::map<std::thread::id, Buffer> thread_buffers_;
  std::vector<std::uint8_t> scratch_;
  std::uint64_t record_number_ = 0;
  std::uint64_t dropped_ = 0;
  std::mt19937_64 shuffler_;

  std::mutex full_mutex_;
  std::condition_variable full_changed_;
  std::deque<Buffer> full_;
  std::uint64_t closed_count_ = 0;
  std::uint64_t delivered_count_ = 0;
};

Activity& activity();

}  // namespace turnpike::fake
