// The strings of a recording, each kept once and known by a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/byte_log.h"

namespace turnpike::record {

// Any thread. Behind a mutex: only what was not seen before comes here.
// Holds at most 32 MiB, so that all of it fits one chunk of a file.
class StringTable {
 public:
  static constexpr std::size_t kMemoryBytes = ByteLog::kHeadBytes + (std::size_t{32} << 20);

  // Keeps its texts in `memory`, of kMemoryBytes and zeroed, as StringEntry payloads (trace/format.h), or in its own.
  explicit StringTable(std::span<std::byte> memory = {}) noexcept : log_(memory, kMemoryBytes) {}

  // The number of a text; 0 when there is no memory or no room for it. The same text has the same number for good.
  std::uint32_t intern(std::string_view text) noexcept;
  // The text of a number; "" for kNoId. Valid as long as the table.
  std::string_view text(std::uint32_t number) noexcept;
  // Appends StringEntry payloads of what is new since the last drain. When memory runs out they stay for the next one.
  void drain(std::vector<std::byte>& payload) noexcept;
  // Of the payloads, how many bytes were drained. For the thread that drains.
  std::size_t drained_bytes() const noexcept { return drained_bytes_; }
  // A new file begins: everything will be drained again.
  void restart() noexcept;

  // Around a fork: no other thread holds the table then, whose copy in the child nobody would let go of.
  void before_fork() noexcept { mutex_.lock(); }
  void after_fork() noexcept { mutex_.unlock(); }

 private:
  std::uint32_t add(std::string_view text);

  std::mutex mutex_;
  ByteLog log_;
  // Views into the log. Text i has the number i + 1.
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::size_t drained_bytes_ = 0;
};

}  // namespace turnpike::record
