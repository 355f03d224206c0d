// The recorder's own thread: takes records from the program's threads and from CUPTI and puts them into the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fork_mutex.h"
#include "base/self_time.h"
#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "record/collect/activity_decoder.h"
#include "record/collect/activity_pool.h"
#include "record/collect/cpu_use.h"
#include "record/collect/frame_naming.h"
#include "record/collect/host_nodes.h"
#include "record/collect/library_watch.h"
#include "record/collect/link_gaps.h"
#include "record/collect/link_traffic.h"
#include "record/collect/link_watch.h"
#include "record/collect/live_page_writer.h"
#include "record/collect/mapped_files.h"
#include "record/collect/process_metadata.h"
#include "record/collect/resident_memory.h"
#include "record/collect/segment_ring.h"
#include "record/collect/status_page.h"
#include "record/collect/step_watch.h"
#include "record/collect/thread_sampler.h"
#include "record/collect/work_of_calls.h"
#include "record/estate/estate.h"
#include "record/handover/loss_counters.h"
#include "record/handover/record_batch.h"
#include "record/handover/thread_handover.h"
#include "record/handover/wake_flag.h"
#include "record/options.h"
#include "record/stacks/recorded_source.h"
#include "record/stacks/stack_table.h"
#include "record/stacks/string_table.h"
#include "trace/writer.h"

namespace turnpike::record {

// What the collector takes from and reports to. All of it outlives the collector.
struct CollectorSources {
  StringTable& strings;
  StackTable& stacks;
  LossCounters& losses;
  ThreadHandover& handover;
  ActivityPool& pool;
  StatusPage& status;
  LivePageWriter& live;
  Estate& estate;
};

// Of one recording. Once it has been started, it may be destroyed when is_done().
class Collector {
 public:
  // `options` outlives it.
  Collector(CollectorSources sources, const Options& options);

  // Opens the file of this process in `options.run_directory` (made when missing) and starts the thread. `cupti` may be
  // nullptr: then only the reason in `metadata` is written. False: `error` says why. Once.
  bool start(const cuda::Cupti* cupti, Metadata metadata, std::string& error);
  // Collects what is under way, closes the file and ends the thread. Waits at most `patience_ns`; false: it was not
  // done by then. Takes no lock: a signal handler may call it.
  bool finish(std::int64_t patience_ns) noexcept;
  // Writes what CUPTI can deliver now, and waits for it no longer than `patience_ns`. Likewise.
  bool catch_up(std::int64_t patience_ns) noexcept;
  // With Options::last: keeps what there is now as a run of its own, at the end of the next turn. A signal handler may
  // call the second.
  void keep(std::string reason);
  void keep_by_signal() noexcept;

  bool is_done() const noexcept { return is_done_.is_set(); }

  // In a forked child: the thread is not there, and the file is the parent's.
  void abandon() noexcept;

  // Whether calls are heard, and threads looked at. One thread at a time; before calls begin to be heard, and after
  // they have ended.
  void set_listening(bool is_listening) noexcept;

  // Whether another profiler has CUPTI's buffers: nothing is flushed, and silence of the device says nothing. Any
  // thread.
  void set_aside(bool is_aside) noexcept { is_aside_.store(is_aside, std::memory_order_relaxed); }

  // From now on CUPTI records kernels also when nobody listens to their calls: they are left out. Any thread; for
  // kVersionOfCuda130 alone.
  void leave_out_unheard_kernels() noexcept { has_unheard_kernels_.store(true, std::memory_order_relaxed); }

  const std::string& path() const { return path_; }
  TurnpikeStatus status() const;
  // One more look of the library watch. Before start().
  void set_library_look(void (*look)()) noexcept { libraries_.set_look(look); }
  // Called on the collector's thread at its regular turns, with the time since the start.
  using Tick = void (*)(std::int64_t since_start_ns);
  void set_tick(Tick tick) { tick_ = tick; }
  // Called there when the file takes no more (losses kStoppedAtSize, kStoppedDiskLow). What is under way is collected
  // then, and the file closed.
  using OnFull = void (*)();
  void set_on_full(OnFull on_full) { on_full_ = on_full; }
  // Called there when copies must have been carried out and CUPTI has delivered nothing for a second: somebody else has
  // its buffers.
  using OnSilence = void (*)();
  void set_on_silence(OnSilence on_silence) { on_silence_ = on_silence; }

 private:
  bool start_thread(std::string& error);
  void run() noexcept;
  void wait_for_turn();
  void turn(bool is_last, bool must_flush);
  bool collect_threads();
  void match_calls();
  void note_call(const std::byte* slot);
  bool collect_activities();
  void flush_cupti(bool is_last);
  void listen_for_device(std::int64_t since_start_ns, bool has_activities);
  void describe_devices();
  void note_links(bool is_last);
  void ask_for_gaps();
  void add_library_versions(Metadata& metadata) const;
  void watch_traffic();
  void note_traffic(bool is_last);
  void note_memory(std::int64_t since_start_ns, bool is_last);
  void look_for_room(std::int64_t since_start_ns);
  void write_definitions();
  void write();
  void write_source();
  void append(trace::Writer& writer, trace::ChunkType type, std::span<const std::byte> payload);
  void write_records();
  void note_range(const std::byte* slot);
  trace::Writer& records_file() noexcept { return ring_.is_on() ? ring_.segment() : writer_; }
  std::uint64_t written_bytes() const noexcept;
  std::uint64_t lost_bytes() const noexcept;
  void begin_segment();
  void change_segments();
  bool end_segment(std::int64_t now_ns);
  struct KeepRequests {
    std::optional<std::string> reason;  // somebody asked this process
    std::uint64_t number = 0;           // the newest kept run that any process has asked for
  };
  KeepRequests take_requests_to_keep();
  void look_for_reasons_to_keep(KeepRequests requests);
  void keep_run(std::uint64_t number, const std::string& reason);
  void say_not_kept(int failure) const;
  void mark_end_of_turn();
  void commit();
  void write_metadata();
  void put_self_time(Metadata& metadata) const;
  void write_losses();
  void append_losses();
  void sample_clocks();
  void write_end();
  bool open_file(std::string& error);
  trace::ClockSample read_clocks() const;

  CollectorSources from_;
  const Options& options_;
  ActivityDecoder decoder_;
  const cuda::Cupti* cupti_ = nullptr;
  Metadata metadata_;
  trace::Writer writer_;  // with a ring: of definitions
  SegmentRing ring_;
  RecordCounts counts_before_segment_;
  std::uint32_t file_of_estate_ = 0;
  std::uint32_t newest_correlation_ = 0;
  std::vector<std::byte> descriptions_, others_;
  std::uint64_t description_bytes_ = 0;
  // Kept runs:
  StepWatch steps_;
  std::unordered_map<std::uint32_t, std::string> step_names_;  // of ranges; "": no step's
  std::int64_t no_trigger_until_ns_ = 0;                       // of the monotonic clock
  std::uint64_t newest_kept_ = 0;
  std::atomic<bool> is_signalled_{false};
  ForkMutex reason_mutex_;
  std::string reason_;  // "": nobody asked
  std::string path_;
  bool made_directory_ = false;  // the run's, for this recording
  Tick tick_ = nullptr;
  OnSilence on_silence_ = nullptr;
  OnFull on_full_ = nullptr;
  RecordBatch batch_;
  MemoryWatch memory_watch_;
  LibraryWatch libraries_;
  FrameNaming names_;
  std::optional<cuda::Driver> driver_;
  LinkWatch links_;
  LinkGaps link_gaps_;
  LinkTraffic traffic_;
  std::uint64_t watched_devices_ = 0;  // whose traffic is counted
  HostNodes host_nodes_;
  MappedFiles mapped_files_;
  RecordedSource source_;
  CpuUse cpu_use_;
  std::uint64_t copies_at_last_read_ = 0;
  ThreadSampler sampler_;
  std::atomic<bool> has_unheard_kernels_{false};
  std::atomic<bool> is_aside_{false};
  bool was_aside_ = false;  // in the turn before
  // Odd: calls are heard. 0: nobody has said so, and work needs no call.
  std::atomic<std::uint32_t> heard_spans_{0};
  std::uint32_t known_spans_ = 0;  // by the collector
  WorkOfCalls work_;
  std::int64_t next_sample_ns_ = 0;  // of the monotonic clock
  std::vector<ActivityPool::Filled> filled_;
  std::vector<std::byte> strings_payload_, frames_payload_, stacks_payload_;
  trace::ClockSample first_clock_{};
  TickRate tick_rate_;  // since the start
  SelfTime first_self_time_;
  std::int64_t last_flush_ns_ = 0;
  std::int64_t last_call_ns_;
  std::int64_t silent_since_ns_ = 0;
  std::optional<std::uint64_t> held_in_silence_;  // ActivityPool::digest_of_held(), half a silence ago
  std::int64_t last_clock_ns_ = 0;
  std::uint64_t last_loss_total_ = 0;
  std::uint64_t dropped_turn_bytes_ = 0;  // of turns for which there was no memory
  bool are_devices_described_ = false;
  std::int64_t next_look_for_room_ns_ = 0;
  bool is_full_ = false;
  // Ends of turns: behind the second last one stands more than an end needs.
  std::uint64_t newest_mark_ = 0;
  std::uint64_t marked_bytes_ = 0;

  // Of the thread:
  std::atomic<bool> must_finish_{false};
  std::atomic<bool> must_catch_up_{false};
  WakeFlag is_done_;
  WakeFlag has_caught_up_;
  mutable ForkMutex status_mutex_;
  TurnpikeStatus last_status_{};
};

}  // namespace turnpike::record
