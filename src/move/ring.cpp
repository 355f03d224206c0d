// Slots are page-locked one by one, when all that exist are in use.
#include "move/ring.h"

#include <algorithm>

#include "move/steady_ns.h"

namespace turnpike::move {
namespace {

// A stream whose oldest copy has not run for so long does not wait for the link.
constexpr std::int64_t kStandsStillNs = 2'000'000;

// Slots that only streams without any may take.
std::size_t kept_for_others(std::size_t capacity) {
  return std::clamp<std::size_t>(capacity / 4, 1, 2);
}

}  // namespace

Ring::~Ring() {
  const InContext in_context(device_);
  for (Slot* slot : busy_) slot->busy_until->wait_until_passed();
  for (const Slot& slot : slots_) device_.driver().mem_free_host(slot.memory);
}

Slot* Ring::take(const Taker& taker) {
  const std::size_t most_ahead = std::max<std::size_t>(1, capacity_ - std::max<std::size_t>(1, capacity_ / 4));
  if (taker.is_ahead && ahead_ >= most_ahead) return nullptr;
  const std::size_t held = held_by(taker);
  if (held >= share_of(taker)) return nullptr;
  // Whoever has none needs one to go on at all, and another stream may wait for what it brings.
  const std::size_t left = free_.size() + capacity_ - slots_.size();
  if (held > 0 && left <= kept_for_others(capacity_)) return nullptr;
  if (free_.empty() && !grow()) return nullptr;
  Slot* slot = free_.back();
  free_.pop_back();
  slot->taker = taker;
  ahead_ += taker.is_ahead ? 1 : 0;
  return slot;
}

std::size_t Ring::held_by(const Taker& taker) const {
  const auto holds = [&](const Slot& slot) { return slot.taker.is_same_stream(taker); };
  return static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), holds));
}

// A stream that stands still may do so for long. More slots let its transfer be staged, and the call return.
std::size_t Ring::share_of(const Taker& taker) const {
  if (taker.is_ahead) return capacity_;
  const auto oldest =
      std::find_if(busy_.begin(), busy_.end(), [&](const Slot* slot) { return slot->taker.is_same_stream(taker); });
  const bool stands_still = oldest != busy_.end() && steady_ns() - (*oldest)->busy_since_ns > kStandsStillNs;
  return stands_still ? std::max(usual_, capacity_ - capacity_ / 4) : usual_;
}

void Ring::prepare(std::size_t slots) {
  while (slots_.size() < std::min(slots, usual_) && grow()) {
  }
}

void Ring::give_back(Slot* slot, std::shared_ptr<Mark> mark) {
  slot->busy_until = std::move(mark);
  slot->busy_since_ns = steady_ns();
  if (slot->busy_until) {
    busy_.push_back(slot);
  } else {
    drop(slot);
  }
}

void Ring::drop(Slot* slot) {
  slot->busy_until.reset();
  ahead_ -= slot->taker.is_ahead ? 1 : 0;
  slot->taker = {};
  free_.push_back(slot);
}

// Copies on one stream are done in their order: after one that is not, the others of its stream are not asked.
void Ring::collect() {
  std::vector<const Slot*> not_passed;  // one for each stream
  auto kept = busy_.begin();
  for (auto one = busy_.begin(); one != busy_.end(); ++one) {
    Slot* slot = *one;
    const bool is_behind = std::any_of(not_passed.begin(), not_passed.end(),
                                       [slot](const Slot* other) { return other->taker.is_same_stream(slot->taker); });
    if (!is_behind && slot->busy_until->is_passed()) {
      drop(slot);
    } else {
      if (!is_behind) not_passed.push_back(slot);
      *kept++ = slot;
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
  Slot& slot = slots_.emplace_back();
  slot.memory = static_cast<std::byte*>(memory);
  slot.size_bytes = slot_bytes_;
  free_.push_back(&slot);
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
