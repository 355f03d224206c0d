// What a thread was told lately, so that CUPTI and the driver are asked once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace turnpike::record {

// Answers hold for one age of what they are about. The caller counts the ages.
template <typename Answer, std::size_t kCapacity>
class RecentAnswers {
 public:
  void clear() noexcept { count_ = 0; }

  // nullptr if no answer of this age matches.
  template <typename Matches>
  const Answer* find(std::uint32_t age, Matches matches) noexcept {
    if (age != age_) {
      clear();
      age_ = age;
    }
    const std::size_t known = std::min<std::size_t>(count_, kCapacity);
    for (std::size_t i = 0; i < known; ++i) {
      if (matches(answers_[i])) return &answers_[i];
    }
    return nullptr;
  }
  // After find() of the same age. The oldest gives way.
  void add(const Answer& answer) noexcept {
    answers_[count_++ % kCapacity] = answer;
    if (count_ == 2 * kCapacity) count_ = kCapacity;
  }

 private:
  std::uint32_t age_ = 0;
  std::uint32_t count_ = 0;
  std::array<Answer, kCapacity> answers_;
};

}  // namespace turnpike::record
