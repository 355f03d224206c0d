// The strings of a recording, each kept once and known by a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace turnpike::record {

// Any thread. Behind a mutex: only what was not seen before comes here.
// Holds at most 32 MiB, so that all of it fits one chunk of a file.
class StringTable {
 public:
  // The number of a text; 0 when there is no memory or no room for it. The same text has the same number for good.
  std::uint32_t intern(std::string_view text) noexcept;
  // Appends StringEntry payloads (trace/format.h) of what is new since the last drain. When memory runs out they stay
  // for the next one.
  void drain(std::vector<std::byte>& payload) noexcept;
  // A new file begins: everything will be drained again.
  void restart() noexcept;

 private:
  std::uint32_t add(std::string_view text);

  std::mutex mutex_;
  // Views into blocks_, whose bytes never move. Text i has the number i + 1.
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* block_next_ = nullptr;
  std::size_t block_left_ = 0;
  std::size_t entry_bytes_ = 0;
  std::size_t drained_ = 0;
};

}  // namespace turnpike::record
