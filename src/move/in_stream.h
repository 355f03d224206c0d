// Small downloads in the program's own stream, through a page-locked ring of bytes: what a step reports, without a
// stall.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "move/arrival.h"
#include "move/move.h"

namespace turnpike::move {

// Safe from any thread. The current context is that of an open device, but for is_done(), wait(), abandon() and what
// only tells.
class InStream {
 public:
  // One download on its way.
  struct Fetch {
    std::vector<Piece> pieces;
    std::size_t begin = 0;  // in the ring
    std::size_t end = 0;
    std::unique_ptr<Arrival> arrival;
    std::shared_ptr<void> owner;
    bool is_collected = false;
    bool is_abandoned = false;  // nobody wants the bytes any more
    Status status;
  };

  InStream(Device& any_device, std::size_t capacity_bytes) : device_(any_device), capacity_bytes_(capacity_bytes) {}
  ~InStream();  // waits for all
  InStream(const InStream&) = delete;
  InStream& operator=(const InStream&) = delete;

  // Issues the copies in `stream`, in ranges of this label. Waits for the oldest downloads where the ring is full,
  // while others may ask about theirs. nullptr, and nothing is issued: they are too large to be in the ring beside
  // others.
  Result<std::shared_ptr<Fetch>> start(Device& device, std::span<const Piece> pieces, CUstream_st* stream,
                                       std::shared_ptr<void> owner, const std::string& label);
  // Whether the bytes are in host memory; brings them there when they have arrived. Never waits.
  bool is_done(Fetch& fetch);
  Status wait(Fetch& fetch);
  // Nobody wants the bytes any more: host memory is left alone from now on, and the owner goes. (The device memory is
  // the stream's, so whoever gets it next comes after the copy.)
  void abandon(Fetch& fetch);
  // Brings all that have arrived into host memory.
  void collect();

  // Waits for all, and goes on with a ring of another size.
  void configure(std::size_t capacity_bytes);
  std::size_t pinned_bytes() const;
  // Gives the page-locked memory back when nothing is under way; returns its size.
  std::size_t release();

 private:
  using Owners = std::vector<std::shared_ptr<void>>;

  std::optional<std::size_t> place_for(std::size_t size_bytes) const;
  Status take_memory(const Device& device);
  // The fetch has arrived, or failed.
  void bring(Fetch& fetch);
  // Opens the lock while it waits.
  void bring_oldest(std::unique_lock<std::mutex>& lock);
  void forget_collected();
  // To be destroyed without the lock: owners may do anything.
  Owners dropped() { return std::exchange(dropped_, {}); }

  Device& device_;
  std::size_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::byte* memory_ = nullptr;
  std::deque<std::shared_ptr<Fetch>> fetches_;  // in the order of their places, which go round
  Owners dropped_;                              // of what has been collected
};

}  // namespace turnpike::move
