// The life of a recording.
#include "record/recorder.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/self_time.h"
#include "cuda/driver.h"
#include "record/collect/process_metadata.h"
#include "record/collect/surroundings.h"
#include "record/keep_signal.h"
#include "record/observe/observed.h"

namespace turnpike::record {

using cuda::ActivityKind;
using trace::Loss;

namespace {

constexpr char kNothing[] = "nothing is being recorded in this process";

std::int64_t seconds(int count) {
  return count * std::int64_t{1'000'000'000};
}

}  // namespace

Recorder& Recorder::instance() {
  static auto& recorder = *new Recorder;
  return recorder;
}

Recorder::Recorder() {
  static constexpr ForkSteps kSteps{[] { instance().before_fork(); }, [] { instance().after_fork(); },
                                    [] { instance().in_forked_child(); }};
  set_fork_steps(kSteps);
}

bool Recorder::start(const Options& options, std::string& error) {
  if (state_ == State::kForked) {
    error = "this process was forked from one that was being recorded: CUDA does not work in it. Start it by spawn";
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (state_ == State::kEnding && current_.use()->collector.is_done()) finish_stop();
  if (state_ == State::kIdle) return start_locked(options, error);
  error = (state_ == State::kEnding ? "the last recording is still being written to "
                                    : "this process is being recorded already, to ") +
          file();
  return false;
}

bool Recorder::start_locked(const Options& given, std::string& error) {
  losses_.reset();
  if (is_loaded_late_ && !listens_to_nvtx_) losses_.add(Loss::kNvtxNotHeard);
  status_.open();
  if (!prepare_cupti(error)) {
    leave_note(given, error);
    return false;
  }
  current_.replace(std::make_unique<Recording>(sources(), given));
  const bool has_begun = begin(*current_.use(), error);
  if (!has_begun) current_.replace(nullptr);
  return has_begun;
}

bool Recorder::begin(Recording& recording, std::string& error) {
  Options& options = recording.options;
  if (is_mps_client()) respect_mps(options);
  if (!api_.subscribe(cupti_, options, error) || !begin_activities(recording)) {
    if (error.empty()) error = "CUPTI cannot record copies in this process";
    undo_start(recording);
    leave_note(options, error);
    return false;
  }
  Metadata metadata = describe_process(options);
  add_versions(metadata, &cupti_);
  Collector& collector = recording.collector;
  collector.set_library_look(library_look_);
  collector.set_on_silence([] { instance().take_cupti_back(); });
  collector.set_on_full([] { instance().end_collecting(); });
  collector.set_tick([](std::int64_t since_start_ns) { instance().on_tick(since_start_ns); });
  collector.set_listening(false);  // the device's records are on already
  if (!collector.start(&cupti_, std::move(metadata), error)) {
    undo_start(recording);
    return false;
  }
  set_file(collector.path());
  status_.note_process();
  begin_listening(recording);
  if (options.last.count() > 0 && options.keep_signal.number != 0) listen_for_signal(options);
  end_if_over();
  return true;
}

void Recorder::begin_listening(Recording& recording) noexcept {
  const Options& options = recording.options;
  api_.set_profiler_range(nullptr);
  if (options.capture_range.kind == CaptureRange::Kind::kCudaProfilerApi) {
    api_.set_profiler_range([](bool is_start) { instance().set_collecting(is_start); });
  }
  nvtx_.set_capture_range({}, nullptr);
  if (options.capture_range.kind == CaptureRange::Kind::kNvtx) {
    nvtx_.set_capture_range(options.capture_range.nvtx_name,
                            [](bool is_start) { instance().set_collecting(is_start); });
  }
  nvtx_.begin_recording();
  recording.is_collecting = true;  // the activity kinds are on
  state_.store(State::kRecording, std::memory_order_release);
  if (options.capture_range.kind != CaptureRange::Kind::kWholeRun || options.delay.count() > 0) {
    set_collecting(false);
  } else {
    recording.collector.set_listening(true);
    nvtx_.set_listening(true);
    api_.set_listening(true);
  }
}

void Recorder::set_file(const std::string& path) {
  const std::lock_guard lock(file_mutex_);
  file_ = path;
}

std::string Recorder::file() const {
  const std::lock_guard lock(file_mutex_);
  return file_;
}

TurnpikeStatus Recorder::status() noexcept {
  const CurrentRecording::Use recording = current_.use();
  return recording ? recording->collector.status() : TurnpikeStatus{};
}

// The collector's first turn may have found no room for the file before anything was switched on.
void Recorder::end_if_over() noexcept {
  {
    const std::lock_guard lock(collecting_mutex_);
    if (const CurrentRecording::Use recording = current_.use(); !recording || !recording->is_over) return;
  }
  end_collecting();
}

// Takes back what a failed start has asked of CUPTI.
void Recorder::undo_start(const Recording& recording) noexcept {
  {
    const std::lock_guard lock(collecting_mutex_);
    if (!guest_.is_tracing()) switch_kinds(recording, false);
  }
  api_.end_calls();
}

void Recorder::respect_mps(Options& options) {
  losses_.add(Loss::kSharedByMps);
  options.has_link_traffic = false;
  std::uint32_t cupti_version = 0;
  cupti_.get_version(&cupti_version);
  int driver_version = 0;
  if (const auto driver = cuda::find_loaded_driver()) driver->driver_get_version(&driver_version);
  if (options.detail != Detail::kFull || !may_kernels_hang_in_mps(cupti_version, driver_version)) return;
  options.detail = Detail::kTransfers;
  losses_.add(Loss::kMpsKernels);
}

void Recorder::listen_for_signal(const Options& options) {
  const KeepSignalState state = take_keep_signal(options.keep_signal.number, [] {
    if (const CurrentRecording::Use recording = instance().current_.use()) recording->collector.keep_by_signal();
  });
  if (state != KeepSignalState::kProgramHasIt || options.is_quiet) return;
  std::fprintf(stderr,
               "turnpike: process %d uses SIG%s itself; to keep its last seconds, send that to `turnpike record`, or "
               "choose another signal with --signal\n",
               static_cast<int>(getpid()), text_of(options.keep_signal).c_str());
}

bool Recorder::keep(const std::string& reason, std::string& error) {
  if (state_ == State::kForked) {
    error = kNothing;
    return false;
  }
  const std::lock_guard lock(mutex_);
  const CurrentRecording::Use recording = current_.use();
  if (state_ != State::kRecording) {
    error = kNothing;
  } else if (recording->options.last.count() == 0) {
    error =
        "this recording keeps everything: only one that was started with `turnpike record --last SECONDS` can be kept "
        "in between";
  } else {
    recording->collector.keep(reason.empty() ? "the program asked for it" : "the program asked for it: " + reason);
    return true;
  }
  return false;
}

bool Recorder::prepare_cupti(std::string& error) {
  if (!is_cupti_loaded_) {
    std::string message;
    if (!cuda::load_cupti(std::getenv(TURNPIKE_ENV_CUPTI), cupti_, message)) {
      error = message;
      return false;
    }
    is_cupti_loaded_ = true;
    std::uint32_t version = 0;
    cupti_.get_version(&version);
    may_disable_kernels_ = version != cuda::kVersionOfCuda130;
  }
  if (!pool_.prepare()) {
    error = "there is no memory for the recorder's buffers";
    return false;
  }
  return true;
}

bool Recorder::begin_activities(Recording& recording) {
  const std::lock_guard lock(collecting_mutex_);
  end_guest_without_flush();
  recording.collector.set_aside(guest_.is_tracing());
  if (!guest_.is_tracing()) return enable_activities(recording);
  losses_.add(Loss::kOtherCuptiUser);
  return true;
}

bool Recorder::enable_activities(const Recording& recording) {
  // Zeroed: we zero buffers on our own thread. Pinned: the GPU writes its times into page-locked host memory rather
  // than its own, from which CUPTI would have to copy them; a CPU-bound step with all its kernels ran 1.08 to 1.11
  // times as long without, 1.05 to 1.09 with (H100, bench/overhead.py), for some 10 MB a context. No buffer per
  // thread: a thread reserves a place in its buffer without a lock, and a flush at that moment frees the buffer's
  // descriptor (a crash in CUPTI 13.0.85, docs/record.md). A CUPTI that does not know an attribute, or may not pin
  // (confidential computing), does without.
  const std::pair<cuda::ActivityAttribute, std::uint8_t> values[] = {{cuda::ActivityAttribute::kZeroedOutBuffers, 1},
                                                                     {cuda::ActivityAttribute::kPinnedHostMemory, 1},
                                                                     {cuda::ActivityAttribute::kPerThreadBuffers, 0}};
  for (auto [attribute, value] : values) {
    std::size_t size = sizeof(value);
    cupti_.activity_set_attribute(attribute, &size, &value);
  }
  if (register_buffers() != cuda::kCuptiSuccess) {
    losses_.add(Loss::kCuptiCallFailed);
    return false;
  }
  for (const ActivityKind kind : observed_activities(recording.options.detail)) {
    if (cupti_.activity_enable(kind) == cuda::kCuptiSuccess) continue;
    losses_.add(Loss::kCuptiCallFailed);
    if (kind == ActivityKind::kMemcpy) return false;
  }
  return true;
}

cuda::CuptiResult Recorder::register_buffers() noexcept {
  if (is_self_time_counted()) {
    return cupti_.activity_register_callbacks(count_time<&Recorder::request_buffer>,
                                              count_time<&Recorder::share_buffer>);
  }
  return cupti_.activity_register_callbacks(of_instance<&Recorder::request_buffer>,
                                            of_instance<&Recorder::share_buffer>);
}

template <auto function, typename... Arguments>
void Recorder::of_instance(Arguments... arguments) {
  (instance().*function)(arguments...);
}

// Where the thread is the program's: CUPTI's own and the recorder's have no calls that are heard.
template <auto function, typename... Arguments>
void Recorder::count_time(Arguments... arguments) {
  if (!has_self_time()) return of_instance<function>(arguments...);
  const SelfTimeSpan span;
  of_instance<function>(arguments...);
}

void Recorder::request_buffer(std::uint8_t** buffer, std::size_t* size_bytes, std::size_t* max_records) noexcept {
  if (guest_.request(buffer, size_bytes, max_records)) return;
  *buffer = pool_.request(size_bytes);
  *max_records = 0;  // as many as fit
}

// Kernels that stay enabled after a recording go on to fill buffers.
void Recorder::take_buffer(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  if (!may_disable_kernels_ && state_.load(std::memory_order_acquire) == State::kIdle) {
    pool_.recycle({buffer, valid_bytes});
  } else if (!pool_.complete(buffer, valid_bytes)) {
    give_up(buffer, valid_bytes);
  }
}

void Recorder::give_up(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
  std::uint64_t count = 0;
  void* record = nullptr;
  while (cupti_.activity_get_next_record(buffer, valid_bytes, &record) == cuda::kCuptiSuccess) ++count;
  losses_.add(Loss::kActivityBuffersFull, count);
  ActivityPool::discard(buffer);
}

// The report of the run shall say that this process was there and why it is missing.
void Recorder::leave_note(const Options& options, const std::string& reason) {
  if (!options.has_note) return;
  status_.note_unusable();
  Metadata metadata = describe_process(options);
  add_versions(metadata, is_cupti_loaded_ ? &cupti_ : nullptr);
  metadata[trace::kUnusableMetadata] = reason;
  std::string ignored;
  Recording note(sources(), options);
  if (note.collector.start(nullptr, std::move(metadata), ignored)) set_file(note.collector.path());
}

void Recorder::set_collecting(bool is_collecting) noexcept {
  // A child's copy of a lock may never be given back, and CUPTI does not work there.
  if (state_.load(std::memory_order_acquire) == State::kForked) return;
  const std::lock_guard lock(collecting_mutex_);
  const CurrentRecording::Use recording = current_.use();
  if (!recording || (is_collecting && (recording->is_over || !is_recording()))) return;
  if (is_collecting == recording->is_collecting) return;
  recording->is_collecting = is_collecting;
  // A call that is heard must have its device's record: the device is on before the calls and off after them.
  if (!is_collecting) {
    api_.set_listening(false);
    nvtx_.set_listening(false);
    recording->collector.set_listening(false);
  }
  if (!guest_.is_tracing()) {
    switch_kinds(*recording, is_collecting);
  } else if (is_collecting) {
    losses_.add(Loss::kOtherCuptiUser);
  }
  if (is_collecting) {
    recording->collector.set_listening(true);
    nvtx_.set_listening(true);
    api_.set_listening(true);
  }
}

void Recorder::switch_kinds(const Recording& recording, bool is_on) noexcept {
  const auto switch_kind = is_on ? cupti_.activity_enable : cupti_.activity_disable;
  for (const ActivityKind kind : observed_activities(recording.options.detail)) {
    if (kind == ActivityKind::kConcurrentKernel && !is_on && !may_disable_kernels_) {
      if (const CurrentRecording::Use current = current_.use()) current->collector.leave_out_unheard_kernels();
    } else {
      switch_kind(kind);
    }
  }
}

void Recorder::take_cupti_back() noexcept {
  const std::lock_guard lock(collecting_mutex_);
  const CurrentRecording::Use recording = current_.use();
  if (recording && recording->is_collecting && !guest_.is_tracing()) enable_activities(*recording);
}

void Recorder::on_tick(std::int64_t since_start_ns) noexcept {
  const CurrentRecording::Use recording = current_.use();
  const Options& options = recording->options;
  look_after_guest();
  const std::chrono::nanoseconds since_start(since_start_ns);
  if (options.delay.count() > 0 && since_start >= options.delay &&
      options.capture_range.kind == CaptureRange::Kind::kWholeRun) {
    set_collecting(true);
  }
  if (options.duration.count() > 0 && since_start >= options.delay + options.duration) {
    end_collecting();
  }
}

void Recorder::end_collecting() noexcept {
  {
    const std::lock_guard lock(collecting_mutex_);
    if (const CurrentRecording::Use recording = current_.use()) recording->is_over = true;
  }
  set_collecting(false);
  nvtx_.end_recording();
}

bool Recorder::stop(std::string& error) {
  const auto has_something = [this] { return state_ == State::kRecording || state_ == State::kEnding; };
  error = kNothing;
  if (!has_something()) return false;
  const std::lock_guard lock(mutex_);
  if (!has_something()) return false;
  if (state_ == State::kRecording) {
    give_keep_signal_back();
    set_collecting(false);
    nvtx_.end_recording();
    state_.store(State::kEnding, std::memory_order_release);
  }
  if (!current_.use()->collector.finish(seconds(10))) {
    error = "the recording is still being written to " + file() +
            ": its disk, or the GPU, does not answer. Nothing more is recorded";
    return false;
  }
  finish_stop();
  return true;
}

// When the collector has ended: it may have been inside of CUPTI until then.
void Recorder::finish_stop() noexcept {
  api_.end_calls();
  state_.store(State::kIdle, std::memory_order_release);
}

void Recorder::finish_process() noexcept {
  if (state_ != State::kRecording && state_ != State::kEnding) return;
  try {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kRecording && state_ != State::kEnding) return;
    // Not more: other handlers of this exit may still call CUDA, and taking CUPTI down under them is known to crash.
    api_.set_listening(false);
    nvtx_.end_recording();
    estate_.set_ending(EstateEnding::kExit);
    const bool is_done = current_.use()->collector.finish(seconds(10));
    state_.store(is_done ? State::kIdle : State::kEnding, std::memory_order_release);
  } catch (...) {
  }
}

// A child of vfork shares the memory of its parent, and one of clone() has not run the handlers of a fork.
bool Recorder::is_of_this_process(const CurrentRecording::Use& recording) const noexcept {
  const State state = state_.load(std::memory_order_acquire);
  return (state == State::kRecording || state == State::kEnding) && recording->process == getpid();
}

// Whoever is interrupted may hold a lock that CUPTI or the collector needs, and does not give it back: then nothing
// comes of waiting, and `turnpike record` finds the rest in the estate.
void Recorder::finish_at_once() noexcept {
  const CurrentRecording::Use recording = current_.use();
  if (!is_of_this_process(recording)) return;
  api_.set_listening(false);
  nvtx_.end_recording();
  estate_.set_ending(EstateEnding::kExit);
  recording->collector.finish(seconds(1));
}

void Recorder::before_exec() noexcept {
  const CurrentRecording::Use recording = current_.use();
  if (!is_of_this_process(recording)) return;
  recording->collector.catch_up(seconds(1));
  estate_.set_ending(EstateEnding::kExec);
}

void Recorder::after_exec() noexcept {
  if (is_of_this_process(current_.use())) estate_.set_ending(EstateEnding::kNone);
}

// Where no other thread holds the tables (ForkMutex). These two mutexes are leaves.
void Recorder::before_fork() noexcept {
  nvtx_.before_fork();
  estate_.before_fork();
  handover_.before_fork();
}

void Recorder::after_fork() noexcept {
  nvtx_.after_fork();
}

void Recorder::in_forked_child() noexcept {
  after_fork();
  const bool is_estate_shared = !estate_.rings().empty();
  // A recording that another thread was starting just now cannot go on here either.
  const bool may_record = state_ == State::kIdle && !mutex_.was_left();
  estate_.leave_to_parent(may_record);
  if (is_estate_shared) handover_.forget_rings();
  if (may_record) return;
  give_keep_signal_back();
  // No lock is taken: whoever held one is not in this process.
  state_.store(State::kForked, std::memory_order_release);
  api_.set_listening(false);
  nvtx_.end_recording();
  if (const CurrentRecording::Use recording = current_.use()) recording->collector.abandon();
}

}  // namespace turnpike::record
