// The page-locked slots through which pageable memory is carried: few, bounded, each reused as soon as its copy is
// done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "move/mark.h"

namespace turnpike::move {

// Who takes slots: what runs in one stream comes free in its order, and stands still as a whole.
struct Taker {
  const Device* device = nullptr;
  const CUstream_st* stream = nullptr;
  bool is_ahead = false;  // for a transfer that nobody waits for

  bool is_same_stream(const Taker& other) const { return device == other.device && stream == other.stream; }
};

struct Slot {
  std::byte* memory = nullptr;
  std::size_t size_bytes = 0;
  std::shared_ptr<Mark> busy_until;  // of a copy that has been issued
  Taker taker;
  std::int64_t busy_since_ns = 0;  // steady clock
};

// Not safe from several threads: the stager's lock guards it.
class Ring {
 public:
  // `device`: any open one; page-locked memory is for all. `slots` at most. A stream gets no more than `usual`, for the
  // link works at one at a time; more of them when it stands still, and some are kept for the other streams.
  Ring(Device& device, std::size_t slot_bytes, std::size_t slots, std::size_t usual)
      : device_(device), slot_bytes_(slot_bytes), capacity_(slots), usual_(usual) {}
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // A slot, or nullptr while there is none for this taker. Transfers that nobody waits for leave a quarter to the
  // others.
  Slot* take(const Taker& taker);
  // Frees the slots whose copies the devices say are done.
  void collect();
  bool has_free() const { return !free_.empty(); }
  // Page-locks up to `slots` now, but no more than usual: in the midst of a transfer each would hold it up.
  void prepare(std::size_t slots);
  // Its copy has been issued and is done at `mark`; nullptr: nothing was issued.
  void give_back(Slot* slot, std::shared_ptr<Mark> mark);
  // Why page-locked memory could not be had, when there is not a single slot to go on with.
  const std::optional<Error>& failure() const { return failure_; }
  // The system may give now what it refused before.
  void forget_failure() { failure_.reset(); }

  // Slots that are neither free nor wait for a copy: somebody works with them.
  std::size_t taken() const { return slots_.size() - free_.size() - busy_.size(); }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::size_t pinned_bytes() const { return slots_.size() * slot_bytes_; }
  // Frees the slots that are not in use.
  std::size_t release();

 private:
  std::size_t held_by(const Taker& taker) const;
  std::size_t share_of(const Taker& taker) const;
  bool grow();
  void drop(Slot* slot);

  Device& device_;
  std::size_t slot_bytes_;
  std::size_t capacity_;
  std::size_t usual_;
  std::size_t ahead_ = 0;
  std::list<Slot> slots_;
  // The last one given back is taken first: downloads find it in the caches.
  std::vector<Slot*> free_;
  std::vector<Slot*> busy_;  // of each stream in the order of its copies
  std::optional<Error> failure_;
};

}  // namespace turnpike::move
