// The strings of a recording, each kept once and known by a number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_log.h"
#include "base/fork_mutex.h"

namespace turnpike::record {

// Any thread. Behind a mutex: only what was not seen before comes here.
// Holds at most 32 MiB, so that all of it fits one chunk of a file.
class StringTable {
 public:
  static constexpr std::size_t kMemoryBytes = ByteLog::kHeadBytes + (std::size_t{32} << 20);

  // Keeps its texts in `memory`, of kMemoryBytes and zeroed, as StringEntry payloads (trace/format.h), or in its own.
  explicit StringTable(std::span<std::byte> memory = {}) noexcept : log_(memory, kMemoryBytes) {}

  // The number of a text; 0 when there is no memory or no room for it. The same text has the same number for good.
  std::uint32_t intern(std::string_view text) noexcept { return intern(text, false); }
  // The same for the name of a range, of which a program may make a new one each step ("step 12345"): what only ranges
  // are called takes half of the room at most, and 0 is the number of the rest.
  std::uint32_t intern_range_name(std::string_view text) noexcept { return intern(text, true); }
  // How often a text was given no number, since the process started.
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  // The text of a number; "" for kNoId. Valid as long as the table.
  std::string_view text(std::uint32_t number) noexcept;
  // Appends StringEntry payloads of what is new since the last drain. When memory runs out they stay for the next one.
  void drain(std::vector<std::byte>& payload) noexcept;
  // Of the payloads, how many bytes were drained. For the thread that drains.
  std::size_t drained_bytes() const noexcept { return drained_bytes_; }
  // A new file begins: everything will be drained again.
  void restart() noexcept;

 private:
  std::uint32_t intern(std::string_view text, bool is_of_range) noexcept;
  std::uint32_t add(std::string_view text, bool is_of_range);

  ForkMutex mutex_;
  ByteLog log_;
  // Views into the log. Text i has the number i + 1.
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::size_t drained_bytes_ = 0;
  std::size_t range_bytes_ = 0;  // in the log, of names that came as those of ranges
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace turnpike::record
