// A cache from 64-bit keys to 64-bit values of fixed size, read and written by any thread without a lock.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace turnpike::record {

// A full set forgets one of its entries, so it never grows and never refuses. An entry is two words, the value and the
// key xor the value: one that two threads wrote at once, or that is read half written, does not match its key and reads
// as absent. Keys must not be 0. A reader that finds a value sees all that its writer did before insert().
class WordCache {
 public:
  explicit WordCache(std::size_t set_count_log2) noexcept : mask_((std::size_t{1} << set_count_log2) - 1) {
    // Mapped, not allocated: pages that no key falls on cost nothing.
    void* memory = mmap(nullptr, size_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sets_ = memory == MAP_FAILED ? nullptr : static_cast<Set*>(memory);
  }
  ~WordCache() {
    if (sets_ != nullptr) munmap(sets_, size_bytes());
  }
  WordCache(const WordCache&) = delete;
  WordCache& operator=(const WordCache&) = delete;

  bool find(std::uint64_t key, std::uint64_t& value) const noexcept {
    if (sets_ == nullptr) return false;
    for (const Entry& entry : set_of(key).entries) {
      const std::uint64_t checked = entry.key_xor_value.load(std::memory_order_acquire);
      const std::uint64_t found = entry.value.load(std::memory_order_acquire);
      if ((checked ^ found) == key) {
        value = found;
        return true;
      }
    }
    return false;
  }

  void insert(std::uint64_t key, std::uint64_t value) noexcept {
    if (sets_ == nullptr) return;
    Set& set = set_of(key);
    Entry* chosen = &set.entries[(key >> 62) & 3];
    for (Entry& entry : set.entries) {
      const std::uint64_t checked = entry.key_xor_value.load(std::memory_order_relaxed);
      const std::uint64_t found = entry.value.load(std::memory_order_relaxed);
      if ((checked == 0 && found == 0) || (checked ^ found) == key) {
        chosen = &entry;
        break;
      }
    }
    chosen->value.store(value, std::memory_order_release);
    chosen->key_xor_value.store(key ^ value, std::memory_order_release);
  }

  void clear() noexcept {
    if (sets_ == nullptr) return;
    for (std::size_t i = 0; i <= mask_; ++i) {
      for (Entry& entry : sets_[i].entries) {
        // Empty sets are only read: their pages stay unmapped.
        if (entry.key_xor_value.load(std::memory_order_relaxed) == 0) continue;
        entry.key_xor_value.store(0, std::memory_order_release);
        entry.value.store(0, std::memory_order_release);
      }
    }
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> key_xor_value;
    std::atomic<std::uint64_t> value;
  };
  // One cache line.
  struct alignas(64) Set {
    Entry entries[4];
  };

  std::size_t size_bytes() const noexcept { return (mask_ + 1) * sizeof(Set); }
  // The top bits of the product: return addresses differ in their low bits, hashes in all.
  Set& set_of(std::uint64_t key) const noexcept { return sets_[(key * 0x9E3779B97F4A7C15u >> 40) & mask_]; }

  std::size_t mask_;
  Set* sets_;
};

}  // namespace turnpike::record
