// The turns of the collector: take, name, write; now and then ask CUPTI for what it has.
#include "record/collect/collector.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/process_start.h"
#include "base/step_name.h"
#include "cuda/driver.h"
#include "record/collect/disk_room.h"
#include "record/handover/own_thread.h"
#include "record/kept_run.h"
#include "record/stacks/own_memory.h"

namespace turnpike::record {

using trace::ChunkType;
using trace::Loss;

namespace {

// What a killed process can lose of the device's work, and, without an estate, of its calls: short, and still no load
// (66 wake-ups a second). With what a turn and a flush take, less than the 20 ms that are promised.
constexpr std::int64_t kTurnNs = 15'000'000;
// Each flush costs some hundred microseconds on this thread: one each turn while calls come and until what they started
// should be done, and then few, for what takes longer. A program that waits for the GPU makes no calls, and when it is
// killed, what the GPU had done by then is to be there.
constexpr std::int64_t kFlushNs = 200'000'000;
constexpr std::int64_t kBusyNs = 2'000'000'000;
constexpr std::int64_t kClockNs = 1'000'000'000;
constexpr std::size_t kMaxBatchBytes = 4 << 20;
// Of records that stay with the definitions, because what comes later refers to them: graphs may be captured for ever.
constexpr std::uint64_t kMaxDescriptionBytes = std::uint64_t{16} << 20;
// Names of ranges that were looked at: a program may make new ones for ever.
constexpr std::size_t kMaxStepNames = 65'536;

bool is_description(trace::RecordKind kind) {
  return kind == trace::RecordKind::kDevice || kind == trace::RecordKind::kThread ||
         kind == trace::RecordKind::kStream || kind == trace::RecordKind::kGraphNode;
}

}  // namespace

Collector::Collector(CollectorSources sources, const Options& options)
    : from_(sources),
      options_(options),
      decoder_(sources.strings, sources.losses),
      steps_(options.trigger),
      newest_kept_(sources.status.keep_number()),
      batch_(sources.estate.batch(0), sources.estate.batch(1)),
      names_(sources.stacks),
      source_(options.has_source ? process_start_ns() : trace::kUnknownTime),
      sampler_(sources.stacks),
      first_self_time_(self_time()),
      last_call_ns_(-kBusyNs) {}

bool Collector::open_file(std::string& error) {
  made_directory_ = mkdir(options_.run_directory.c_str(), 0777) == 0;
  if (!made_directory_ && errno != EEXIST) {
    error = "the run directory " + options_.run_directory + " cannot be made: " + std::strerror(errno);
    return false;
  }
  trace::FileHeader header{};
  header.start_realtime_ns = first_clock_.realtime_ns;
  header.start_monotonic_ns = first_clock_.monotonic_ns;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.parent_pid = static_cast<std::uint32_t>(getppid());
  // The same process may record more than once, and process ids come round.
  constexpr int kAttempts = 10'000;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    path_ = options_.run_directory + "/" + trace_file_name(attempt);
    if (writer_.open(path_.c_str(), header)) {
      if (options_.last.count() == 0 || cupti_ == nullptr) return true;
      if (ring_.start(path_, header, {std::chrono::nanoseconds(options_.last).count(), options_.max_bytes}))
        return true;
      const int reason = errno;
      writer_.close();
      unlink(path_.c_str());
      errno = reason;
    }
    if (errno != EEXIST) break;
  }
  error = "the file " + path_ + " cannot be written: " + std::strerror(errno);
  if (made_directory_) rmdir(options_.run_directory.c_str());
  return false;
}

bool Collector::start(const cuda::Cupti* cupti, Metadata metadata, std::string& error) {
  cupti_ = cupti;
  metadata_ = std::move(metadata);
  first_clock_ = read_clocks();
  from_.estate.set_source_as_of(source_.as_of_ns());
  from_.status.restart();
  from_.strings.restart();
  from_.stacks.restart();
  from_.handover.note_delivery();  // copies of a recording before are none of this one's
  if (!open_file(error)) return false;
  if (ring_.is_on()) metadata_[trace::kLastMetadata] = std::to_string(options_.last.count());
  write_metadata();
  from_.live.restart(metadata_, path_, first_clock_);
  if (cupti_ == nullptr) {
    write_losses();
    write_end();
    is_done_.set();
    return true;
  }
  std::uint32_t version = 0;
  cupti_->get_version(&version);
  decoder_.begin(cupti_, version, first_clock_);
  if (const auto driver = cuda::find_loaded_driver()) driver_ = *driver;
  libraries_.start();
  names_.start();
  begin_segment();
  note_memory(0, false);
  write();
  from_.estate.open(ring_.is_on() ? ring_.segment_path().c_str() : path_.c_str());
  return start_thread(error);
}

// Nothing is left of a recording that has none.
bool Collector::start_thread(std::string& error) {
  const auto body = [](void* self) -> void* {
    static_cast<Collector*>(self)->run();
    return nullptr;
  };
  const int failure = start_own_thread("turnpike", body, this);
  if (failure == 0) return true;
  is_done_.set();
  libraries_.end();
  names_.end();
  from_.estate.close();
  writer_.close();
  ring_.close();
  if (ring_.is_on()) unlink(ring_.segment_path().c_str());
  unlink(path_.c_str());
  if (made_directory_) rmdir(options_.run_directory.c_str());
  error = std::string("no thread can be started: ") + std::strerror(failure);
  return false;
}

void Collector::set_listening(bool is_listening) noexcept {
  const std::uint32_t spans = heard_spans_.load(std::memory_order_relaxed);
  if (spans != 0 && (spans % 2 == 1) == is_listening) return;
  // A recording that begins with a pause begins with its first span over.
  heard_spans_.store(spans + (spans == 0 && !is_listening ? 2 : 1), std::memory_order_release);
}

bool Collector::finish(std::int64_t patience_ns) noexcept {
  must_finish_ = true;
  from_.handover.wake();
  return is_done_.wait(patience_ns);
}

bool Collector::catch_up(std::int64_t patience_ns) noexcept {
  if (is_done_.is_set()) return true;
  has_caught_up_.clear();
  must_catch_up_ = true;
  from_.handover.wake();
  return has_caught_up_.wait(patience_ns);
}

void Collector::abandon() noexcept {
  ring_.close();
  writer_.close();
}

TurnpikeStatus Collector::status() const {
  const std::lock_guard lock(status_mutex_);
  return last_status_;
}

void Collector::run() noexcept {
  from_.estate.hold();
  while (true) {
    const bool is_last = must_finish_ || is_full_;
    const bool must_catch_up = must_catch_up_.exchange(false);
    // Out of memory: what was taken in this turn is lost, the program goes on.
    try {
      turn(is_last, must_catch_up);
    } catch (...) {
      dropped_turn_bytes_ += batch_.bytes().size();
      commit();
    }
    if (must_catch_up) has_caught_up_.set();
    if (is_last) break;
    if (is_full_) continue;
    try {
      wait_for_turn();
    } catch (...) {
    }
  }
  libraries_.end();
  names_.end();
  from_.estate.close();
  ring_.close();
  writer_.close();
  is_done_.set();
}

// Meanwhile the threads are looked at, when it is time for it.
void Collector::wait_for_turn() {
  if (from_.pool.is_pressed()) return;
  const bool has_samples = options_.detail == Detail::kFull && options_.has_stacks;
  const std::int64_t turn_ns = monotonic_ns() + kTurnNs;
  for (std::int64_t now = monotonic_ns(); now < turn_ns; now = monotonic_ns()) {
    const bool is_sampling = has_samples && heard_spans_.load(std::memory_order_relaxed) % 2 == 1;
    const std::int64_t until_ns = is_sampling ? std::min(turn_ns, next_sample_ns_) : turn_ns;
    if (until_ns > now && from_.handover.wait(until_ns - now)) return;
    if (!is_sampling || monotonic_ns() < next_sample_ns_) continue;
    sampler_.sample(batch_);
    next_sample_ns_ = monotonic_ns() + sampler_.pitch_ns();
  }
}

void Collector::turn(bool is_last, bool must_flush) {
  const std::int64_t since_start = monotonic_ns() - first_clock_.monotonic_ns;
  if (tick_ != nullptr && !is_last) tick_(since_start);
  // What came before a request is taken in this turn.
  KeepRequests requests;
  if (ring_.is_on()) requests = take_requests_to_keep();
  match_calls();
  if (is_last) from_.handover.end_recording();
  // Calls before the device's work, which is written because of them.
  const bool has_early_calls = collect_threads();
  // Early, because a thread of the program may be waiting for a buffer with CUPTI's locks held, and a flush needs them.
  const bool has_activities = collect_activities();
  const bool is_busy = has_early_calls || since_start - last_call_ns_ < kBusyNs;
  const bool is_due =
      since_start - last_flush_ns_ >= (is_busy ? kTurnNs : kFlushNs) && !(has_activities && from_.pool.is_pressed());
  const bool is_aside = is_aside_.load(std::memory_order_relaxed);
  const bool is_flushed =
      !is_aside && (is_last || must_flush || is_due || (from_.pool.is_exhausted() && !has_activities));
  if (is_flushed) {
    flush_cupti(is_last);
    last_flush_ns_ = since_start;
  }
  const bool is_second_over = is_last || since_start - last_clock_ns_ >= kClockNs;
  // Behind the times of the records that the flush brought.
  if (is_second_over || (is_flushed && decoder_.has_other_clock())) sample_clocks();
  if (is_second_over) {
    if (!is_last) note_links(false);
    if (!is_last && options_.has_link_traffic) watch_traffic();
    last_clock_ns_ = since_start;
  }
  if (collect_threads() || has_early_calls) last_call_ns_ = since_start;
  mapped_files_.look(since_start);
  cpu_use_.look();
  // Calls of the time before it came back are still taken in the turn after.
  listen_for_device(since_start, collect_activities() || has_activities || is_aside || was_aside_);
  was_aside_ = is_aside;
  if (from_.losses.get(Loss::kCallBuffersFull) > 0) work_.note_lost_calls();
  if (is_last) {
    work_.release_last(batch_);
  } else {
    work_.release(since_start, batch_);
  }
  // At the end also where no work was seen: without kernels, the GPUs show that the process had CUDA ready.
  if (!are_devices_described_ && (is_last || !batch_.is_empty())) describe_devices();
  ask_for_gaps();
  note_memory(since_start, is_last);
  note_traffic(is_last);
  if (is_last || must_flush) {
    names_.finish();
  } else {
    names_.ask();
  }
  write();
  if (ring_.is_on()) {
    if (!is_last) change_segments();
    look_for_reasons_to_keep(std::move(requests));
  }
  if (!is_last) look_for_room(since_start);
  write_losses();
  if (is_last) {
    add_library_versions(metadata_);
    note_links(true);
    put_self_time(metadata_);
    cpu_use_.put(metadata_);
    write_metadata();
    write_source();
    write_end();
  }
  commit();
  mark_end_of_turn();
  const TurnpikeStatus now = to_status(batch_.counts(), from_.losses, written_bytes());
  from_.status.update(now);
  from_.live.publish(now, metadata_, monotonic_ns(), is_last);
  const std::lock_guard lock(status_mutex_);
  last_status_ = now;
}

void Collector::look_for_room(std::int64_t since_start_ns) {
  std::optional<Loss> reason;
  if (!ring_.is_on() && writer_.end_bytes() >= options_.max_bytes) reason = Loss::kStoppedAtSize;
  if (is_out_of_room(writer_.last_errno()) || is_out_of_room(records_file().last_errno())) {
    reason = Loss::kStoppedDiskLow;
    records_file().cut_back(marked_bytes_);  // for the end
  }
  if (!reason && since_start_ns >= next_look_for_room_ns_) {
    next_look_for_room_ns_ = since_start_ns + kClockNs;
    if (is_disk_low(path_.c_str())) reason = Loss::kStoppedDiskLow;
  }
  if (!reason) return;
  is_full_ = true;
  from_.losses.add(*reason);
  if (on_full_ != nullptr) on_full_();
}

// Activity records come only when they are asked for, or when a buffer is full. Forced at the end: also from buffers
// that CUPTI still fills.
void Collector::flush_cupti(bool is_last) {
  const cuda::CuptiResult result = cupti_->activity_flush_all(is_last ? cuda::kFlushForced : 0);
  if (result != cuda::kCuptiSuccess) from_.losses.add(Loss::kCuptiCallFailed);
  std::size_t dropped = 0;
  if (cupti_->activity_get_num_dropped_records(nullptr, 0, &dropped) == cuda::kCuptiSuccess) {
    if (dropped > 0) from_.losses.add(Loss::kCuptiDropped, dropped);
  } else if (is_last) {
    from_.losses.add(Loss::kCuptiCallFailed);  // once: drops, if there were any, are not known
  }
}

// From the first span on in which calls are heard, work is of the recording if its call is.
void Collector::match_calls() {
  const std::uint32_t spans = heard_spans_.load(std::memory_order_acquire);
  if (spans != known_spans_) {
    decoder_.match_with(&work_);
    known_spans_ = spans;
    if (spans % 2 == 1) {
      work_.begin_span();
    } else {
      work_.end_span();
    }
  }
  if (has_unheard_kernels_.load(std::memory_order_relaxed)) decoder_.leave_out_unheard_kernels(&work_);
}

// Whether there were any calls.
bool Collector::collect_threads() {
  const std::uint64_t calls_before = batch_.counts().calls;
  from_.handover.drain(
      [this](const std::byte* slot) {
        trace::RecordHeader header;
        std::memcpy(&header, slot, sizeof(header));
        if (header.kind == kThreadNameKind) {
          ThreadName name;
          std::memcpy(&name, slot, sizeof(name));
          auto record = make_record<trace::ThreadRecord>(trace::RecordKind::kThread);
          record.thread = name.thread;
          record.name = from_.strings.intern(name.text);
          batch_.add(record);
          sampler_.note_thread(name.thread, name.handle);
        } else {
          batch_.add_raw(slot);
          if (header.kind == trace::RecordKind::kCall) note_call(slot);
          if (header.kind == trace::RecordKind::kRange && options_.trigger.is_set() && options_.most_triggered > 0)
            note_range(slot);
        }
      },
      [this] {
        if (batch_.bytes().size() >= kMaxBatchBytes) write();
      });
  return batch_.counts().calls != calls_before;
}

// torch.profiler, when it stops, leaves CUPTI without our kinds and with its own buffers. Nothing is said before the
// program has waited for a copy: the GPU may be busy with something long. Where copies of several threads overlap all
// the time, CUPTI delivers nothing until a buffer is full, but it goes on to fill ours.
void Collector::listen_for_device(std::int64_t since_start_ns, bool has_activities) {
  constexpr std::int64_t kSilenceNs = 1'000'000'000;
  if (has_activities) from_.handover.note_delivery();
  if (!from_.handover.has_untold_copy()) silent_since_ns_ = since_start_ns;
  const std::int64_t silent_ns = since_start_ns - silent_since_ns_;
  if (silent_ns < kSilenceNs / 2) held_in_silence_.reset();
  if (silent_ns >= kSilenceNs / 2 && !held_in_silence_) held_in_silence_ = from_.pool.digest_of_held();
  if (silent_ns < kSilenceNs) return;
  silent_since_ns_ = since_start_ns;
  if (from_.pool.digest_of_held() != held_in_silence_) return;
  from_.handover.note_delivery();
  from_.losses.add(Loss::kOtherCuptiUser);
  if (on_silence_ != nullptr) on_silence_();
}

void Collector::note_call(const std::byte* slot) {
  trace::CallRecord call;
  std::memcpy(&call, slot, sizeof(call));
  sampler_.note_call(call.thread, call.end_ns);
  work_.note_call(call.correlation);
  host_nodes_.note(call);
  mapped_files_.note(call);
  const bool is_newer = static_cast<std::int32_t>(call.correlation - newest_correlation_) > 0;
  if (is_newer || newest_correlation_ == 0) newest_correlation_ = call.correlation;
  if (!ring_.is_on()) return;
  steps_.note_call(call);
}

void Collector::note_range(const std::byte* slot) {
  trace::RangeRecord range;
  std::memcpy(&range, slot, sizeof(range));
  if (step_names_.size() >= kMaxStepNames) step_names_.clear();
  const auto [known, is_new] = step_names_.try_emplace(range.name);
  if (is_new) {
    const std::string_view name = without_number(from_.strings.text(range.name));
    if (names_a_step(name)) known->second = name;
  }
  if (!known->second.empty()) steps_.note_step_range(known->second, range);
}

// Whether there were any.
bool Collector::collect_activities() {
  from_.pool.take_filled(filled_);
  for (const ActivityPool::Filled& buffer : filled_) {
    if (from_.pool.is_overflow(buffer.data)) {
      from_.losses.add(Loss::kActivityBuffersFull, decoder_.count(buffer.data, buffer.valid_bytes));
    } else {
      decoder_.decode(buffer.data, buffer.valid_bytes, batch_);
    }
    from_.pool.recycle(buffer);
    if (batch_.bytes().size() >= kMaxBatchBytes) write();
  }
  return !filled_.empty();
}

// Late, because inside cuInit, where recording starts, the driver cannot be asked yet.
void Collector::describe_devices() {
  are_devices_described_ = true;
  const std::optional<cuda::Driver>& driver = driver_;
  int count = 0;
  if (!driver || driver->device_get_count(&count) != 0) return;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    int device = 0;
    char name[256] = {};
    std::size_t memory_bytes = 0;
    if (driver->device_get(&device, ordinal) != 0 || driver->device_get_name(name, sizeof(name), device) != 0) continue;
    driver->device_total_mem(&memory_bytes, device);
    const auto attribute = [&](int number) {
      int value = 0;
      driver->device_get_attribute(&value, number, device);
      return static_cast<std::uint32_t>(value);
    };
    auto record = make_record<trace::DeviceRecord>(trace::RecordKind::kDevice);
    record.device = static_cast<std::uint32_t>(ordinal);
    record.name = from_.strings.intern(name);
    record.memory_bytes = memory_bytes;
    record.multiprocessors = attribute(cuda::kAttributeMultiprocessorCount);
    record.pci_domain = attribute(cuda::kAttributePciDomain);
    record.pci_bus = static_cast<std::uint8_t>(attribute(cuda::kAttributePciBus));
    record.pci_device = static_cast<std::uint8_t>(attribute(cuda::kAttributePciDevice));
    links_.add(record.device, {record.pci_domain, record.pci_bus, record.pci_device});
    record.numa_node = links_.numa_node(record.device);
    batch_.add(record);
    from_.live.add_device(record.device, name);
  }
}

// NVML is asked when there were copies, which keep the generation of the link up.
void Collector::ask_for_gaps() {
  if (batch_.counts().copies > 0 && links_.has_gaps()) link_gaps_.ask(links_);
}

// What came since the start.
void Collector::add_library_versions(Metadata& metadata) const {
  for (const auto& [key, version] : libraries_.versions()) metadata[key] = version;
}

// A read costs some system calls for each GPU whose link has not been seen at its best.
void Collector::note_links(bool is_last) {
  const std::uint64_t copies = batch_.counts().copies;
  const bool has_copied = copies > copies_at_last_read_;
  copies_at_last_read_ = copies;
  links_.read(has_copied);
  if (is_last) link_gaps_.fill(links_);
  Metadata noted = metadata_;
  links_.put(noted);
  traffic_.put(noted);
  host_nodes_.put(noted);
  mapped_files_.put(noted);
  if (noted == metadata_) return;
  metadata_ = std::move(noted);
  if (!is_last) write_metadata();  // so that a process that is killed leaves what is known
}

// A second after the start, so that short programs do not pay for NVML's.
void Collector::watch_traffic() {
  if ((decoder_.used_devices() & ~watched_devices_) == 0) return;
  for (const auto& [device, address] : links_.addresses()) {
    const std::uint64_t bit = device < 64 ? std::uint64_t{1} << device : 0;
    if ((decoder_.used_devices() & ~watched_devices_ & bit) == 0) continue;
    watched_devices_ |= bit;
    traffic_.watch(device, address);
  }
}

void Collector::note_traffic(bool is_last) {
  if (is_last) traffic_.finish();
  for (const trace::LinkTrafficRecord& record : traffic_.take()) batch_.add(record);
}

void Collector::note_memory(std::int64_t since_start_ns, bool is_last) {
  const auto bytes = memory_watch_.look(since_start_ns, is_last);
  if (!bytes) return;
  auto record = make_record<trace::MemoryRecord>(trace::RecordKind::kMemory);
  record.time_ns = realtime_ns();
  record.resident_bytes = *bytes;
  batch_.add(record);
}

void Collector::write_definitions() {
  frames_payload_.clear();
  stacks_payload_.clear();
  strings_payload_.clear();
  from_.stacks.drain(frames_payload_, stacks_payload_);
  from_.strings.drain(strings_payload_);
  source_.note_frames(frames_payload_);
  // Once there is no room, the rest of it is for the end.
  append(writer_, ChunkType::kStrings, strings_payload_);
  append(writer_, ChunkType::kFrames, frames_payload_);
  append(writer_, ChunkType::kStacks, stacks_payload_);
}

// Definitions after the records were taken and before they are written. Only stacks may come later, until their frames
// have names.
void Collector::write() {
  write_definitions();
  if (ring_.is_on()) {
    write_records();
  } else {
    append(writer_, ChunkType::kRecords, batch_.bytes());
  }
  from_.live.count(batch_.bytes());
  commit();
}

// Last of all, when everything else is in the file: reading other files may take long, or more memory than there is.
void Collector::write_source() {
  try {
    append(writer_, ChunkType::kSourceText, source_.read([this](std::uint32_t id) { return from_.strings.text(id); }));
    append(writer_, ChunkType::kMetadata, encode({{trace::kSourceMetadata, source_.summary()}}));
  } catch (const std::bad_alloc&) {
    // The end of the file must come. Without the metadata, a reader knows that it was not written.
  }
}

void Collector::append(trace::Writer& writer, ChunkType type, std::span<const std::byte> payload) {
  if (is_out_of_room(writer.last_errno())) {
    dropped_turn_bytes_ += payload.size();
  } else if (!payload.empty()) {
    writer.append(type, payload.data(), payload.size());
  }
}

// What describes devices, threads, streams and graphs comes once and holds for good: it stays with the definitions.
void Collector::write_records() {
  descriptions_.clear();
  others_.clear();
  const auto bytes = batch_.bytes();
  for (std::size_t at = 0; at + sizeof(trace::RecordHeader) <= bytes.size();) {
    trace::RecordHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof(header));
    const bool stays = is_description(header.kind) && description_bytes_ + descriptions_.size() < kMaxDescriptionBytes;
    auto& to = stays ? descriptions_ : others_;
    to.insert(to.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
              bytes.begin() + static_cast<std::ptrdiff_t>(at + header.bytes));
    at += header.bytes;
  }
  description_bytes_ += descriptions_.size();
  append(writer_, ChunkType::kRecords, descriptions_);
  append(ring_.segment(), ChunkType::kRecords, others_);
}

void Collector::mark_end_of_turn() {
  constexpr std::uint64_t kEndBytes = 4096;  // metadata, losses and the end of most processes
  if (records_file().end_bytes() - newest_mark_ < kEndBytes) return;
  marked_bytes_ = newest_mark_;
  newest_mark_ = records_file().end_bytes();
}

// From here on the file holds what was taken so far, whatever happens to the process.
void Collector::commit() {
  batch_.clear();
  from_.estate.commit(batch_.area(), {file_of_estate_, 0, records_file().end_bytes(), from_.strings.drained_bytes(),
                                      from_.stacks.drained_frames(), from_.stacks.drained_stack_bytes(),
                                      batch_.counts(), counts_before_segment_});
}

std::uint64_t Collector::written_bytes() const noexcept {
  return writer_.written_bytes() + ring_.written_bytes();
}

std::uint64_t Collector::lost_bytes() const noexcept {
  return writer_.lost_bytes() + ring_.lost_bytes();
}

// Each segment tells the clocks, and what was lost before it.
void Collector::begin_segment() {
  sample_clocks();
  if (ring_.is_on()) append_losses();
  newest_mark_ = marked_bytes_ = records_file().end_bytes();
}

// Between two turns, when everything that was taken is in a file.
void Collector::change_segments() {
  const std::int64_t now_ns = realtime_ns();
  if (ring_.is_due(now_ns)) end_segment(now_ns);
  ring_.delete_old(now_ns);
}

// Whoever finds the estate of a process that died goes on with the segment that the commit names.
bool Collector::end_segment(std::int64_t now_ns) {
  if (!ring_.open_next(now_ns, monotonic_ns(), newest_correlation_ + 1)) return false;
  write_end();
  ring_.turn_to_next();
  counts_before_segment_ = batch_.counts();
  begin_segment();
  file_of_estate_ = 1 - file_of_estate_;
  from_.estate.set_file(file_of_estate_, ring_.segment_path().c_str());
  commit();
  return true;
}

void Collector::keep(std::string reason) {
  const std::lock_guard lock(reason_mutex_);
  reason_ = std::move(reason);
}

void Collector::keep_by_signal() noexcept {
  is_signalled_.store(true, std::memory_order_relaxed);
  from_.handover.wake();
}

Collector::KeepRequests Collector::take_requests_to_keep() {
  KeepRequests requests{std::nullopt, from_.status.keep_number()};
  if (is_signalled_.exchange(false)) {
    requests.reason = "a signal asked for it";
    return requests;
  }
  const std::lock_guard lock(reason_mutex_);
  if (!reason_.empty()) requests.reason = std::exchange(reason_, {});
  return requests;
}

// Whichever process has a reason raises the number that all of them look at, so that a kept run has all ranks. A window
// that holds a kept step is not kept once more for another one.
void Collector::look_for_reasons_to_keep(KeepRequests requests) {
  std::optional<std::string>& reason = requests.reason;
  auto slow_step = steps_.take_reason();
  if (!reason && slow_step && monotonic_ns() >= no_trigger_until_ns_ &&
      from_.status.take_trigger(options_.most_triggered))
    reason = std::move(slow_step);
  if (reason) {
    const std::uint64_t number =
        claim_kept_run(options_.run_directory, std::max(newest_kept_, from_.status.keep_number()));
    if (number == 0) return say_not_kept(errno);
    from_.status.raise_keep_number(number);
    newest_kept_ = number;
    keep_run(number, *reason);
  }
  if (requests.number <= newest_kept_) return;
  newest_kept_ = requests.number;
  keep_run(requests.number, "");
}

void Collector::keep_run(std::uint64_t number, const std::string& reason) {
  no_trigger_until_ns_ = monotonic_ns() + std::chrono::nanoseconds(options_.last).count();
  Metadata metadata = metadata_;
  add_library_versions(metadata);
  put_self_time(metadata);
  cpu_use_.put(metadata);
  if (!reason.empty()) metadata[trace::kKeptMetadata] = reason;
  names_.finish();
  write_definitions();
  if (!end_segment(realtime_ns())) return say_not_kept(errno);
  write_source();
  const int failure = ring_.keep(kept_run_path(options_.run_directory, number), writer_.end_bytes(), encode(metadata));
  if (failure != 0) say_not_kept(failure);
}

void Collector::say_not_kept(int failure) const {
  if (options_.is_quiet) return;
  std::fprintf(stderr, "turnpike: process %d could not keep its last seconds: %s\n", static_cast<int>(getpid()),
               std::strerror(failure));
}

void Collector::write_metadata() {
  const std::vector<std::byte> payload = encode(metadata_);
  writer_.append(ChunkType::kMetadata, payload.data(), payload.size());
}

void Collector::put_self_time(Metadata& metadata) const {
  if (!is_self_time_counted()) return;
  const SelfTime spent = self_time() - first_self_time_;
  metadata[trace::kSelfTimeMetadata] =
      "count=" + std::to_string(spent.count) + " ns=" + std::to_string(tick_rate_.ns_of(spent.ticks));
}

void Collector::write_losses() {
  const StackTable::Losses of_stacks = from_.stacks.losses();
  from_.losses.set(Loss::kStacksFull, of_stacks.full);
  from_.losses.set(Loss::kStackNotWalked, of_stacks.not_walked);
  from_.losses.set(Loss::kStackTruncated, of_stacks.truncated);
  from_.losses.set(Loss::kUnnamedLibrary, of_stacks.unnamed_library);
  from_.losses.set(Loss::kNoNativeFrames, of_stacks.without_native);
  from_.losses.set(Loss::kPythonUnknown, of_stacks.without_python);
  from_.losses.set(Loss::kMemoryUnreadable, forbidden_looks());
  from_.losses.set(Loss::kNamesFull, from_.strings.refused());
  from_.losses.set(Loss::kWriteFailed, lost_bytes() + dropped_turn_bytes_ + batch_.dropped_bytes());
  const std::uint64_t total = from_.losses.total();
  if (total == last_loss_total_) return;
  last_loss_total_ = total;
  append_losses();
}

void Collector::append_losses() {
  std::vector<trace::LossEntry> entries;
  for (std::size_t number = 0; number < LossCounters::kSize; ++number) {
    const std::uint64_t count = from_.losses.get(number);
    if (count > 0) entries.push_back({static_cast<std::uint32_t>(number), 0, count});
  }
  records_file().append(ChunkType::kLosses, entries.data(), entries.size() * sizeof(trace::LossEntry));
}

trace::ClockSample Collector::read_clocks() const {
  // This thread may be put aside between two readings, which would set the clocks apart.
  constexpr std::int64_t kSoon = 20'000;
  constexpr int kTries = 4;
  trace::ClockSample best{};
  std::int64_t best_ns = INT64_MAX;
  for (int i = 0; i < kTries && best_ns > kSoon; ++i) {
    trace::ClockSample sample{realtime_ns(), monotonic_ns(), trace::kUnknownTime, ticks_now()};
    std::uint64_t cupti_ns = 0;
    if (cupti_ != nullptr && cupti_->get_timestamp(&cupti_ns) == cuda::kCuptiSuccess) {
      sample.cupti_ns = static_cast<std::int64_t>(cupti_ns);
    }
    const std::int64_t taken_ns = realtime_ns() - sample.realtime_ns;
    if (i == 0 || taken_ns < best_ns) best = sample;
    best_ns = std::min(best_ns, taken_ns);
  }
  return best;
}

void Collector::sample_clocks() {
  const trace::ClockSample sample = read_clocks();
  decoder_.set_now(sample);
  records_file().append(ChunkType::kClock, &sample, sizeof(sample));
  // More than a second apart in what passed on both clocks: somebody set the time.
  constexpr std::int64_t kStep = 1'000'000'000;
  const std::int64_t drift =
      (sample.realtime_ns - first_clock_.realtime_ns) - (sample.monotonic_ns - first_clock_.monotonic_ns);
  if (drift > kStep || drift < -kStep) from_.losses.set(Loss::kClockStepped, 1);
}

void Collector::write_end() {
  const trace::EndEntry end = end_entry(realtime_ns(), batch_.counts(), counts_before_segment_);
  records_file().append(ChunkType::kEnd, &end, sizeof(end));
  if (cupti_ == nullptr) writer_.close();
}

}  // namespace turnpike::record
