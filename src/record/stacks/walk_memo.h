// The last walks of a thread, by which the next one that would be the same is known without its rules.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace turnpike::record {

// A walk is decided by where it begins, by the rules, and by the words of the stack that it reads. When all of those
// words still stand where they stood, so do the frames. They lie on the caller's own stack, which is in the cache, and
// a memo lies in a row; the rules of as many frames are as many lines of a large table: in a program that does other
// things between its calls a memo takes a fifth of the time.
class WalkMemo {
 public:
  struct Key {
    const void* rules;         // whose
    std::uint64_t generation;  // of these
    std::uintptr_t frame;      // where the walk begins: all words stand above
    std::uintptr_t evaluator;  // where it ends
    bool operator==(const Key&) const = default;
  };
  // What a word is.
  enum Use : std::uint32_t { kLink = 0, kKept = 1 };  // it only leads on; or it is a return address that is kept

  void begin(const Key& key) noexcept {
    key_ = key;
    count_ = 0;
    is_valid_ = false;
    has_room_ = true;
  }
  void add(std::uintptr_t address, std::uintptr_t word, Use use) noexcept {
    if (count_ == kMaxWords) {
      has_room_ = false;
      return;
    }
    places_[count_] = static_cast<std::uint32_t>((address - key_.frame) / 8 << 1 | use);
    words_[count_++] = word;
  }
  // A longer one is not remembered.
  void finish(std::uint64_t hash) noexcept {
    hash_ = hash;
    is_valid_ = has_room_;
  }

  std::uint64_t hash() const noexcept { return hash_; }

  // Whether the walk would go the same way; calls `keep(return_address)` for each of its frames as far as that holds.
  template <typename Keep>
  bool holds(const Key& key, Keep keep) const noexcept {
    if (!is_valid_ || !(key_ == key)) return false;
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::uintptr_t word;
      std::memcpy(&word, reinterpret_cast<const void*>(key_.frame + (places_[i] >> 1) * std::uintptr_t{8}),
                  sizeof word);
      if (word != words_[i]) return false;
      if ((places_[i] & 1) != 0) keep(word);
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kMaxWords = 80;

  Key key_{};
  std::uint64_t hash_ = 0;
  std::uint32_t count_ = 0;
  bool is_valid_ = false;
  bool has_room_ = true;
  std::array<std::uint32_t, kMaxWords> places_;  // words above the frame, and the use
  std::array<std::uintptr_t, kMaxWords> words_;
};

}  // namespace turnpike::record
