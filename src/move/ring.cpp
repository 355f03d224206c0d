// Slots are page-locked one by one, when all that exist are in use.
#include "move/ring.h"

#include <algorithm>

namespace turnpike::move {

Ring::~Ring() {
  const InContext in_context(device_);
  for (Slot* slot : busy_) slot->busy_until->wait_until_passed();
  for (const Slot& slot : slots_) device_.driver().mem_free_host(slot.memory);
}

Slot* Ring::take(bool is_ahead, bool may_ask) {
  const std::size_t most_ahead = std::max<std::size_t>(1, capacity_ - std::max<std::size_t>(1, capacity_ / 4));
  if (may_ask && (free_.empty() || (is_ahead && ahead_ >= most_ahead))) collect();
  if (is_ahead && ahead_ >= most_ahead) return nullptr;
  if (free_.empty() && !(is_ahead || slots_.size() - ahead_ < usual_)) return nullptr;
  if (free_.empty() && !grow()) return nullptr;
  Slot* slot = free_.back();
  free_.pop_back();
  slot->is_ahead = is_ahead;
  ahead_ += is_ahead ? 1 : 0;
  return slot;
}

void Ring::prepare(std::size_t slots) {
  while (slots_.size() < std::min(slots, usual_) && grow()) {
  }
}

void Ring::give_back(Slot* slot, std::shared_ptr<Mark> mark) {
  slot->busy_until = std::move(mark);
  if (slot->busy_until) {
    busy_.push_back(slot);
  } else {
    drop(slot);
  }
}

void Ring::drop(Slot* slot) {
  slot->busy_until.reset();
  ahead_ -= slot->is_ahead ? 1 : 0;
  slot->is_ahead = false;
  free_.push_back(slot);
}

// Copies on one stream are done in their order, but there are several streams: after a few that are not, the rest is
// not asked.
void Ring::collect() {
  constexpr int kAsked = 6;
  int not_passed = 0;
  auto kept = busy_.begin();
  for (auto one = busy_.begin(); one != busy_.end(); ++one) {
    if (not_passed < kAsked && (*one)->busy_until->is_passed()) {
      drop(*one);
    } else {
      ++not_passed;
      *kept++ = *one;
    }
  }
  busy_.erase(kept, busy_.end());
}

bool Ring::grow() {
  if (slots_.size() >= capacity_) return false;
  const InContext in_context(device_);
  void* memory = nullptr;
  const cuda::DriverCode code = device_.driver().mem_host_alloc(&memory, slot_bytes_, cuda::kHostPortable);
  if (const Status status = check(device_.driver(), code, "page-locking host memory for staging", device_.ordinal());
      !status) {
    // With some slots it goes on, slower; with none it cannot. A refusal for the sake of a capture passes.
    if (slots_.empty()) {
      failure_ = status.error();
    } else if (!cuda::is_capture_code(code)) {
      capacity_ = slots_.size();
    }
    return false;
  }
  failure_.reset();
  slots_.push_back(Slot{static_cast<std::byte*>(memory), slot_bytes_, nullptr, false});
  free_.push_back(&slots_.back());
  return true;
}

std::size_t Ring::release() {
  collect();
  const std::size_t released = free_.size() * slot_bytes_;
  const InContext in_context(device_);
  for (Slot* slot : free_) {
    device_.driver().mem_free_host(slot->memory);
    slots_.remove_if([slot](const Slot& one) { return &one == slot; });
  }
  free_.clear();
  return released;
}

}  // namespace turnpike::move
