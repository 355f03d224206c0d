// Hears of the program's NVTX ranges, and starts and stops the recording at one of them when that was asked for.
#pragma once

#include <cstdint>
#include <string>

namespace turnpike::record {

class StringTable;
class ThreadHandover;

class NvtxObserver {
 public:
  NvtxObserver(StringTable& strings, ThreadHandover& handover) : strings_(strings), handover_(handover) {}

  void set_listening(bool is_listening) noexcept;
  // Between two recordings nothing is noted: a range that begins or ends there has no record.
  void begin_recording() noexcept;
  void end_recording() noexcept;
  // Around a fork, as StringTable has them.
  void before_fork() noexcept;
  void after_fork() noexcept;
  using CaptureRange = void (*)(bool is_start);
  // Calls `function` when a range named `name` starts and when it ends, also while not listening. Before the first
  // range only.
  void set_capture_range(std::string name, CaptureRange function);

  // Becomes the listener of one loaded copy of NVTX. There is one observer per process.
  static bool install(NvtxObserver& observer, void* get_export_table) noexcept;

 private:
  friend struct NvtxEvents;

  StringTable& strings_;
  ThreadHandover& handover_;
  std::string capture_name_;
  CaptureRange capture_range_ = nullptr;
  std::uint32_t recordings_ = 1;
};

}  // namespace turnpike::record
