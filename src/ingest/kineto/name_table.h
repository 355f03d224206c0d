// The distinct texts of a file, each kept once, with small numbers for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike::ingest {

class NameTable {
 public:
  NameTable();

  // The number of a text, from 1 on, so that it serves as the id of a string.
  std::uint32_t number_of(std::string_view text);
  const std::string& text(std::uint32_t number) const { return texts_[number - 1]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(texts_.size()); }
  // Empties the table of all but what it gives.
  std::deque<std::string> take() { return std::move(texts_); }

 private:
  struct Slot {
    std::size_t hash = 0;
    std::uint32_t number = 0;  // 0: free
  };

  void grow();

  std::deque<std::string> texts_;
  std::vector<Slot> slots_;  // as many as a power of two, at most half of them taken
};

}  // namespace turnpike::ingest
