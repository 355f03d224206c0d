// When the bytes of a copy can be looked at, and looking.
#include "record/observe/content_observer.h"

#include "cuda/driver.h"
#include "record/handover/record_batch.h"
#include "record/handover/thread_buffer.h"
#include "record/handover/thread_handover.h"
#include "record/observe/content_hash.h"
#include "record/stacks/own_memory.h"

namespace turnpike::record {

using cuda::HostSide;
using trace::ContentSide;

namespace {

// `.item()` and its like must stay cheap, and a number that comes twice says nothing.
constexpr std::uint64_t kMinBytes = 64;

bool overlap(const PendingDownload& download, std::uint64_t address, std::uint64_t bytes) {
  return address < download.address + download.bytes && download.address < address + bytes;
}

}  // namespace

void ContentObserver::configure(const Options& options) {
  is_verifying_.store(options.is_content_verified, std::memory_order_relaxed);
  may_have_managed_memory_.store(!options.is_from_the_start, std::memory_order_relaxed);
  note_host_memory_changed();  // while nobody listened
  const auto driver = cuda::find_loaded_driver();
  if (driver) pointer_attribute_.store(driver->pointer_get_attribute, std::memory_order_release);
}

void ContentObserver::on_copy(ThreadBuffer& buffer, const cuda::CallArguments& arguments, const trace::CallRecord& call,
                              void* stream) noexcept {
  const bool is_upload = arguments.host_side == HostSide::kSource;
  const std::uint64_t address = is_upload ? arguments.src : arguments.dst;
  const std::uint64_t bytes = arguments.bytes;
  if (arguments.host_side == HostSide::kUnknown || bytes == trace::kUnknownSize || address == 0) return;
  // Whatever its size: it changes what arrives there, or takes away what has not arrived yet.
  PendingDownloads& pending = buffer.pending_downloads;
  const bool is_under_way = pending.drop_if([&](const auto& download) { return overlap(download, address, bytes); });
  if (bytes < kMinBytes || (is_upload && is_under_way)) return;
  if (may_have_managed_memory()) {
    const HostMemory memory = memory_at(buffer, address);
    if (memory == HostMemory::kManaged || memory == HostMemory::kUnknown) return;
  }
  if (is_upload) return note(buffer, call.correlation, address, bytes, ContentSide::kSource);
  const bool is_async = arguments.has_stream;
  // By CUDA's rules a download into pageable memory is over when the call returns, Async or not.
  const HostMemory memory = is_async ? memory_at(buffer, address) : HostMemory::kUnknown;
  if (!is_async || memory == HostMemory::kPageable) {
    note(buffer, call.correlation, address, bytes, ContentSide::kDestination);
  } else if (memory == HostMemory::kPinned) {
    pending.add({address, bytes, stream, call.correlation, call.context});
  }
}

void ContentObserver::on_synchronize(ThreadBuffer& buffer, const cuda::CallArguments& arguments,
                                     const trace::CallRecord& call, void* stream) noexcept {
  if (buffer.pending_downloads.is_empty() || arguments.object != 0) return;  // of an event: who knows since when
  buffer.pending_downloads.drop_if([&](const PendingDownload& download) {
    if (download.context != call.context || (arguments.has_stream && download.stream != stream)) return false;
    note(buffer, download.correlation, download.address, download.bytes, ContentSide::kDestination);
    return true;
  });
}

// Asks the driver, which takes no lock for it that a call under way holds: the exit of a call is outside of it. A range
// holds for all that lies in it; of pageable memory the driver knows none, so that the address alone is remembered.
HostMemory ContentObserver::memory_at(ThreadBuffer& buffer, std::uint64_t address) noexcept {
  // Read before the question: what changes meanwhile begins an age in which the answer does not hold.
  const std::uint32_t age = memory_age_.load(std::memory_order_acquire);
  const HostMemory known = buffer.host_memory.find(address, age);
  if (known != HostMemory::kUnknown) return known;
  const PointerAttribute ask = pointer_attribute_.load(std::memory_order_acquire);
  if (ask == nullptr) return HostMemory::kUnknown;
  unsigned int is_managed = 0;
  HostMemory memory = HostMemory::kPageable;  // the driver does not know it: plain memory
  std::uint64_t start = address;
  std::uint64_t bytes = 1;
  if (ask(&is_managed, cuda::kPointerIsManaged, address) == 0) {
    memory = is_managed != 0 ? HostMemory::kManaged : HostMemory::kPinned;
    cuda::DevicePointer range_start = 0;
    std::size_t range_bytes = 0;
    const bool is_range_known = ask(&range_start, cuda::kPointerRangeStart, address) == 0 &&
                                ask(&range_bytes, cuda::kPointerRangeBytes, address) == 0;
    if (is_range_known && address - range_start < range_bytes) {
      start = range_start;
      bytes = range_bytes;
    }
  }
  if (may_remember_.load(std::memory_order_relaxed)) buffer.host_memory.add(start, bytes, memory);
  return memory;
}

void ContentObserver::note(ThreadBuffer& buffer, std::uint32_t correlation, std::uint64_t address, std::uint64_t bytes,
                           ContentSide side) noexcept {
  if (!can_read_own_memory()) return note_forbidden_look();
  const auto hash = is_verifying_.load(std::memory_order_relaxed) ? hash_all(address, bytes, buffer.window)
                                                                  : hash_sample(address, bytes);
  if (!hash) return;
  auto record = make_record<trace::ContentRecord>(trace::RecordKind::kContent);
  record.correlation = correlation;
  record.hash = hash->hash;
  record.bytes = bytes;
  record.hashed_bytes = hash->hashed_bytes;
  record.address = address;
  record.side = side;
  handover_.push(buffer, &record, sizeof(record));
}

}  // namespace turnpike::record
