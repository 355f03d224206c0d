// The vector clock by which the simulated driver knows which operation comes before which.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace turnpike::simulated {

// The number-th operation of a stream, counted from 1.
struct Position {
  std::size_t stream = 0;
  std::uint64_t number = 0;
};

// For each stream, up to which of its operations everything has happened before.
class Clock {
 public:
  bool covers(Position position) const {
    return position.number == 0 || (position.stream < numbers_.size() && numbers_[position.stream] >= position.number);
  }
  void advance_to(Position position) {
    if (numbers_.size() <= position.stream) numbers_.resize(position.stream + 1, 0);
    numbers_[position.stream] = std::max(numbers_[position.stream], position.number);
  }
  void join(const Clock& other) {
    if (numbers_.size() < other.numbers_.size()) numbers_.resize(other.numbers_.size(), 0);
    for (std::size_t i = 0; i < other.numbers_.size(); ++i) numbers_[i] = std::max(numbers_[i], other.numbers_[i]);
  }

 private:
  std::vector<std::uint64_t> numbers_;
};

}  // namespace turnpike::simulated
