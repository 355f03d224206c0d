// The estate of this process: taken from `turnpike record` where there is one, else private memory of the same form.
#pragma once

#include "record/estate/estate_memory.h"

namespace turnpike::record {

class Estate {
 public:
  // Takes one of those that TURNPIKE_ESTATES names. It is kept for the process's life.
  Estate() noexcept;
  Estate(const Estate&) = delete;
  Estate& operator=(const Estate&) = delete;

  std::span<std::byte> strings() const noexcept { return part(estate::strings); }
  StackMemory stacks() const noexcept { return {part(estate::frames), part(estate::stacks)}; }
  std::span<std::byte> batch(std::size_t area) const noexcept {
    return base_ == nullptr ? std::span<std::byte>() : estate::batch(base_, area);
  }
  // Empty where nobody would find them.
  std::span<std::byte> rings() const noexcept { return is_shared_ ? estate::rings(base_) : std::span<std::byte>(); }
  std::atomic<std::uint32_t>& ring_count() noexcept { return head_->ring_count; }
  LossCounters& losses() noexcept { return head_->losses; }

  // A file is being written, whose first commit has been made.
  void open(const char* path) noexcept;
  // The file of commits whose `file` is 0 or 1; not that of the commit that holds. False: its name is too long.
  bool set_file(std::uint32_t number, const char* path) noexcept;
  // The recorder's own thread, which closes it or dies with the process: an id of a process may live on, past exec.
  void hold() noexcept;
  // Takes no lock: a signal handler may call it.
  void set_ending(EstateEnding ending) noexcept { head_->ending.store(ending, std::memory_order_release); }
  // As RecordedSource::restart.
  void set_source_as_of(std::int64_t as_of_ns) noexcept { head_->source_as_of_ns = as_of_ns; }
  void close() noexcept;
  // The file is that far, and holds all records but those of `area`.
  void commit(std::uint32_t area, const EstateCommit& commit) noexcept;

  // Before a fork, while nobody adds definitions.
  void before_fork() noexcept;
  // In the forked child: the estate is the parent's, which goes on to write into it. The child gets one of its own with
  // the definitions, or, when it will record nothing, memory that nobody reads. It has no rings.
  void leave_to_parent(bool records_again) noexcept;

 private:
  template <typename Part>
  std::span<std::byte> part(Part of) const noexcept {
    return base_ == nullptr ? std::span<std::byte>() : of(base_);
  }

  struct Sizes {
    std::size_t strings = 0;
    std::size_t frames = 0;
    std::size_t stacks = 0;
  };

  bool is_shared_ = false;
  Sizes at_fork_;
  std::byte* base_ = nullptr;
  EstateHead* head_;
};

}  // namespace turnpike::record
