// The strings of a recording, each kept once and known by a number.
#include "record/stacks/string_table.h"

#include <cstring>
#include <new>

#include "trace/format.h"

namespace turnpike::record {
namespace {

// Symbols of templates run to kilobytes; nothing longer than this helps anyone.
constexpr std::size_t kMaxTextBytes = 64 * 1024;

constexpr std::size_t kRangeBytes = StringTable::kMemoryBytes / 2;

std::size_t padded(std::size_t bytes) {
  return (bytes + 7) & ~std::size_t{7};
}

// A cut must not split a character: a reader may insist on UTF-8.
std::string_view cut(std::string_view text) {
  if (text.size() <= kMaxTextBytes) return text;
  std::size_t end = kMaxTextBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace

std::uint32_t StringTable::intern(std::string_view text, bool is_of_range) noexcept {
  std::uint32_t number = trace::kNoId;
  try {
    text = cut(text);
    const std::lock_guard lock(mutex_);
    const auto found = numbers_.find(text);
    number = found != numbers_.end() ? found->second : add(text, is_of_range);
  } catch (const std::bad_alloc&) {
  }
  if (number == trace::kNoId) refused_.fetch_add(1, std::memory_order_relaxed);
  return number;
}

std::uint32_t StringTable::add(std::string_view text, bool is_of_range) {
  const std::size_t bytes = sizeof(trace::StringEntry) + padded(text.size());
  if (is_of_range && range_bytes_ + bytes > kRangeBytes) return trace::kNoId;
  std::byte* to = log_.reserve(bytes);
  if (to == nullptr) return trace::kNoId;
  const trace::StringEntry entry{static_cast<std::uint32_t>(texts_.size() + 1),
                                 static_cast<std::uint32_t>(text.size())};
  std::memcpy(to, &entry, sizeof(entry));
  char* kept_at = reinterpret_cast<char*>(to + sizeof(entry));
  if (!text.empty()) std::memcpy(kept_at, text.data(), text.size());
  const std::string_view kept(kept_at, text.size());
  texts_.push_back(kept);
  try {
    numbers_.emplace(kept, entry.id);
  } catch (...) {
    texts_.pop_back();
    throw;
  }
  log_.publish(bytes);
  if (is_of_range) range_bytes_ += bytes;
  return entry.id;
}

std::string_view StringTable::text(std::uint32_t number) noexcept {
  const std::lock_guard lock(mutex_);
  return number - 1 < texts_.size() ? texts_[number - 1] : std::string_view();
}

void StringTable::drain(std::vector<std::byte>& payload) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const auto fresh = log_.bytes_from(drained_bytes_);
    payload.insert(payload.end(), fresh.begin(), fresh.end());
    drained_bytes_ = log_.size();
  } catch (const std::bad_alloc&) {
  }
}

void StringTable::restart() noexcept {
  const std::lock_guard lock(mutex_);
  drained_bytes_ = 0;
}

}  // namespace turnpike::record
