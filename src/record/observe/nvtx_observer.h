// Hears of the program's NVTX ranges, and starts and stops the recording at one of them when that was asked for.
#pragma once

#include <atomic>
#include <string>

namespace turnpike::record {

class LossCounters;
class StringTable;
class ThreadHandover;

// Notes ranges only during a recording. Without one, a range costs the program one read of memory. A range that is open
// when a recording begins or ends has no record.
class NvtxObserver {
 public:
  NvtxObserver(StringTable& strings, ThreadHandover& handover, LossCounters& losses)
      : strings_(strings), handover_(handover), losses_(losses) {}

  // Within a recording. While it does not listen, pushes are noted all the same: their ranges may end while it does.
  void set_listening(bool is_listening) noexcept;
  void begin_recording() noexcept;
  // Any thread, also in a signal handler.
  void end_recording() noexcept;
  // Around a fork, as StringTable has them.
  void before_fork() noexcept;
  void after_fork() noexcept;
  using CaptureRange = void (*)(bool is_start);
  // In this recording and the next ones, calls `function` when a range named `name` starts and when it ends, also while
  // not listening. nullptr: no range is special. Before begin_recording.
  void set_capture_range(std::string name, CaptureRange function);

  // Becomes the listener of one loaded copy of NVTX. There is one observer per process.
  static bool install(NvtxObserver& observer, void* get_export_table) noexcept;

 private:
  friend struct NvtxEvents;
  struct Captured {
    std::string name;
    CaptureRange function;
  };

  StringTable& strings_;
  ThreadHandover& handover_;
  LossCounters& losses_;
  // Never freed: a range of the recording before may be under way on another thread.
  std::atomic<const Captured*> captured_{nullptr};
};

}  // namespace turnpike::record
