// The recorder of this process: puts its parts together, starts and stops them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/fork_mutex.h"
#include "cuda/cupti.h"
#include "record/collect/activity_pool.h"
#include "record/collect/guest_activity.h"
#include "record/collect/live_page_writer.h"
#include "record/collect/status_page.h"
#include "record/estate/estate.h"
#include "record/handover/loss_counters.h"
#include "record/handover/thread_handover.h"
#include "record/observe/api_observer.h"
#include "record/observe/nvtx_observer.h"
#include "record/options.h"
#include "record/recording.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"

namespace turnpike::record {

class Recorder {
 public:
  // Made at the first call and never destroyed: CUDA calls come until the very end of a process.
  static Recorder& instance();

  // False: `error` says why. When CUPTI cannot be used, a file that says so is left in the run directory where
  // `options` want one; without it nothing is left.
  bool start(const Options& options, std::string& error);
  // Collects what is under way and closes the file. False: nothing was being recorded, or the file is still being
  // written; `error` says which. Who calls again waits again.
  bool stop(std::string& error);
  // At the end of the process: as stop, but CUPTI is left alone where it can be.
  void finish_process() noexcept;
  // When the process is about to end without exit handlers, or to become another program: brings what CUPTI has into
  // the file, and before an end closes it. Waits a moment at most and takes no lock, since a signal handler may call
  // this amid anything. Does nothing in a child that shares or inherited this memory.
  void finish_at_once() noexcept;
  void before_exec() noexcept;
  // When the exec has failed.
  void after_exec() noexcept;
  // With Options::last: keeps what there is as a run of its own. False: `error` says why not.
  bool keep(const std::string& reason, std::string& error);

  bool is_recording() const noexcept { return state_.load(std::memory_order_acquire) == State::kRecording; }
  // The file that is, or last was, written; "" before the first. Any thread.
  std::string file() const;
  TurnpikeStatus status() noexcept;
  NvtxObserver& nvtx() { return nvtx_; }
  ApiObserver& api() { return api_; }

  // A function to be called at each start of a recording and whenever libraries were loaded, on a thread that may enter
  // the loader. Before start().
  void set_library_look(void (*look)()) noexcept { library_look_ = look; }

  // Another profiler of this process, whose calls of CUPTI come here (cupti_slots.h). First: whether it uses the CUPTI
  // that the recorder has loaded.
  bool shares_cupti(decltype(cuda::Cupti::activity_register_callbacks) function) const noexcept;
  cuda::CuptiResult begin_guest_activity(cuda::BufferRequested requested, cuda::BufferCompleted completed);
  cuda::CuptiResult switch_guest_kind(cuda::ActivityKind kind, bool is_on);
  void note_guest_flush(std::uint32_t flags) noexcept;
  // NVTX takes a listener only when the program first uses it.
  void note_nvtx_listens() noexcept { listens_to_nvtx_ = true; }
  // That this library came when the program had long begun.
  void note_loaded_late() noexcept { is_loaded_late_ = true; }

 private:
  // kEnding: nothing is recorded any more, and the file is still being written.
  // kForked: a child of a process that was recording. CUDA does not work in it, and neither does anything here.
  enum class State { kIdle, kRecording, kEnding, kForked };

  Recorder();
  bool start_locked(const Options& given, std::string& error);
  bool begin(Recording& recording, std::string& error);
  void begin_listening(Recording& recording) noexcept;
  void finish_stop() noexcept;
  void set_file(const std::string& path);
  CollectorSources sources() noexcept {
    return {strings_, stacks_, losses_, handover_, pool_, status_, live_, estate_};
  }
  bool prepare_cupti(std::string& error);
  // Leaves out what says nothing, or may hang, in a client of CUDA's Multi-Process Service.
  void respect_mps(Options& options);
  void listen_for_signal(const Options& options);
  bool begin_activities(Recording& recording);
  void undo_start(const Recording& recording) noexcept;
  bool enable_activities(const Recording& recording);
  cuda::CuptiResult register_buffers() noexcept;
  void switch_kinds(const Recording& recording, bool is_on) noexcept;
  // Whether records of the device are wanted now.
  bool takes_activities(const CurrentRecording::Use& recording) const noexcept {
    return is_recording() && recording->is_collecting;
  }
  void take_over_from_guest() noexcept;
  void end_guest_without_flush() noexcept;
  void look_after_guest() noexcept;
  // What CUPTI calls for buffers, with the time counted or not.
  template <auto function, typename... Arguments>
  static void of_instance(Arguments... arguments);
  template <auto function, typename... Arguments>
  static void count_time(Arguments... arguments);
  void request_buffer(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) noexcept;
  // From CUPTI, with records.
  void take_buffer(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;
  // The same, while there may be a guest: gives it what is its own.
  void share_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size_bytes,
                    std::size_t valid_bytes) noexcept;
  void take_copy(std::uint8_t* records, std::size_t bytes) noexcept;
  // Counts the records of a buffer that nobody will read, and frees it.
  void give_up(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;
  void leave_note(const Options& options, const std::string& reason);
  // Whether records are taken now: switched by the capture range, the delay and the duration.
  void set_collecting(bool is_collecting) noexcept;
  bool is_of_this_process(const CurrentRecording::Use& recording) const noexcept;
  // When the file takes no more: this recording is over, whatever range begins.
  void end_collecting() noexcept;
  void end_if_over() noexcept;
  // After another user of CUPTI has taken the buffers and switched our kinds off.
  void take_cupti_back() noexcept;
  void on_tick(std::int64_t since_start_ns) noexcept;
  void before_fork() noexcept;
  void after_fork() noexcept;
  void in_forked_child() noexcept;

  Estate estate_;
  StringTable strings_{estate_.strings()};
  StackTable stacks_{strings_, kWalksNativeFrames, estate_.stacks()};
  LossCounters& losses_ = estate_.losses();
  ThreadHandover handover_{losses_, estate_.rings(), &estate_.ring_count()};
  ActivityPool pool_;
  StatusPage status_;
  ApiObserver api_{strings_, stacks_, losses_, handover_};
  NvtxObserver nvtx_{strings_, handover_, losses_};
  LivePageWriter live_{strings_, stacks_};
  CurrentRecording current_;

  ForkMutex mutex_{ForkMutex::Held::kForLong};  // of start and stop
  ForkMutex collecting_mutex_{ForkMutex::Held::kForLong};
  std::atomic<State> state_{State::kIdle};
  cuda::Cupti cupti_{};
  std::atomic<bool> is_cupti_loaded_{false};
  GuestActivity guest_;
  std::int64_t guest_changed_ns_ = 0;  // of the monotonic clock: when it began, or last switched a kind off
  std::atomic<bool> listens_to_nvtx_{false};
  std::atomic<bool> is_loaded_late_{false};
  bool may_disable_kernels_ = true;
  std::atomic<void (*)()> library_look_{nullptr};
  mutable ForkMutex file_mutex_;
  std::string file_;
};

}  // namespace turnpike::record
