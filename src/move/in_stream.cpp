// Places in the ring are given in turn and come free in turn.
#include "move/in_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/nvtx_label.h"

namespace turnpike::move {
namespace {

constexpr std::size_t kAlignment = 64;  // copies of different downloads share no cache line

std::size_t aligned(std::size_t size_bytes) {
  return (size_bytes + kAlignment - 1) & ~(kAlignment - 1);
}

// Whether the memory itself can tell that they have arrived. A device reads and writes so few bytes in one piece only
// where they are aligned. And the stream must live until they have arrived, which only the legacy default stream is
// known to do: the program may destroy others at once, and may begin to capture them.
bool are_one_word(std::span<const Piece> pieces, CUstream_st* stream) {
  if (stream != nullptr || pieces.size() != 1) return false;
  const Piece& piece = pieces.front();
  return (piece.size_bytes == 4 || piece.size_bytes == 8) && piece.device % piece.size_bytes == 0;
}

}  // namespace

InStream::~InStream() {
  const InContext in_context(device_);
  Owners dropped_at_the_end;
  std::unique_lock lock(mutex_);
  while (!fetches_.empty()) bring_oldest(lock);
  dropped_at_the_end = dropped();
  if (memory_ != nullptr) device_.driver().mem_free_host(memory_);
}

std::optional<std::size_t> InStream::place_for(std::size_t size_bytes) const {
  if (fetches_.empty()) return 0;
  const std::size_t first = fetches_.front()->begin;
  const std::size_t last = fetches_.back()->end;
  const bool has_gone_round = last <= first;
  if (has_gone_round) return last + size_bytes <= first ? std::optional(last) : std::nullopt;
  if (last + size_bytes <= capacity_bytes_) return last;
  return size_bytes <= first ? std::optional<std::size_t>(0) : std::nullopt;
}

Status InStream::take_memory(const Device& device) {
  if (memory_ != nullptr) return {};
  void* memory = nullptr;
  const Status status =
      check(device.driver(), device.driver().mem_host_alloc(&memory, capacity_bytes_, cuda::kHostPortable),
            "page-locking host memory for small downloads", device.ordinal());
  if (status) memory_ = static_cast<std::byte*>(memory);
  return status;
}

Result<std::shared_ptr<InStream::Fetch>> InStream::start(Device& device, std::span<const Piece> pieces,
                                                         CUstream_st* stream, std::shared_ptr<void> owner,
                                                         const std::string& label) {
  std::size_t size_bytes = 0;
  for (const Piece& piece : pieces) size_bytes += aligned(piece.size_bytes);
  size_bytes = std::max(size_bytes, kAlignment);  // a place of its own, also for nothing
  Owners dropped_at_the_end;
  std::unique_lock lock(mutex_);
  std::optional<std::size_t> place;
  while (!place) {
    // Whatever may have changed while the lock was open.
    if (size_bytes > capacity_bytes_ / 2) return std::shared_ptr<Fetch>();
    if (const Status status = take_memory(device); !status) return status.error();
    place = place_for(size_bytes);
    if (!place) bring_oldest(lock);  // behind it the others come free too
  }
  dropped_at_the_end = dropped();
  const cuda::Driver& driver = device.driver();
  auto fetch = std::make_shared<Fetch>();
  fetch->pieces.assign(pieces.begin(), pieces.end());
  fetch->begin = *place;
  fetch->end = *place + size_bytes;
  if (are_one_word(pieces, stream)) {
    fetch->arrival =
        std::make_unique<Arrival>(device, stream, reinterpret_cast<std::uint64_t*>(memory_ + fetch->begin));
  }
  Status status;
  std::size_t at = fetch->begin;
  for (const Piece& piece : pieces) {
    if (piece.size_bytes == 0 || !status) continue;
    const cuda::NvtxLabel named(label);
    status = check(driver, driver.memcpy_dtoh_async(memory_ + at, piece.device, piece.size_bytes, stream),
                   "copying from the GPU", device.ordinal());
    at += aligned(piece.size_bytes);
  }
  if (status && fetch->arrival == nullptr) {
    auto arrival = Arrival::behind(device, stream);
    if (arrival) {
      fetch->arrival = std::move(*arrival);
    } else {
      status = arrival.error();
    }
  }
  if (!status) {
    // Some of the copies may be on their way into the ring.
    driver.stream_synchronize(stream);
    return status.error();
  }
  fetch->owner = std::move(owner);
  fetches_.push_back(fetch);
  return fetch;
}

void InStream::bring(Fetch& fetch) {
  if (fetch.is_collected) return;
  fetch.is_collected = true;
  fetch.status = fetch.arrival->status();
  std::size_t at = fetch.begin;
  for (const Piece& piece : fetch.pieces) {
    if (piece.size_bytes > 0 && fetch.status && !fetch.is_abandoned) {
      std::memcpy(piece.host, memory_ + at, piece.size_bytes);
    }
    at += aligned(piece.size_bytes);
  }
  dropped_.push_back(std::move(fetch.owner));
}

void InStream::bring_oldest(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Fetch> oldest = fetches_.front();
  lock.unlock();
  oldest->arrival->wait_until_passed();
  lock.lock();
  bring(*oldest);
  forget_collected();
}

void InStream::forget_collected() {
  while (!fetches_.empty() && fetches_.front()->is_collected) fetches_.pop_front();
}

bool InStream::is_done(Fetch& fetch) {
  Owners dropped_at_the_end;
  const std::lock_guard lock(mutex_);
  if (!fetch.is_collected && fetch.arrival->is_passed()) bring(fetch);
  dropped_at_the_end = dropped();
  return fetch.is_collected;
}

Status InStream::wait(Fetch& fetch) {
  Status waited = fetch.arrival->wait();
  if (!fetch.arrival->was_passed()) return waited;
  Owners dropped_at_the_end;
  const std::lock_guard lock(mutex_);
  bring(fetch);
  dropped_at_the_end = dropped();
  return waited ? fetch.status : waited;
}

void InStream::abandon(Fetch& fetch) {
  std::shared_ptr<void> dropped_at_the_end;
  const std::lock_guard lock(mutex_);
  fetch.is_abandoned = true;
  dropped_at_the_end = std::move(fetch.owner);
}

void InStream::collect() {
  Owners dropped_at_the_end;
  const std::lock_guard lock(mutex_);
  for (const auto& fetch : fetches_) {
    if (!fetch->is_collected && !fetch->arrival->is_passed()) break;
    bring(*fetch);
  }
  forget_collected();
  dropped_at_the_end = dropped();
}

void InStream::configure(std::size_t capacity_bytes) {
  Owners dropped_at_the_end;
  std::unique_lock lock(mutex_);
  while (!fetches_.empty()) bring_oldest(lock);
  dropped_at_the_end = dropped();
  if (memory_ != nullptr) device_.driver().mem_free_host(memory_);
  memory_ = nullptr;
  capacity_bytes_ = capacity_bytes;
}

std::size_t InStream::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return memory_ == nullptr ? 0 : capacity_bytes_;
}

std::size_t InStream::release() {
  const std::lock_guard lock(mutex_);
  forget_collected();
  if (!fetches_.empty() || memory_ == nullptr) return 0;
  device_.driver().mem_free_host(memory_);
  memory_ = nullptr;
  return capacity_bytes_;
}

}  // namespace turnpike::move
