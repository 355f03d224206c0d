// Makes the memory, fills a private draft and copies it there.
#include "record/collect/live_page_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "record/handover/record_batch.h"

namespace turnpike::record {
namespace {

constexpr std::int64_t kUpdateNs = 250'000'000;

template <std::size_t kSize>
void put(char (&to)[kSize], const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return;
  const std::size_t size = std::min(found->second.size(), kSize - 1);
  std::memcpy(to, found->second.data(), size);
  to[size] = '\0';
}

void store(std::uint64_t* word, std::uint64_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_relaxed);
}

template <typename Record>
Record read(const std::byte* from) {
  Record record;
  std::memcpy(&record, from, sizeof(record));
  return record;
}

}  // namespace

// Again when the program has closed the descriptor: readers would not find the page any more.
bool LivePageWriter::open() {
  if (is_open()) return true;
  close_page();
  const int memory_file = memfd_create(kLivePageName, MFD_CLOEXEC);
  if (memory_file < 0) return false;
  file_.take(memory_file);
  void* memory = MAP_FAILED;
  if (file_.is_there() && ftruncate(file_.number(), sizeof(LivePage)) == 0) {
    memory = mmap(nullptr, sizeof(LivePage), PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  }
  if (memory == MAP_FAILED) {
    file_.close();
    return false;
  }
  shared_ = static_cast<std::uint64_t*>(memory);
  return true;
}

void LivePageWriter::close_page() {
  if (shared_ == nullptr) return;
  file_.close();
  munmap(shared_, sizeof(LivePage));
  shared_ = nullptr;
}

void LivePageWriter::restart(const Metadata& metadata, const std::string& file, const trace::ClockSample& now) {
  sites_.restart();
  if (!draft_) draft_.reset(new (std::nothrow) LivePage{});
  next_ns_ = 0;
  if (!draft_) return;
  // The page of a forked process is its parent's.
  if (draft_->pid != static_cast<std::uint32_t>(getpid())) close_page();
  // Of one page it only rises, so that a reader never takes two recordings for one.
  const std::uint64_t sequence = draft_->sequence;
  *draft_ = {};
  draft_->sequence = sequence;
  draft_->magic = kLivePageMagic;
  draft_->version = kLivePageVersion;
  draft_->struct_bytes = sizeof(LivePage);
  draft_->pid = static_cast<std::uint32_t>(getpid());
  draft_->state = LiveState::kRecording;
  draft_->start_realtime_ns = now.realtime_ns;
  draft_->start_monotonic_ns = now.monotonic_ns;
  const Metadata path{{"file", file}};
  put(draft_->file, path, "file");
  put(draft_->program, metadata, "program");
  put(draft_->host, metadata, "host");
  put(draft_->rank, metadata, "rank");
  put(draft_->local_rank, metadata, "local_rank");
  put(draft_->world_size, metadata, "world_size");
  put(draft_->job_id, metadata, "job_id");
}

void LivePageWriter::add_device(std::uint32_t device, const char* name) {
  if (!draft_ || device >= LivePage::kMostDevices) return;
  draft_->device_count = std::max(draft_->device_count, device + 1);
  const Metadata names{{"name", name}};
  put(draft_->devices[device].name, names, "name");
}

void LivePageWriter::count(std::span<const std::byte> records) noexcept {
  try {
    if (draft_) add(records);
  } catch (const std::bad_alloc&) {
  }
}

void LivePageWriter::add(std::span<const std::byte> records) {
  for (std::size_t at = 0; at + sizeof(trace::RecordHeader) <= records.size();) {
    const auto header = read<trace::RecordHeader>(records.data() + at);
    if (header.bytes < sizeof(header) || header.bytes > records.size() - at) return;
    if (header.kind == trace::RecordKind::kCall) sites_.count(read<trace::CallRecord>(records.data() + at));
    if (header.kind == trace::RecordKind::kMemcpy) add(read<trace::MemcpyRecord>(records.data() + at));
    at += header.bytes;
  }
}

void LivePageWriter::add(const trace::MemcpyRecord& copy) {
  const std::size_t direction = direction_of(copy);
  const bool has_times = copy.start_ns != trace::kUnknownTime && copy.end_ns > copy.start_ns;
  if (has_times) draft_->device_time_ns[direction] += static_cast<std::uint64_t>(copy.end_ns - copy.start_ns);
  const auto host = direction == kLiveH2d ? copy.src_kind : copy.dst_kind;
  if (direction <= kLiveD2h && host == trace::MemoryKind::kPageable) {
    ++draft_->pageable_count[direction];
    draft_->pageable_bytes[direction] += copy.bytes;
  }
  if (direction <= kLiveD2h && host == trace::MemoryKind::kPinned) {
    ++draft_->pinned_count[direction];
    draft_->pinned_bytes[direction] += copy.bytes;
  }
  sites_.count(copy, static_cast<LiveDirection>(direction));
}

void LivePageWriter::publish(const TurnpikeStatus& status, const Metadata& metadata, std::int64_t now_monotonic_ns,
                             bool is_last) noexcept {
  if (!draft_ || (!is_last && now_monotonic_ns < next_ns_)) return;
  next_ns_ = now_monotonic_ns + kUpdateNs;
  if (is_last) draft_->state = LiveState::kStopped;
  draft_->updated_monotonic_ns = now_monotonic_ns;
  if (!open()) return;
  try {
    fill(status, metadata);
  } catch (const std::bad_alloc&) {
  }
  show();
  draft_->update_ns += static_cast<std::uint64_t>(monotonic_ns() - now_monotonic_ns);
}

void LivePageWriter::fill(const TurnpikeStatus& status, const Metadata& metadata) {
  for (std::uint32_t i = 0; i < kLiveTransferDirections; ++i) {
    draft_->transfer_count[i] = status.transfer_count[i];
    draft_->transfer_bytes[i] = status.transfer_bytes[i];
  }
  draft_->sync_count = status.sync_count;
  draft_->host_time_ns = status.host_time_ns;
  draft_->kernel_count = status.kernel_count;
  draft_->loss_count = status.loss_count;
  draft_->written_bytes = status.written_bytes;
  for (std::uint32_t i = 0; i < draft_->device_count; ++i) {
    put(draft_->devices[i].link, metadata, "link." + std::to_string(i));
  }
  sites_.put(*draft_);
}

void LivePageWriter::show() {
  const auto* words = reinterpret_cast<const std::uint64_t*>(draft_.get());
  const std::uint64_t before = draft_->sequence;
  store(shared_ + kLiveSequenceWord, before + 1);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < kLivePageWords; ++i) {
    if (i != kLiveSequenceWord) store(shared_ + i, words[i]);
  }
  std::atomic_thread_fence(std::memory_order_release);
  draft_->sequence = before + 2;
  store(shared_ + kLiveSequenceWord, before + 2);
}

}  // namespace turnpike::record
